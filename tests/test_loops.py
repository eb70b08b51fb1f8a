"""Loop variables in kernels, and numbers that a name is given there, are scalars and divide as a GPU divides."""

import pytest
from judging import DOUBLE, KERNEL, double, judge
from triton import language as tl
from triton.runtime import interpreter

from tritonsmith.verify.interpreter.loops import Counted, counted, extreme, given, joined
from tritonsmith.verify.pool import Verifier

LOOP = "    offsets = offsets.to(tl.int64)\n    for i in BOUNDS:\n        BODY\n"


@pytest.mark.parametrize(("dividend", "divisor"), [(-4, 3), (4, -3), (-4, -3), (4, 3), (0, 5)])
def test_division_rounds_towards_zero(dividend: int, divisor: int) -> None:
    quotient = int(dividend / divisor)
    assert (Counted(dividend) // divisor, Counted(dividend) % divisor) == (quotient, dividend - divisor * quotient)
    assert (dividend // Counted(divisor), dividend % Counted(divisor)) == (quotient, dividend - divisor * quotient)


def test_arithmetic_of_a_loop_variable_stays_one() -> None:
    (last,) = (i for i in counted(3, 9, 4) if i > 3)
    for found in (last + 1, 1 + last, 2 * last, last - 3, last << 1, last & 6):
        assert type(found) is Counted
    assert last + 1 == 8 and last == 7


def test_a_loop_variable_has_32_bits_and_with_a_long_bound_64() -> None:
    (last,) = counted(69_999, 70_000)
    assert last * 40_000 == 69_999 * 40_000 - (1 << 32) and -last - last == -139_998 and ~last == -70_000
    assert (-last - 1) // 40_000 * 40_000 == -40_000
    for bound in (1 << 33, tl.constexpr(1 << 33)):
        first = next(iter(counted(0, bound)))
        assert (first + 69_999) * 40_000 == 69_999 * 40_000
    wide = next(iter(counted(5, 6))) * (1 << 33)
    assert wide == 5 << 33 and (wide + 1) * 3 == 3 * ((5 << 33) + 1)


def test_a_loop_variable_has_a_type() -> None:
    assert Counted(3).dtype == tl.int32


@pytest.mark.parametrize("bounds", ["range(1)", "range(0, n, 1 << 30)", "tl.range(1)"])
def test_a_loop_variable_may_be_made_wider(verifier: Verifier, bounds: str) -> None:
    body = "offsets = i.to(tl.int64) * n + (i + 1).to(tl.int64) * offsets"
    kernel = KERNEL.replace("    mask =", LOOP.replace("BOUNDS", bounds).replace("BODY", body) + "    mask =")
    verdict = judge(verifier, DOUBLE, double(kernel=kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize("mask", ["(offsets < n) and (offsets >= 0)", "not ((offsets >= n) or (offsets < 0))"])
def test_and_and_or_of_blocks_join_them_element_by_element(verifier: Verifier, mask: str) -> None:
    kernel = KERNEL.replace("mask = offsets < n", f"mask = {mask}".replace("not (", "~(").replace("not ", "~"))
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
