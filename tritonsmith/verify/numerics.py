"""Compares a candidate's outputs with the truth: the reference in float64.

A value is right where its error is within the dtype's tolerance; an output is right where, besides, its
root-mean-square error is not out of proportion to the error that the reference makes in the task's own
dtype. The second rule finds lower-precision arithmetic that a tolerance alone lets through.
"""

import math
from dataclasses import dataclass

import torch

from tritonsmith.types import Mismatch

TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 1e-4,
    torch.float16: 4e-3,
    torch.bfloat16: 3e-2,
}
"""Relative error allowed in an element, against its own size and the output's root mean square.
1e-4 for float32 is KernelBench's; the others are about four units in the last place."""
PROPORTION = 64.0
"""How many times the reference's own rms error a candidate's may be. Float32 arithmetic in another order
stays below 10; TF32 operands give about 2500 times the rounding unit, float16 accumulation more."""


@dataclass(frozen=True)
class Truth:
    """What a forward should give."""

    exact: object
    """Output of the reference in float64."""
    native: object
    """Output of the reference in the task's own dtype: it fixes shapes, dtypes, and where NaN and inf are."""


def compare(truth: Truth, got: object, variant: str) -> Mismatch | None:
    """The first difference that matters, or None if the output is right."""
    return _compare(truth.exact, truth.native, got, "output", variant)


def _compare(exact: object, native: object, got: object, path: str, variant: str) -> Mismatch | None:
    def wrong(message: str) -> Mismatch:
        return Mismatch(variant=variant, output=path, message=message)

    if isinstance(native, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return wrong(f"expected a tensor, got {type(got).__name__}")
        if got.shape != native.shape:
            return wrong(f"expected shape {tuple(native.shape)}, got {tuple(got.shape)}")
        if got.dtype != native.dtype:
            return wrong(f"expected dtype {_name(native.dtype)}, got {_name(got.dtype)}")
        if not isinstance(exact, torch.Tensor) or exact.shape != native.shape:
            exact = native
        return _values(exact, native, got, path, variant)
    if isinstance(native, dict):
        if not isinstance(got, dict) or set(map(str, native)) != set(got):
            return wrong(f"expected a dict with keys {sorted(map(str, native))}")
        parts = [(str(key), native[key], exact[key] if isinstance(exact, dict) else None) for key in native]
        return next((m for key, n, e in parts if (m := _compare(e, n, got[key], f'{path}["{key}"]', variant))), None)
    if isinstance(native, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(native):
            return wrong(f"expected {len(native)} outputs, got {len(got) if isinstance(got, (list, tuple)) else 1}")
        exacts = exact if isinstance(exact, (list, tuple)) else native
        for place, (e, n, g) in enumerate(zip(exacts, native, got, strict=True)):
            if mismatch := _compare(e, n, g, f"{path}[{place}]", variant):
                return mismatch
        return None
    same = (type(native) is type(got) and native == got) or (
        isinstance(native, float)
        and isinstance(got, float)
        and (math.isclose(native, got, rel_tol=1e-4) or (native != native and got != got))
    )
    return None if same else wrong(f"expected {native!r}, got {got!r}")


def _values(exact: torch.Tensor, native: torch.Tensor, got: torch.Tensor, path: str, variant: str) -> Mismatch | None:
    if native.numel() == 0:
        return None
    exact, native, got = (_real(tensor.cpu()) for tensor in (exact, native, got))
    if not native.dtype.is_floating_point:
        # A tie may be broken in float64 otherwise than in float32; either is right.
        wrong = (got != native) & (got.to(exact.dtype) != exact)
        return _report(wrong, exact, got, path, variant, "wrong values") if wrong.any() else None
    finite = torch.isfinite(native)
    misplaced = torch.where(finite, ~torch.isfinite(got), ~((got == native) | (got.isnan() & native.isnan())))
    if misplaced.any():
        return _report(misplaced, native, got, path, variant, "NaN or inf where the reference has none, or the reverse")
    if not finite.any():
        return None
    # Where only float64 overflows or divides by zero, the reference in its own dtype is the truth.
    exact = exact.double().where(torch.isfinite(exact), native.double())
    true, own, given = (t.double().where(finite, torch.zeros((), dtype=torch.float64)) for t in (exact, native, got))
    error, own_error, scale = (given - true).abs(), (own - true).abs(), _rms(true)
    tolerance = TOLERANCE.get(native.dtype, 1e-4)
    wrong = error > tolerance * (true.abs() + scale) + 8 * own_error.max()
    if wrong.any():
        return _report(wrong, true, given, path, variant, "wrong values")
    unit = torch.finfo(native.dtype).eps
    allowed = PROPORTION * max(_rms(own_error), unit * scale)
    if _rms(error) > allowed:
        ratio = _rms(error) / max(_rms(own_error), unit * scale)
        message = f"error {ratio:.0f} times that of {_name(native.dtype)} arithmetic: computed in lower precision?"
        return _report(error >= error.max(), true, given, path, variant, message)
    return None


def _real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs, so that an index ends in 0 for the real part and in 1 for the imaginary one."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _report(
    wrong: torch.Tensor, expected: torch.Tensor, got: torch.Tensor, path: str, variant: str, message: str
) -> Mismatch:
    distance = (got.double() - expected.double()).abs().nan_to_num(nan=math.inf)
    flat = int(torch.where(wrong, distance, -1.0).argmax())
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat), wrong.shape)]
    return Mismatch(
        variant=variant,
        output=path,
        message=message,
        index=index,
        expected=float(expected.flatten()[flat]),
        got=float(got.flatten()[flat]),
        wrong_share=float(wrong.double().mean()),
    )


def _rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
