"""Orders of equal values: where torch leaves open whose place is told, each of them may be.

`torch.topk`, and `torch.sort` that is not asked to be stable, say of equal values any one's index (their
documentation). A reference's own ties, zeros behind a ReLU or in a softmax that has no more for what is unlikely, are
not opened by other inputs, so the order is drawn where it is made. What takes the first of equal values by its
documentation, as `argmax` does, is left alone.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_TOPK, _SORT, _STABLE = torch.ops.aten.topk.default, torch.ops.aten.sort.default, torch.ops.aten.sort.stable


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
        values = args[0] if args else None
        is_open = func in (_TOPK, _SORT) or (func is _STABLE and not named.get("stable"))
        if not is_open or not isinstance(values, torch.Tensor) or not values.is_floating_point() or not values.numel():
            return func(*args, **named)
        place = {_TOPK: 2, _SORT: 1}.get(func, len(args))  # type: ignore[call-overload]
        dim = int(str(args[place] if len(args) > place else named.get("dim", -1)))
        if values.dim() == 0:
            return func(*args, **named)
        moved = values + self._noise(values, dim)
        _, order = func(moved, *args[1:], **named)  # type: ignore[misc]
        return values.gather(dim, order), order

    def _noise(self, values: torch.Tensor, dim: int) -> torch.Tensor:
        largest = values.nan_to_num(0.0, 0.0, 0.0).abs().amax()
        if self._number > 1:
            share = torch.rand_like(values)
        else:
            count, sides = values.shape[dim], [1] * values.dim()
            sides[dim] = count
            rising = torch.arange(count, dtype=values.dtype, device=values.device).reshape(sides) / count
            share = rising if self._number else 1 - rising
        return self._unit * torch.where(largest > 0, largest, 1.0) * share
