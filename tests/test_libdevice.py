"""libdevice functions in the interpreter: by whatever name they are imported, they give torch's values."""

import numpy as np
import pytest
import torch
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
    verdict = judge(verifier, TANH, _elementwise("libdevice.add_rz(x, x)", head))
    assert not verdict.correct and "libdevice.add_rz" in verdict.findings[0].message


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


@pytest.mark.parametrize("name", ["log", "log2", "log10"])
def test_a_fast_logarithm_near_one_has_the_digits_of_its_approximation(name: str) -> None:
    """Within 2^-22 of log2 in [0.5, 2] (CUDA C++ Programming Guide), and as float32 beyond."""
    values = np.random.default_rng(0).uniform(0.5, 2, 10_000).astype(np.float32).astype(np.float64)
    error = np.abs(FUNCTIONS[f"fast_{name}f"](values) - getattr(np, name)(values)).max()
    assert 2**-23 < error / abs(getattr(np, name)(2.0)) < 2**-21.5
    large = 1e6 * values
    np.testing.assert_allclose(FUNCTIONS[f"fast_{name}f"](large), getattr(np, name)(large), rtol=2**-22)


def test_a_fast_logarithm_knows_no_subnormal_number() -> None:
    with np.errstate(all="ignore"):
        assert FUNCTIONS["fast_logf"](np.array([1e-40])) == -np.inf


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("mulhi", (np.int32([-(2**31)]), np.int32([4])), -2),
        ("mulhi", (np.uint64([2**63]), np.uint64([6])), 3),
        ("mul24", (np.int32([0x1FFFFFF]), np.int32([3])), -3),
        ("hadd", (np.int32([2**31 - 1]), np.int32([2**31 - 2])), 2**31 - 2),
        ("rhadd", (np.int32([-3]), np.int32([0])), -1),
        ("sad", (np.int32([-3]), np.int32([4]), np.uint32([1])), 8),
        ("brev", (np.int32([1]),), -(2**31)),
        ("byte_perm", (np.int32([0x03020100]), np.int32([0x07060504]), np.int32([0x7410])), 0x07040100),
        ("float_as_uint", (np.array([-0.0]),), -(2**31)),
        ("float2int_rz", (np.array([3e9]),), 2**31 - 1),
        ("float2int_rd", (np.array([-1.5]),), -2),
        ("float2uint_rn", (np.array([-1.5]),), 0),
        ("float2ull_ru", (np.array([2.0**64]),), -1),
        ("float2ll_rn", (np.array([np.nan]),), -(2**63)),
        ("double2int_rn", (np.array([2.5]),), 2),
    ],
)
def test_bits_and_integers_are_cudas(name: str, given: tuple[np.ndarray, ...], expected: int) -> None:
    assert FUNCTIONS[name](*given).tolist() == [expected]


@pytest.mark.parametrize(("way", "expected"), [("rn", 2.0**24), ("rz", 2.0**24), ("rd", 2.0**24), ("ru", 2.0**24 + 2)])
def test_a_rounding_goes_its_way(way: str, expected: float) -> None:
    assert FUNCTIONS[f"int2float_{way}"](np.int32([2**24 + 1])).astype(np.float32) == expected


@pytest.mark.parametrize(
    ("name", "of_torch"),
    [("j0", "bessel_j0"), ("j1", "bessel_j1"), ("y0", "bessel_y0"), ("y1", "bessel_y1"), ("cyl_bessel_i0", "i0"),
     ("cyl_bessel_i1", "i1"), ("normcdfinv", "ndtri")],
)  # fmt: skip
def test_functions_that_take_series_are_torchs(name: str, of_torch: str) -> None:
    values = np.concatenate([np.linspace(-30, 30, 601), [0.0, 1.0, 1e-30, np.inf, np.nan]])
    if name == "normcdfinv":
        values = np.concatenate([10.0 ** -np.linspace(0.01, 30, 100), [0.0, 1.0, -1.0, np.nan]])
    expected = getattr(torch.special, of_torch)(torch.tensor(values)).numpy()
    if name.startswith(("j", "y")):
        expected[np.isinf(values)] = 0.0  # torch's have no limits
    elif name.startswith("cyl"):
        expected[np.isinf(values)] = np.inf
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(FUNCTIONS[name](values), expected, rtol=1e-6, atol=1e-6)


def test_the_next_number_is_float32s() -> None:
    assert FUNCTIONS["nextafter"](np.array([1.0]), np.array([2.0])) == 1 + 2.0**-23


def test_a_fast_quotient_by_what_has_no_reciprocal_is_zero() -> None:
    assert FUNCTIONS["fast_dividef"](np.array([3.0]), np.array([2.0**127])) == 0.0
