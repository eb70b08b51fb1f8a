"""Orders of equal values: where torch leaves open whose place is told, each of them may be.

`torch.topk`, and `torch.sort` that is not asked to be stable, say of equal values any one's index (their
documentation). A reference's own ties, zeros behind a ReLU or in a softmax that has no more for what is unlikely, are
not opened by other inputs, so the order is drawn where it is made. What takes the first of equal values by its
documentation, as `argmax` does, is left alone.

Drawn orders leave out one that is common: places that are really ordered, and behind them exactly equal values, as in a
softmax of large numbers. There what was ordered is asked, place by place, whether it is equal (`Pick`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.tasks.values import uniform

_TOPK, _SORT, _STABLE = torch.ops.aten.topk.default, torch.ops.aten.sort.default, torch.ops.aten.sort.stable


@dataclass(frozen=True)
class Pick:
    """Places along a dimension that were told of values: the first so many of an order of them."""

    values: torch.Tensor
    places: torch.Tensor
    dim: int

    def repeats(self, told: torch.Tensor) -> bool:
        """Whether other places than those that were told are none, or are told twice: an order has each once."""
        told, size = self._shaped(told), self.values.shape[self.dim]
        if bool(((told < 0) | (told >= size)).any()):
            return True
        times = torch.zeros_like(self.values, dtype=torch.int64)
        times.scatter_add_(self.dim, told, torch.ones_like(told))
        return bool((times > 1).any())

    def as_good(self, told: torch.Tensor) -> torch.Tensor:
        """Which of other places hold what those do that were told.

        What is too small for a normal number is zero, as it is where a GPU's exponential makes it.
        """
        tiny = torch.finfo(self.values.dtype).tiny
        normal = torch.where(self.values.abs() < tiny, 0.0, self.values)
        return normal.gather(self.dim, self._shaped(told)) == normal.gather(self.dim, self.places)

    def _shaped(self, told: torch.Tensor) -> torch.Tensor:
        return told.reshape(self.places.shape).to(torch.int64)


@contextmanager
def noted() -> Iterator[list[Pick]]:
    """What is ordered in a block and leaves the order of equal values open."""
    found: list[Pick] = []
    with _Noted(found):
        yield found


class Ties(TorchDispatchMode):
    """Puts values in an order in which those that are equal up to rounding stand otherwise than torch has them."""

    def __init__(self, number: int, unit: float) -> None:
        """`number`: 0 puts those first that come first, 1 those that come last, and others what chance has it.

        `unit` is that of rounding, in parts of the largest value.
        """
        super().__init__()
        self._number, self._unit = number, unit

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        opened = _opened(func, args, named)
        if opened is None:
            return func(*args, **named)
        values, dim = opened
        moved = values + self._noise(values, dim)
        _, order = func(moved, *args[1:], **named)  # type: ignore[misc]
        return values.gather(dim, order), order

    def _noise(self, values: torch.Tensor, dim: int) -> torch.Tensor:
        largest = values.nan_to_num(0.0, 0.0, 0.0).abs().amax()
        if self._number > 1:
            share = uniform(values).to(values.dtype)
        else:
            count, sides = values.shape[dim], [1] * values.dim()
            sides[dim] = count
            rising = torch.arange(count, dtype=values.dtype, device=values.device).reshape(sides) / count
            share = rising if self._number else 1 - rising
        return self._unit * torch.where(largest > 0, largest, 1.0) * share


class _Noted(TorchDispatchMode):
    """Keeps what is ordered."""

    def __init__(self, found: list[Pick]) -> None:
        super().__init__()
        self._found = found

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        result = func(*args, **named)
        opened = _opened(func, args, named)
        if opened is not None and isinstance(result, tuple):
            self._found.append(Pick(opened[0].detach().clone(), result[1].clone(), opened[1]))
        return result


def _opened(
    func: Callable[..., object], args: Sequence[object], named: Mapping[str, object]
) -> tuple[torch.Tensor, int] | None:
    """The values and the dimension of an operator that orders them and leaves open which of equal ones comes first."""
    values = args[0] if args else None
    is_open = func in (_TOPK, _SORT) or (func is _STABLE and not named.get("stable"))
    if not is_open or not isinstance(values, torch.Tensor) or not values.is_floating_point() or not values.numel():
        return None
    place = {_TOPK: 2, _SORT: 1}.get(func, len(args))  # type: ignore[call-overload]
    dim = int(str(args[place] if len(args) > place else named.get("dim", -1)))
    return (values, dim) if values.dim() else None
