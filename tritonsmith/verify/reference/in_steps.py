"""What a reference answers where each step gives numbers of its own type.

On a CPU `torch.std` and some batch norms work in float64 within themselves, so that their answer is finite where the
variance in between is beyond float32: in a kernel, as in torch's own code for a GPU, it is infinite. Does not say what
is done about it.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn
from torch._decomp import get_decompositions
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.tasks.format import forward

_ATEN = torch.ops.aten
_STEPS = get_decompositions(
    [
        _ATEN.std,
        _ATEN.std_mean,
        _ATEN.native_batch_norm,
        _ATEN._native_batch_norm_legit,
        _ATEN._batch_norm_with_update,
    ]
)


class _InSteps(TorchDispatchMode):
    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        return _STEPS.get(func, func)(*args, **(kwargs or {}))  # type: ignore[call-overload]


def in_steps(model: nn.Module, inputs: list[object]) -> object:
    """The model's output on inputs, which it leaves as they are; raises whatever its code raises."""
    with _InSteps():
        return forward(model, inputs)
