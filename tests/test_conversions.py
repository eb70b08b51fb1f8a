"""Numbers given to a launch, and casts to integers, are in the interpreter what they are on a GPU."""

import numpy as np
import pytest
from judging import DOUBLE, FORWARD, KERNEL, double, judge, small

from tritonsmith.verify.interpreter.conversions import saturated
from tritonsmith.verify.pool import Verifier


@pytest.mark.parametrize(
    ("value", "expected"),
    [("3e9", "2147483647.0"), ("-3e9", "-2147483648.0"), ("float('nan')", "0.0"), ("-7.9", "-7.0")],
)
def test_casts_to_integers_saturate(verifier: Verifier, value: str, expected: str) -> None:
    task = small(f"return torch.where(x > 0, {expected}, x)", "torch.randn(64, 48)")
    cast = f"tl.where(x > 0, (x * 0.0 + {value}).to(tl.int32).to(tl.float32), x)".replace("float('nan')", "NAN")
    kernel = KERNEL.replace("2.0 * tl.load(x_ptr + offsets, mask=mask)", "y").replace(
        "    tl.store", f"    x = tl.load(x_ptr + offsets, mask=mask)\n    y = {cast}\n    tl.store"
    )
    verdict = judge(verifier, task, double(kernel="NAN = tl.constexpr(float('nan'))\n\n\n" + kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (70000.0, "int16", 32767), (-70000.0, "int16", -32768), (-1.5, "uint16", 0), (70000.0, "uint16", 65535),
        (np.nan, "int16", 0), (np.nan, "int8", 0), (-7.9, "int8", -7), (300.0, "int8", 44), (70000.0, "int8", -1),
        (-1.5, "uint8", 0), (300.0, "uint8", 44), (70000.0, "uint8", 255), (np.inf, "uint64", 2**64 - 1),
    ],
)  # fmt: skip
def test_casts_to_short_integers_saturate_at_sixteen_bits(value: float, kind: str, expected: int) -> None:
    found = saturated(np.array([value], np.float32), kind)
    assert found.dtype == kind and int(found[0]) == expected


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ("float32", "int32", 0), ("float16", "uint16", 0), ("float32", "int64", -(2**63)), ("float32", "uint64", 2**63),
        ("float64", "int32", -(2**31)), ("float64", "uint32", 2**31), ("float64", "int8", 0),
    ],
)  # fmt: skip
def test_what_is_no_number_becomes_what_ptx_says(given: str, kind: str, expected: int) -> None:
    assert int(saturated(np.array([np.nan], given), kind)[0]) == expected


@pytest.mark.parametrize(("number", "right"), [("1.0", True), ("1.0 + 1e-12", True), ("1.001", False)])
def test_a_number_given_to_a_launch_has_the_digits_of_float32(verifier: Verifier, number: str, right: bool) -> None:
    kernel = KERNEL.replace("n, BLOCK", "n, one, BLOCK").replace("2.0 *", "(2.0 if one == 1.0 else 3.0) *")
    forward = FORWARD.replace("x.numel(), B", f"x.numel(), {number}, B")
    verdict = judge(verifier, DOUBLE, double(forward, kernel))
    assert verdict.correct is right


def test_a_sum_of_integers_wraps(verifier: Verifier) -> None:
    """numpy refuses a sum that its type does not hold."""
    task = small("return x * 0.0 + float(5 - 2**31)", "torch.randn(64, 48)")
    total = "tl.sum(tl.where(tl.arange(0, BLOCK) < 2, 1073741826 + tl.arange(0, BLOCK), 0), axis=0)"
    kernel = KERNEL.replace(
        "2.0 * tl.load(x_ptr + offsets, mask=mask)",
        f"tl.load(x_ptr + offsets, mask=mask) * 0.0 + {total}.to(tl.float32)",
    )
    verdict = judge(verifier, task, double(kernel=kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)
