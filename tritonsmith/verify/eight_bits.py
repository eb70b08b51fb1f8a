"""Compares outputs of 8-bit floats with the truth: by how many of their numbers lie between.

Such have so few numbers that a tolerance says nothing; other floats are `numerics`'.
"""

import math

import torch

from tritonsmith.tasks.trees import held, wide
from tritonsmith.types import Mismatch
from tritonsmith.verify.elements import (
    CHUNK,
    ELSEWHERE,
    any_of,
    chunks,
    finite,
    misplaced,
    name,
    neglected,
    report,
    true_of,
)

NEIGHBOURS = {torch.float16: 0.03, torch.bfloat16: 0.1}
"""Share of 8-bit floats that may be the number beside the right one, where what is rounded to them was rounded to one
of these before: of so many does the first rounding make a tie, or nearly (2 ** -7 and 2 ** -4 in `float8_e4m3fn`)."""
NEIGHBOURS_ELSE = 0.01
"""The same where it was not. Cutting off in place of rounding to nearest changes half of them."""
_BESIDE = 0.03
"""Share of the root mean square by which 8-bit floats near zero may be off: it is bfloat16's tolerance."""
_FEW_NEIGHBOURS = 2
"""So many may be in any case: a share of a few is none."""


def compare(
    exact: torch.Tensor,
    native: torch.Tensor,
    got: torch.Tensor,
    path: str,
    variant: str,
    given: torch.dtype,
    faint: bool,
) -> Mismatch | None:
    """What is wrong with an output of 8-bit floats, None if nothing is.

    `given` is the precision of what the task is given; `faint`: slices that are small beside the rest are asked about.

    Each value is the reference's, rounded from its own dtype or from float64, or seldom the number beside it: what lies
    halfway between two falls to either by the last bit before. Two steps away it is wrong, unless that is little beside
    the output's root mean square, as what is left of large summands is.
    """
    kind = native.dtype
    parts = [(_as_held(e, n), wide(n), wide(g)) for e, n, g in chunks(exact, native, got)]
    shown = [(n, n, g) for _, n, g in parts]
    if any_of(elsewhere := [misplaced(n, g) for _, n, g in parts]):
        return report(elsewhere, shown, native, path, variant, ELSEWHERE)
    scale = math.sqrt(sum(float(t.double().square().sum()) for t, _, _ in parts) / native.numel())
    own = [_steps(n, t, kind) for t, n, _ in parts]
    errors = ((finite(n, n) - t).abs().where(step > 1, 0.0) for (t, n, _), step in zip(parts, own, strict=True))
    lost = max(float(error.max()) for error in errors)
    off = [torch.minimum(_steps(g, t, kind), _steps(g, n, kind)) for t, n, g in parts]
    allowed = _BESIDE * scale + 8 * lost
    far = [(step > 1) & ((finite(g, n) - t).abs() > allowed) for (t, n, g), step in zip(parts, off, strict=True)]
    if any_of(far):
        return report(far, shown, native, path, variant, "wrong values")
    beside, own_beside = (sum(int((step > 0).sum()) for step in steps) for steps in (off, own))
    if beside > _neighbours(native.numel(), own_beside, given):
        message = f"{beside} of {native.numel()} values are beside the nearest in {name(kind)}: not rounded to nearest?"
        return report([step > 0 for step in off], shown, native, path, variant, message)
    if not faint or native.numel() > CHUNK:
        return None
    return neglected(_as_held(exact, native), wide(native), wide(got), path, variant)


def _as_held(exact: torch.Tensor, native: torch.Tensor) -> torch.Tensor:
    """The truth rounded to the 8-bit floats that the reference gives, in float32; zeros where it gives no number."""
    return wide(held(true_of(wide(exact), wide(native)), native.dtype))


def _steps(one: torch.Tensor, other: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """How many numbers of an 8-bit float lie from one to the other; none where either is no number."""
    ranks = [_rank(values, kind) for values in (one, other)]
    return (ranks[0] - ranks[1]).abs() * (one.isfinite() & other.isfinite())


def _rank(values: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """The places of values among all that an 8-bit float holds, zero's being 0."""
    bits = values.to(kind).view(torch.uint8).to(torch.int16)
    signed = torch.finfo(kind).min < 0
    return bits.where(bits < 128, 128 - bits) if signed else bits


def _neighbours(count: int, own: int, kind: torch.dtype) -> float:
    """Of so many values how many may be the number beside the right one, where the reference's are so `own` times in
    the precision of what it is given, `kind`."""
    share = NEIGHBOURS.get(kind, NEIGHBOURS_ELSE)
    return _FEW_NEIGHBOURS + share * count + min(4 * own, max(count / 4, own / 2))
