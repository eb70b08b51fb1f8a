"""Two numbers of an answer in floats that tell, for most right ones, that no element of it needs to be looked at.

The greatest error and the errors' root mean square bound those of every element and of every slice. A GPU that several
processes share takes longer over fifty small kernels than over the values in them. What the two do not settle, and
every answer with NaN or inf, is for `numerics` to look at, element by element: nothing is refused here.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from tritonsmith.verify.elements import AS_A_WHOLE, Part, by_slices, finite, told, true_of


@dataclass(frozen=True)
class Scale:
    """How large one output is, and how far the reference itself is off in the task's own dtype."""

    rms: float
    own_rms: float
    own_worst: float
    plain: bool = False
    """Whether the truth and the reference are finite, and the truth within what the reference's dtype holds."""
    faintest: float = math.inf
    """Where `plain`, the least mean square of the slices that `elements.neglected` asks about; infinite if none."""


def scale_of(exact: torch.Tensor, native: torch.Tensor, parts: Sequence[Part], count: int) -> Scale:
    """What a truth of `count` real numbers says of itself; `parts` are flat ones of it."""
    norms = [*_norms(part[0].double() - part[1] for part in parts), *_norms(part[0].double() for part in parts)]
    *found, faintest = torch.stack([*norms, _faintest(exact, native)]).tolist()  # a GPU is asked once
    own, true = _greatest(found[: len(found) // 2]), _greatest(found[len(found) // 2 :])
    if not math.isfinite(own[0] + true[0]) or true[1] > torch.finfo(native.dtype).max:
        return _where_finite(parts, count)
    return Scale(true[0] / math.sqrt(count), own[0] / math.sqrt(count), own[1], True, faintest)


def _faintest(exact: torch.Tensor, native: torch.Tensor) -> torch.Tensor:
    """The least mean square of the slices that the reference has right; infinite if there are none."""

    def squares() -> tuple[torch.Tensor, torch.Tensor]:
        double = exact.double()
        return double.square(), (native - double).square()

    means = by_slices(native, squares).values()
    if not means:
        return torch.full((), math.inf, dtype=torch.float64, device=native.device)
    sizes, errors = (torch.cat(each) for each in zip(*means, strict=True))
    return torch.where(told(sizes, errors), sizes, math.inf).min()


def is_near(parts: Sequence[Part], scale: Scale, allowed: float, rms: float, count: int, faint: bool) -> bool:
    """Whether no error is greater than `allowed`, their root mean square is not than `rms`, and no slice can be wrong
    by its own measure, where that is asked (`faint`); `count` real numbers. False says nothing."""
    if not scale.plain:
        return False
    size, greatest = _greatest(torch.stack(_norms(part[0].double() - part[2] for part in parts)).tolist())
    near = greatest <= allowed and size / math.sqrt(count) <= rms  # which neither is where it is NaN
    return near and (not faint or greatest**2 <= AS_A_WHOLE * scale.faintest)


def _norms(parts: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Of each part the root of the sum of squares, and the greatest of the absolute values."""
    return [torch.linalg.vector_norm(part, order) for part in parts for order in (2, math.inf)]


def _greatest(found: Sequence[float]) -> tuple[float, float]:
    """The same of all parts together."""
    return math.hypot(*found[::2]), max(found[1::2])  # of NaN the first is no number, whatever the second is


def _where_finite(parts: Sequence[Part], count: int) -> Scale:
    """The same of a truth that has NaN, infinities or more than its dtype holds, without these."""
    rows = []
    for exact, native, _ in parts:
        true = true_of(exact, native)
        own_error = (finite(native, native) - true).abs()
        rows.append(torch.stack([own_error.max(), true.square().sum(), own_error.square().sum()]))
    totals = torch.stack(rows).cpu()
    squares, own_squares = float(totals[:, 1].sum()), float(totals[:, 2].sum())
    return Scale(math.sqrt(squares / count), math.sqrt(own_squares / count), float(totals[:, 0].max()))
