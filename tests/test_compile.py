"""Targets, assembling at the judge, and what a verdict says of the compiler's work."""

import time

import pytest
from judging import DOUBLE, FORWARD, KERNEL, SUITE, double, judge, kernel, rules

from tritonsmith.config import ConfigError, ExtensionsConfig, VerifyConfig
from tritonsmith.verify import compile as compiler
from tritonsmith.verify import target
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process.wire import WireError

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k() { ret; }
"""


def _row(**changed: object) -> dict[str, object]:
    return {"name": "k", "launches": 2, "shared": 0, "assembly": PTX} | changed


@pytest.mark.parametrize(
    ("name", "backend", "arch", "warp"),
    [
        ("sm_90", "cuda", 90, 32),
        ("sm_100", "cuda", 100, 32),
        ("gfx942", "hip", "gfx942", 64),
        ("gfx1100", "hip", "gfx1100", 32),
    ],
)
def test_target_is_parsed(name: str, backend: str, arch: object, warp: int) -> None:
    found = compiler.parse_target(name)
    assert (found.backend, found.arch, found.warp_size) == (backend, arch, warp)


@pytest.mark.parametrize("name", ["", "sm90", "sm_9", "sm_9000", "h100", "gfx", "sm_90; rm", "gfx942 "])
def test_another_word_is_no_target(name: str) -> None:
    with pytest.raises(ValueError, match="target"):
        compiler.parse_target(name)


def test_assembling_gives_registers_and_launches() -> None:
    stats, findings = compiler.assemble([_row()], "sm_90")
    assert findings == [] and stats[0].registers is not None and stats[0].spills == 0 and stats[0].launches == 2


def test_what_ptxas_refuses_is_a_finding() -> None:
    _, findings = compiler.assemble([_row(assembly="this is no ptx")], "sm_90")
    assert [finding.rule for finding in findings] == ["assemble"] and "ptxas" in findings[0].message


@pytest.mark.parametrize(
    ("shared", "target", "fits"), [(200 << 10, "sm_90", True), (200 << 10, "sm_80", False), (65 << 10, "gfx942", False)]
)
def test_shared_memory_has_the_targets_limit(shared: int, target: str, fits: bool) -> None:
    text = PTX if target.startswith("sm") else ".vgpr_count: 7"
    _, findings = compiler.assemble([_row(shared=shared, assembly=text)], target)
    assert [finding.rule for finding in findings] == ([] if fits else ["shared-memory"])


@pytest.mark.parametrize("row", [{}, _row(shared="much"), _row(launches=None), {"name": "k"}])
def test_rows_of_another_form_are_a_wire_error(row: dict[str, object]) -> None:
    with pytest.raises(WireError):
        compiler.assemble([row], "sm_90")


def test_each_distinct_launch_is_compiled_once(verifier: Verifier) -> None:
    launch = FORWARD.splitlines()[1] + "\n"
    verdict = judge(
        verifier,
        DOUBLE,
        double(FORWARD.replace(launch, launch * 3 + launch.replace("BLOCK=256", "BLOCK=128").replace("256)", "128)"))),
    )
    assert [(stats.name, stats.launches) for stats in verdict.kernels] == [("double_kernel", 3), ("double_kernel", 1)]


TOO_MUCH = (
    kernel("level1/matmul")
    .replace("BLOCK_M=64, BLOCK_N=64, BLOCK_K=32", "BLOCK_M=128, BLOCK_N=128, BLOCK_K=128")
    .replace("GROUP_M=8)", "GROUP_M=8, num_stages=4)")
)


def test_a_kernel_that_needs_too_much_shared_memory_does_not_compile(verifier: Verifier) -> None:
    """Found by the compiler at the judge, where the interpreter would have run it."""
    verdict = judge(verifier, SUITE["level1/matmul"], TOO_MUCH)
    assert verdict.stages[-1].name == "compile" and "shared-memory" in rules(verdict)
    assert verdict.kernels and verdict.kernels[0].shared > 227 << 10


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tl.arange(0, BLOCK)", "tl.arange(0, 100)"),
        ("tl.store(out_ptr", "tl.stare(out_ptr"),
        ("mask = offsets < n", "mask = offsets < m"),
        ("2.0 *", "[2.0] *"),
        ("    mask =", "    while True:\n        break\n    mask ="),
    ],
)
def test_what_triton_refuses_does_not_compile(verifier: Verifier, old: str, new: str) -> None:
    assert old in KERNEL
    verdict = judge(verifier, DOUBLE, double(kernel=KERNEL.replace(old, new)))
    assert verdict.stage == "ast" and not verdict.compiled
    assert verdict.findings[0].line is not None


def test_launch_options_reach_the_compiler(verifier: Verifier) -> None:
    few, many = (
        judge(verifier, DOUBLE, double(FORWARD.replace("BLOCK=256", f"BLOCK=8192, num_warps={n}"))).kernels[0].registers
        for n in (1, 16)
    )
    assert few is not None and many is not None and few > 2 * many


def test_what_is_not_assembled_in_time_is_a_finding() -> None:
    rows: list[dict[str, object]] = [{"name": "k", "shared": 0, "assembly": "// never seen", "launches": 1}]
    _, findings = compiler.assemble(rows, "sm_90", time.monotonic() - 1)
    assert [finding.rule for finding in findings] == ["assemble"] and "time" in findings[0].message


# The back end put off (`assemble = "right"`)


@pytest.fixture(scope="module")
def putting_off(verifier: Verifier) -> Judge:
    """A judge that assembles what is right alone."""
    config = VerifyConfig(device="cpu", timing=False, assemble="right")
    return Judge(config, ExtensionsConfig(), "cpu", verifier._zygotes)


def test_a_wrong_candidate_does_not_reach_the_back_end(putting_off: Judge) -> None:
    verdict = judge(putting_off, DOUBLE, double(kernel=KERNEL.replace("2.0 *", "3.0 *")))
    assert verdict.stage == "compile" and verdict.compiled and verdict.mismatch is not None
    assert verdict.stages[1].detail.startswith("through the front end alone") and not verdict.kernels


def test_a_right_candidate_is_assembled_all_the_same(verifier: Verifier, putting_off: Judge) -> None:
    late, early = judge(putting_off, DOUBLE, double()), judge(verifier, DOUBLE, double())
    assert late.correct and late.kernels == early.kernels and late.kernels[0].registers is not None


def test_what_the_front_end_refuses_does_not_compile(putting_off: Judge) -> None:
    verdict = judge(putting_off, DOUBLE, double(kernel=KERNEL.replace("tl.store(out_ptr", "tl.stare(out_ptr")))
    assert verdict.stage == "ast" and not verdict.compiled and verdict.findings[0].line is not None


def test_right_values_do_not_make_up_for_a_kernel_that_the_back_end_refuses(putting_off: Judge) -> None:
    verdict = judge(putting_off, SUITE["level1/matmul"], TOO_MUCH)
    assert verdict.stages[-1].name == "tiny" and "shared-memory" in rules(verdict)
    assert verdict.stage == "ast" and not verdict.compiled and not verdict.correct


def test_values_alone_decide_where_the_back_end_is_never_asked(verifier: Verifier) -> None:
    config = VerifyConfig(device="cpu", timing=False, assemble="never")
    judged = Judge(config, ExtensionsConfig(), "cpu", verifier._zygotes)
    right = judge(judged, DOUBLE, double())
    assert right.correct and not right.kernels and right.stages[1].detail.startswith("through the front end alone")
    assert not judge(judged, DOUBLE, double(kernel=KERNEL.replace("2.0 *", "3.0 *"))).correct


@pytest.mark.parametrize(("name", "known"), [("sm_120", True), ("sm_91", False)])
def test_whether_triton_knows_a_target_is_found_out(name: str, known: bool) -> None:
    assert target.compiles(name) is known


def test_a_target_that_triton_does_not_know_is_one_line() -> None:
    """All kernels were refused for it, each with the compiler's own words."""
    with pytest.raises(ConfigError, match="this Triton compiles nothing for gfx000"):
        Verifier(VerifyConfig(device="cpu", target="gfx000"))
