"""What integer operations without a value give in the interpreter: nothing that a kernel can rely on."""

import numpy as np
import pytest
from judging import KERNEL, double, judge, small

from tritonsmith.verify.interpreter.undefined import drawn, no_quotient, no_shift
from tritonsmith.verify.pool import Verifier


def test_a_quotient_by_zero_is_none_nor_is_one_that_is_too_large() -> None:
    one, other = np.int32([1, -(2**31), -(2**31), 0]), np.int32([0, -1, 1, 5])
    assert no_quotient(one, other).tolist() == [True, True, False, False]
    assert no_quotient(np.uint8([255, 3]), np.uint8([255, 0])).tolist() == [False, True]


def test_a_shift_by_more_bits_than_there_are_is_none() -> None:
    counts = np.int32([-1, 0, 31, 32])
    assert no_shift(np.int32([5] * 4), counts).tolist() == [True, False, False, True]


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint64"])
def test_what_is_drawn_is_what_processors_give_or_any(kind: str) -> None:
    given = np.full(4096, 7, kind)
    found = drawn(np.zeros_like(given), np.arange(4096) >= 2, given)
    values = found.astype(np.int64) if kind != "uint64" else found.view(np.int64)
    assert found.dtype == kind and not found[:2].any()
    assert {0, 7, int(np.array([~np.zeros(1, kind)[0]]).astype(np.int64)[0])} < set(values.tolist())


def _judged(verifier: Verifier, condition: str) -> bool:
    chosen = KERNEL.replace("2.0 * tl.load(x_ptr + offsets, mask=mask)", f"tl.where({condition}, 2.0 * x, x)")
    kernel = chosen.replace("    tl.store", "    x = tl.load(x_ptr + offsets, mask=mask)\n    tl.store")
    return judge(verifier, small("return 2.0 * x", "torch.randn(64, 48)"), double(kernel=kernel)).correct


@pytest.mark.parametrize(
    "value", ["offsets // tl.where(mask, 0, 1)", "offsets % (n - n)", "5 >> tl.where(mask, -1, 0)"]
)
@pytest.mark.parametrize("condition", ["== 0", "!= -1", "<= offsets"])
def test_a_kernel_that_looks_at_one_is_wrong(verifier: Verifier, value: str, condition: str) -> None:
    assert not _judged(verifier, f"({value}) {condition}")


def test_a_kernel_that_masks_them_off_is_right(verifier: Verifier) -> None:
    assert _judged(verifier, "(offsets // tl.where(offsets % 2 == 0, 0, 1) == offsets) | (offsets % 2 == 0)")
