"""Loop variables in kernels, and numbers that a name is given there, are what the compiler makes of them."""

import json
import os
import subprocess
import sys

import loop_kernels
import pytest
from judging import DOUBLE, KERNEL, double, judge
from triton import language as tl
from triton.runtime import interpreter

from tritonsmith.verify.interpreter.loops import Rounds, counted, extreme, given, gone, joined, negated
from tritonsmith.verify.pool import Verifier

LOOP = "    offsets = offsets.to(tl.int64)\n    for i in BOUNDS:\n        BODY\n"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[float], list[float]]:
    """What the cases of `loop_kernels` store by the interpreter, and by the compiler."""
    path = loop_kernels.written(tmp_path_factory.mktemp("loops"))
    told = subprocess.run(
        [sys.executable, loop_kernels.__file__, path],
        env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(told.stdout), loop_kernels.compiled(path)


@pytest.mark.parametrize("place", range(1, len(loop_kernels.CASES) + 1), ids=map(": ".join, loop_kernels.CASES))
def test_a_loop_variable_is_what_the_compiler_makes_of_it(stored: tuple[list[float], list[float]], place: int) -> None:
    interpreted, compiled = stored
    assert interpreted[place] == compiled[place]


def test_a_constant_that_is_changed_divides_as_a_gpu_divides(stored: tuple[list[float], list[float]]) -> None:
    assert [one[0] for one in stored] == [-2.0, -2.0]


@pytest.mark.parametrize(
    ("bounds", "kind"),
    [
        ((3,), tl.int32),
        ((0, tl.constexpr(1 << 31)), tl.uint32),
        ((0, 1 << 33), tl.int64),
        ((tl.constexpr(1 << 33), 0, -1), tl.int64),
    ],
)
def test_a_loop_variable_has_the_type_of_its_bounds(bounds: tuple[int, ...], kind: tl.dtype) -> None:
    assert counted(range, *bounds).kind == counted(tl.core.range, *bounds).kind == kind


def test_constants_have_no_type() -> None:
    assert list(counted(tl.static_range, 1, 6, step=2)) == [1, 3, 5]


def test_what_the_compiler_counts_in_no_way_is_refused() -> None:
    with pytest.raises(RuntimeError, match="iterators"):
        counted(enumerate, range(3))
    with pytest.raises(TypeError, match="must all be ints"):
        counted(range, 2.5)


def test_a_loop_variable_is_a_scalar() -> None:
    (last,) = Rounds([-7], tl.uint32)
    assert isinstance(last, tl.tensor) and last.dtype == tl.uint32 and last.handle.data.tolist() == [(1 << 32) - 7]  # type: ignore[attr-defined]


def test_a_loop_variable_has_no_value_behind_its_loop() -> None:
    with pytest.raises(RuntimeError, match="behind"):
        interpreter.interpreter_semantic.add(gone(), 1, False)


@pytest.mark.parametrize(
    ("bounds", "right"),
    [("range(n)", False), ("tl.range(0, 4)", False), ("range(0)", False), ("tl.static_range(4)", True)],
)
def test_constants_alone_last_longer_than_their_loop(verifier: Verifier, bounds: str, right: bool) -> None:
    loop = f"    i = 3\n    for i in {bounds}:\n        offsets += 0 * i\n    offsets += i - 3\n"
    verdict = judge(verifier, DOUBLE, double(kernel=KERNEL.replace("    mask =", loop + "    mask =")))
    assert verdict.correct is right
    assert right or "behind" in str(verdict.findings)


def test_a_name_may_count_in_several_loops(verifier: Verifier) -> None:
    loop = "    for i in range(0, n, 1 << 30):\n        offsets += i\n"
    verdict = judge(verifier, DOUBLE, double(kernel=KERNEL.replace("    mask =", loop * 2 + "    mask =")))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_a_step_that_the_compiler_does_not_know_goes_up(verifier: Verifier) -> None:
    loop = "    down = -1\n    for i in range(0, n, down):\n        offsets += 1\n"
    verdict = judge(verifier, DOUBLE, double(kernel=KERNEL.replace("    mask =", loop + "    mask =")))
    assert not verdict.correct and "has no end" in str(verdict.findings)


@pytest.mark.parametrize("bounds", ["range(1)", "range(0, n, 1 << 30)", "tl.range(1)"])
def test_a_loop_variable_may_be_made_wider(verifier: Verifier, bounds: str) -> None:
    body = "offsets = i.to(tl.int64) * n + (i + 1).to(tl.int64) * offsets"
    kernel = KERNEL.replace("    mask =", LOOP.replace("BOUNDS", bounds).replace("BODY", body) + "    mask =")
    verdict = judge(verifier, DOUBLE, double(kernel=kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize("mask", ["(offsets < n) and (offsets >= 0)", "not ((offsets >= n) or (offsets < 0))"])
def test_and_or_and_not_of_blocks_go_element_by_element(verifier: Verifier, mask: str) -> None:
    kernel = KERNEL.replace("mask = offsets < n", f"mask = {mask}")
    verdict = judge(verifier, DOUBLE, double(kernel=kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_and_of_scalars_stops_where_it_is_settled() -> None:
    assert joined(True, lambda: 0, lambda: pytest.fail("is not asked")) == 0
    assert joined(False, lambda: 0, lambda: 3) == 3


def test_what_the_compiler_knows_settles_and_and_or_or_falls_out() -> None:
    (n,) = (interpreter._implicit_cvt(number) for number in (7,))
    assert joined(False, lambda: n, lambda: 1) == 1
    assert joined(True, lambda: n, lambda: 0) == 0
    assert joined(True, lambda: 3, lambda: n) is n and joined(False, lambda: n, lambda: 0) is n


def test_not_is_of_truths_alone() -> None:
    assert negated(0) is True and negated(given(True)).dtype == tl.int1  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="bitcast"):
        negated(interpreter._implicit_cvt(7))


def test_numbers_of_a_tuple_become_tensors_each() -> None:
    one, (other, word) = given((-7, (2.0, "ieee")))  # type: ignore[misc]
    assert (one.type, other.type, word) == (tl.int32, tl.float32, "ieee")


@pytest.mark.parametrize(
    "line",
    [
        "left, right = -7, 2",
        "left: tl.int32 = -7\n    right = 2",
        "left = -7 if n > 0 else 3\n    right = 2",
        "left = min(n, -7)\n    right = max(2, 1)",
    ],
)
def test_numbers_divide_as_a_gpu_divides(verifier: Verifier, line: str) -> None:
    kernel = KERNEL.replace("    mask =", f"    {line}\n    offsets += left // right + 3\n    mask =")
    verdict = judge(verifier, DOUBLE, double(kernel=kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_max_of_plain_numbers_and_a_function_of_that_name_stay_what_they_are() -> None:
    assert extreme(max, 2, 3) == 3 and extreme(min, [4, 1]) == 1
    assert extreme(lambda a, b: a - b, 2, 3) == -1
