"""Key lines of intermediate code: what is told, in which order, how long it may be; real kernels say it too."""

from collections.abc import Iterator

import pytest
from judging import SUITE, judge, kernel

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.launches.ir import LONGEST, MOST, bounded, key_lines
from tritonsmith.verify.pool import Verifier

TTGIR = """
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#loc = loc("kernel.py":1:0)
module attributes {} {
  %c = tt.dot %a, %b, %c0 : tensor<64x64xf32, #mma>
  %d = ttg.convert_layout %c : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #blocked> loc(#loc)
  %e = ttg.convert_layout %r : tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<64xf32, #blocked1>
}
"""
PTX = """
	@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
	@!%p2 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 16 ];
	ld.local.u32 %r9, [%rd9];
	fma.rn.f32 %f1, %f2, %f3, %f4;
	wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f1}, %rd2, %rd3, p, 1, 1, 0, 1;
	cp.async.cg.shared.global [ %r1 + 0 ], [ %rd3 + 0 ], 0x10, %r3;
	cp.async.commit_group;
	bar.sync 0;
	ld.shared.b32 %r5, [%r6];
	st.global.v2.b32 [ %rd1 + 0 ], { %r1, %r2 };
	add.s32 %r1, %r2, %r3;
"""


@pytest.fixture(scope="module")
def telling() -> Iterator[Verifier]:
    with Verifier(VerifyConfig(device="cpu", ir_lines=6, until="compile")) as own:
        yield own


def test_the_telling_lines_come_first() -> None:
    assert key_lines(TTGIR, PTX, 20) == [
        "1 x ld.local.u32",
        "1 x fma.rn.f32",
        "1 x wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
        "2 x ld.global.v4.b32",
        "1 x st.global.v2.b32",
        "1 x cp.async.cg.shared.global",
        "1 x bar.sync",
        "1 x convert_layout 64x64xf32 #mma -> #blocked",
        "1 x convert_layout 64xf32 slice 0 of #blocked -> #blocked1",
        "#blocked: blocked sizePerThread [1, 4], threadsPerWarp [2, 16], warpsPerCTA [4, 1], order [1, 0]",
        "#mma: nvidia_mma versionMajor 3, versionMinor 0, warpsPerCTA [4, 1], instrShape [16, 64, 16]",
        "1 x ld.shared.b32",
    ]


def test_multiplications_of_a_kernel_without_a_product_are_not_told() -> None:
    assert not any("fma" in line for line in key_lines("", PTX, 20))


@pytest.mark.parametrize("most", [0, 1, 5])
def test_no_more_lines_than_asked_for(most: int) -> None:
    assert len(key_lines(TTGIR, PTX, most)) == most


def test_empty_texts_have_no_lines() -> None:
    assert key_lines("", "", 8) == []


def test_lines_from_elsewhere_are_short_and_single() -> None:
    (line, *rest) = bounded(["a\nb" + 1000 * "c"] + 1000 * ["d"], 10_000)
    assert len(line) == LONGEST and line.startswith("a bc") and len(rest) == MOST - 1


def test_a_verdict_tells_wide_loads_and_how_the_kernel_was_launched(telling: Verifier) -> None:
    (stats,) = judge(telling, SUITE["level1/softmax"], kernel("level1/softmax")).kernels
    assert "8 x ld.global.v4.b32" in stats.lines and len(stats.lines) == 6
    assert (stats.warps, stats.stages, stats.grid) == (16, 3, [4096])
    assert stats.occupancy is not None and 0 < stats.occupancy <= 1


def test_a_verdict_has_no_lines_unless_they_are_asked_for(verifier: Verifier) -> None:
    verdict = judge(verifier, SUITE["level1/relu"], kernel("level1/relu"))
    assert verdict.correct and all(not stats.lines and stats.occupancy for stats in verdict.kernels)


@pytest.mark.gpu
def test_on_a_gpu_the_same_is_told_of_the_last_forward() -> None:
    with Verifier(VerifyConfig(device="cuda", ir_lines=6)) as own:
        verdict = judge(own, SUITE["level1/softmax"], kernel("level1/softmax"))
    (stats,) = verdict.kernels
    assert verdict.correct and (stats.launches, stats.grid, stats.warps) == (1, [4096], 16)
    assert stats.occupancy and any("ld.global" in line for line in stats.lines)
