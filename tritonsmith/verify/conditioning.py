"""How far rounding of what a reference is given moves its answer, element by element.

Where a row's two greatest scores are nearly equal and both are large, their rounding is much of a softmax's answer, in
a kernel and in torch. The error that the reference makes itself tells how much in general, and by luck nothing there:
one row of 2,048 was so, torch's error in it was small, and a right attention was refused. Runs the task's code, never
a candidate's.
"""

from collections.abc import Callable

import torch

from tritonsmith.tasks.trees import leaves

RUNS = 16
"""Answers in float64 to inputs and weights that are moved by rounding."""
FEW, SHARE = 8, 0.01
"""Elements that may hang on rounding: so many, or such a share. Where more do, the reference's own error tells it."""
_ROOM = 4.0
"""How many times the greatest move an error may be. With `truth.UNITS` it is 8 units of rounding of each number given;
a sum of 64 products in order errs by as much as moves of 1.6 units do, in the root mean square."""
_SAME = 1e-9
"""By what part a second run of the reference in float64 may differ from the first, for sums may be in another order."""


def most(count: int) -> int:
    """How many of so many elements may hang on rounding."""
    return max(FEW, int(SHARE * count))


def room(moved: Callable[[int], object], leaf: int, exact: torch.Tensor) -> torch.Tensor | None:
    """By how much each element of an output, the tree's leaf of this number, may be off; None where nobody can tell.

    `moved(0)` is the reference's answer in float64, which is no longer `exact` where it has other weights meanwhile,
    and `moved(n)` the answer to what is moved by rounding.
    """
    try:
        still = _leaf(moved(0), leaf, exact)
        if still is None or not torch.allclose(still, exact.double(), _SAME, _SAME, equal_nan=True):
            return None
        widest = torch.zeros_like(still)
        for number in range(1, RUNS + 1):
            found = _leaf(moved(number), leaf, exact)
            if found is None:
                return None
            widest = torch.fmax(widest, (found - still).abs())
    except torch.OutOfMemoryError:
        return None
    except Exception:  # the task's own code, which does not take them
        return None
    return _ROOM * widest


def without(error: torch.Tensor, room: torch.Tensor, all_may: bool = False) -> torch.Tensor:
    """Errors without those of the few greatest ones, or all, that rounding explains; both are flat, of one length."""
    greatest = error.topk(error.numel() if all_may else min(most(error.numel()), error.numel())).indices
    explained = greatest[error[greatest] <= room[greatest]]
    return error.index_fill(0, explained, 0.0)


def _leaf(output: object, leaf: int, exact: torch.Tensor) -> torch.Tensor | None:
    found = leaves(output)
    fits = leaf < len(found) and found[leaf].shape == exact.shape and found[leaf].is_floating_point()
    return found[leaf].detach().double() if fits else None
