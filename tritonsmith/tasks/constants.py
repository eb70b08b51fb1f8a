"""Other contents for what a task is given and no seed changes: tables, masks, positions, offsets, numbers, flags.

A kernel that writes such an input into itself is right until somebody gives another. What stands in keeps what one may
rely on: what is sorted stays sorted, equal elements of a table stay equal, a mask hides no row as a whole, offsets stay
within what they cut. Whether a reference takes it is `verify.fitting`'s business.
"""

import math
import secrets
from collections.abc import Collection, Iterator

import torch
from torch.utils import _pytree as pytree

from tritonsmith.tasks.trees import held, wide

Place = pytree.KeyPath
"""Where something lies in nested lists, tuples and dicts."""
_LONGEST = 1 << 24
"""Whole numbers in order are drawn anew from as many, at most."""


def constants(first: object, second: object) -> list[Place]:
    """Where two draws of the inputs hold the same tensors, numbers with a fraction, or truths.

    Whole numbers are left out: they are sizes, dimensions and counts, and name another task.
    """
    other = dict(pytree.tree_leaves_with_path(second))
    return [at for at, one in pytree.tree_leaves_with_path(first) if at in other and _same(one, other[at])]


def put(tree: object, place: Place, value: object) -> object:
    """The tree with a value at a place; what it was made of stays as it is."""
    return pytree.tree_map_with_path(lambda known, item: value if known == place else item, tree)


def others(value: object, whole: Collection[int] = ()) -> Iterator[object]:
    """What may stand in for a constant, best first; drawn by a generator of its own.

    `whole` are the whole numbers given beside it: one of them may be the length of the longest segment.
    """
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, float):
        yield from _numbers(value)
    elif isinstance(value, torch.Tensor):
        own = torch.Generator().manual_seed(secrets.randbits(31))
        for other in _tensors(wide(value.detach().cpu()), own, whole):
            yield held(other, value.dtype).to(value.device)


def _same(one: object, two: object) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
        kept = one.shape == two.shape and one.dtype == two.dtype and not one.is_complex()
        return kept and one.numel() > 0 and torch.equal(one, two)
    return type(one) is type(two) and isinstance(one, (bool, float)) and one == two


def _numbers(value: float) -> Iterator[float]:
    """A share stays one where it may, and the order of several numbers what it is."""
    if not math.isfinite(value):
        return
    yield from (0.25,) if value == 0 else (0.5 * value, 1.5 * value) if 0 < value < 1 else (1.5 * value, 0.75 * value)


def _tensors(value: torch.Tensor, own: torch.Generator, whole: Collection[int]) -> Iterator[torch.Tensor]:
    if value.numel() == 1:
        for number in _numbers(float(value)) if value.is_floating_point() else ():
            yield torch.full_like(value, number)
    elif (dim := _shares(value)) is not None:
        yield _shuffled(value, dim, own)
    elif bool(((value == 0) | (value == 1)).all()):
        yield _flipped(value.to(torch.int8), own)
    elif value.is_floating_point():
        yield _table(value.double(), own)
    elif value.dim() == 1 and bool((steps := value.diff()).ge(0).all()) and not bool((steps == 1).all()):
        yield from _in_order(value, own, whole)
    else:
        yield from (_shuffled(value, 0, own), _shuffled(value, -1, own))
        yield _shuffled(value.flatten(), 0, own).reshape(value.shape)


def _shares(value: torch.Tensor) -> int | None:
    """The dimension along which a tensor holds shares of one, as probabilities are and a one among zeros is."""
    if bool((value < 0).any()):
        return None
    totals = {dim: value.double().sum(dim) for dim in (-1, min(1, value.dim() - 1))}
    return next((dim for dim, total in totals.items() if bool(((total - 1).abs() < 1e-3).all())), None)


def _shuffled(value: torch.Tensor, dim: int, own: torch.Generator) -> torch.Tensor:
    return value.index_select(dim, torch.randperm(value.shape[dim], generator=own))


def _flipped(mask: torch.Tensor, own: torch.Generator) -> torch.Tensor:
    """A quarter of the places turned, but for the diagonal, and for rows that held both kinds and now would not."""
    turned = torch.where(torch.rand(mask.shape, generator=own) < 0.25, 1 - mask, mask)
    if mask.dim() >= 2:
        turned = torch.where(torch.eye(*mask.shape[-2:], dtype=torch.bool), mask, turned)
    return torch.where(_mixed(mask) & ~_mixed(turned), mask, turned)


def _mixed(mask: torch.Tensor) -> torch.Tensor:
    return mask.amax(-1, keepdim=True) != mask.amin(-1, keepdim=True)


def _table(table: torch.Tensor, own: torch.Generator) -> torch.Tensor:
    """Numbers of the same signs and bounds, equal where they were equal; a row in order stays so, between its ends."""
    steps = table.diff() if table.dim() == 1 and bool(table.isfinite().all()) else table[:0]
    if len(steps) > 1 and bool((steps > 0).all() | (steps < 0).all()):
        steps = steps * (0.5 + torch.rand(steps.shape, generator=own, dtype=torch.float64))
        return torch.cat([table[:1], table[0] + steps.cumsum(0) * (table[-1] - table[0]) / steps.sum()])
    known, which = table.abs().unique(return_inverse=True)
    factors = 1 - 0.5 * torch.rand(known.shape, generator=own, dtype=torch.float64)
    if bool(table.isneginf().any()):  # zeros are what a mask adds to what it does not hide
        added = -torch.rand(table.shape[-2:], generator=own, dtype=torch.float64)
        return torch.where(table == 0, added, table * factors[which])
    return table * factors[which]


def _in_order(value: torch.Tensor, own: torch.Generator, whole: Collection[int]) -> Iterator[torch.Tensor]:
    """Whole numbers in order between the same ends: the steps in another order, or steps of other sizes."""
    steps = value.diff()
    yield torch.cat([value[:1], value[0] + _shuffled(steps, 0, own).cumsum(0)])
    first, last = int(value[0]), int(value[-1])
    if int(steps.min()) > 0 and int(steps.max()) not in whole and last - first < _LONGEST:
        inner = torch.randperm(last - first - 1, generator=own)[: len(value) - 2].sort().values
        yield torch.cat([value[:1], first + 1 + inner, value[-1:]])
