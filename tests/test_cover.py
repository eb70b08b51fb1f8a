"""What a forward's kernels can store at sizes that no memory here holds."""

import pytest
from judging import DOUBLE, FORWARD, KERNEL, double, judge, rules

from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.pool import Verifier

LARGE = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("(64, 48)", "(65536, 4096)")})
ENDS = FORWARD.replace("triton.cdiv(x.numel(), 256)", "min(4096, triton.cdiv(x.numel(), 256))")
HALF = {"covered": [[0.0, 50.0, 100.0]]}
WHOLE = {"covered": [[0.0, 128.0, 100.0]]}


def test_a_grid_that_ends_early_at_the_tasks_own_size_is_refused(verifier: Verifier) -> None:
    verdict = judge(verifier, LARGE, double(ENDS))
    assert not verdict.correct and rules(verdict) == {"uninitialised"}


def test_programs_that_come_by_the_same_places_are_refused(verifier: Verifier) -> None:
    kernel = KERNEL.replace("tl.program_id(0) *", "(tl.program_id(0) % 4096) *")
    verdict = judge(verifier, LARGE, double(kernel=kernel))
    assert not verdict.correct and rules(verdict) == {"uninitialised"}


def test_programs_in_another_order_are_right(verifier: Verifier) -> None:
    kernel = KERNEL.replace("tl.program_id(0) *", "(tl.num_programs(0) - 1 - tl.program_id(0)) *")
    assert judge(verifier, LARGE, double(kernel=kernel)).correct


def test_a_grid_that_is_too_tall_is_refused(verifier: Verifier) -> None:
    kernel = KERNEL.replace("tl.program_id(0)", "tl.program_id(1)")
    verdict = judge(verifier, LARGE, double(FORWARD.replace("[(", "[(1, "), kernel))
    assert not verdict.correct and rules(verdict) == {"grid"}


def test_a_grid_for_every_element_is_right(verifier: Verifier) -> None:
    assert judge(verifier, LARGE, double(FORWARD)).correct


@pytest.mark.parametrize(
    ("own", "small", "refused"),
    [(HALF, WHOLE, True), (HALF, HALF, False), (HALF, {"covered": []}, False), (WHOLE, WHOLE, False), ({}, {}, False)],
)
def test_what_is_counted_must_be_enough_where_values_were_right(
    own: dict[str, object], small: dict[str, object], refused: bool
) -> None:
    assert bool(conduct.uncovered(own, small)) is refused


STRAY: dict[str, object] = {"strays": [["one", 9, -8, 1 << 34]]}


@pytest.mark.parametrize(("small", "refused"), [({}, True), (STRAY, False), ({"strays": [["two", 9, -8, 64]]}, True)])
def test_an_address_beyond_memory_is_refused_unless_it_is_so_where_values_were_right(
    small: dict[str, object], refused: bool
) -> None:
    assert not conduct.covers(STRAY)
    assert bool(conduct.uncovered(STRAY, small)) is refused


def test_a_last_program_that_reads_beyond_memory_is_refused(verifier: Verifier) -> None:
    kernel = KERNEL.replace("x_ptr + offsets", "x_ptr + offsets + offsets // 200_000_000 * 200_000_000")
    verdict = judge(verifier, LARGE, double(kernel=kernel))
    assert not verdict.correct and rules(verdict) == {"out-of-bounds"}


SUM = DOUBLE.model_copy(
    update={
        "source": DOUBLE.source.replace("(64, 48)", "(65536, 65536)").replace("return 2.0 * x", "return x.sum(dim=0)")
    }
)
LONG = """@triton.jit
def double_kernel(x_ptr, out_ptr, n, rows, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        total += tl.load(x_ptr + row * n + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, total, mask=offs < n)


"""
COLUMNS = """        out = torch.empty(x.shape[1], device=x.device)
        double_kernel[(triton.cdiv(x.shape[1], 256),)](x.contiguous(), out, x.shape[1], x.shape[0], BLOCK=256)
        return out
"""


@pytest.mark.parametrize("row", ["row", "row.to(tl.int64)"])
def test_an_offset_that_32_bits_do_not_hold_is_found_late_in_a_long_loop(verifier: Verifier, row: str) -> None:
    """A loop of 65,536 rounds was not gone through in the time there is, and said to be right."""
    verdict = judge(verifier, SUM, double(COLUMNS, LONG.replace("row * n", f"{row} * n")))
    assert verdict.correct is (row != "row") and rules(verdict) <= {"out-of-bounds"}


def test_programs_that_store_in_a_long_loop_are_right(verifier: Verifier) -> None:
    """Both ends of it are looked at first, which was done again in place of the whole."""
    kernel = KERNEL.replace(
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    mask = offsets < n\n    tl.store(",
        "    for block in range(64):\n        offsets = (tl.program_id(0) * 64 + block) * BLOCK + tl.arange(0, BLOCK)\n"
        "        mask = offsets < n\n        tl.store(",
    )
    assert "range(64)" in kernel
    assert judge(verifier, LARGE, double(FORWARD.replace("x.numel(), 256)", "x.numel(), 256 * 64)"), kernel)).correct
