"""libdevice functions in the interpreter: by whatever name they are imported, they give torch's values."""

import numpy as np
import pytest
from judging import HEAD, KERNEL, double, judge, small

from tritonsmith.verify.interpreter.libdevice import FUNCTIONS
from tritonsmith.verify.pool import Verifier

ROWS = "torch.randn(64, 48)"
TANH = small("return torch.tanh(x)", ROWS)


def _elementwise(expression: str, head: str = HEAD) -> str:
    return double(
        kernel=KERNEL.replace("2.0 * tl.load(x_ptr + offsets, mask=mask)", "y").replace(
            "    tl.store", f"    x = tl.load(x_ptr + offsets, mask=mask)\n    y = {expression}\n    tl.store"
        ),
        head=head,
    )


@pytest.mark.parametrize(
    "line",
    [
        "from triton.language.extra import libdevice",
        "from triton.language.extra.cuda import libdevice",
        "libdevice = tl.extra.cuda.libdevice",
    ],
)
def test_libdevice_is_interpreted(verifier: Verifier, line: str) -> None:
    verdict = judge(verifier, TANH, _elementwise("libdevice.tanh(x)", f"{HEAD}{line}\n\n"))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize(
    ("reference", "expression"),
    [
        ("torch.erf(x)", "libdevice.erf(x)"),
        ("torch.rsqrt(x.abs() + 1)", "libdevice.rsqrt(libdevice.abs(x) + 1)"),
        ("torch.pow(x.abs(), 1.5)", "libdevice.pow(libdevice.abs(x), 1.5)"),
        ("torch.lgamma(x)", "libdevice.lgamma(x)"),
        ("torch.atan2(x, x + 1)", "libdevice.atan2(x, x + 1)"),
        ("torch.where(torch.isnan(x), x, -x)", "tl.where(libdevice.isnan(x) != 0, x, -x)"),
        ("torch.erfinv(torch.tanh(x))", "libdevice.erfinv(libdevice.tanh(x))"),
        ("x.round()", "libdevice.int2float_rn(libdevice.float2int_rn(x))"),
        ("x.abs()", "libdevice.int_as_float(libdevice.float_as_int(x) & 0x7FFFFFFF)"),
    ],
)
def test_libdevice_gives_torchs_values(verifier: Verifier, reference: str, expression: str) -> None:
    head = HEAD + "from triton.language.extra import libdevice\n\n"
    verdict = judge(verifier, small(f"return {reference}", ROWS), _elementwise(expression, head))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_libdevice_function_without_an_interpretation_is_named(verifier: Verifier) -> None:
    head = HEAD + "from triton.language.extra import libdevice\n\n"
    verdict = judge(verifier, TANH, _elementwise("libdevice.j0(x)", head))
    assert not verdict.correct and "libdevice.j0" in verdict.findings[0].message


@pytest.mark.parametrize(("largest", "error"), [(3.0, 2**-21), (4096.0, 4e-4)])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_fast_functions_lose_what_a_gpu_loses_of_a_large_angle(name: str, largest: float, error: float) -> None:
    angles = np.random.default_rng(0).uniform(-largest, largest, 10_000).astype(np.float32).astype(np.float64)
    off = np.abs(FUNCTIONS[f"fast_{name}f"](angles) - getattr(np, name)(angles)).max()
    assert error / 4 < off < error


@pytest.mark.parametrize(
    ("x", "y", "value"), [(2.0, 3.0, 8.0), (-2.0, 2.0, np.nan), (0.0, 2.0, 0.0), (2.0, -200.0, 0.0)]
)
def test_a_fast_power_is_one_of_two(x: float, y: float, value: float) -> None:
    with np.errstate(all="ignore"):
        found = FUNCTIONS["fast_powf"](np.array([x]), np.array([y]))
    np.testing.assert_allclose(found, value, rtol=1e-6)


def test_a_fast_quotient_by_what_has_no_reciprocal_is_zero() -> None:
    assert FUNCTIONS["fast_dividef"](np.array([3.0]), np.array([2.0**127])) == 0.0
