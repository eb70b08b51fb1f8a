"""Copies of models and inputs, as `copy.deepcopy` makes them, in half of the time or less: a reference is copied for
each of its answers, so that its state is left as it was.

What is quicker: a module's empty containers, for hooks most of all, are not gone through one by one, and an input that
shares its memory with no other is cloned. All else is left to deepcopy.
"""

import copy
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence

import torch
from torch import nn

from tritonsmith.tasks.trees import leaves

_CONTAINERS = (OrderedDict, dict, list, set)
_Memo = dict[int, object]


def model_copied(model: nn.Module) -> nn.Module:
    """A copy of a model, and of all that it holds."""
    memo: _Memo = {}
    for module in model.modules():
        for value in vars(module).values():
            if type(value) in _CONTAINERS and not value:
                memo[id(value)] = type(value)()
    return copy.deepcopy(model, memo)


def inputs_copied(inputs: Sequence[object]) -> list[object]:
    """A copy of inputs, of which those that share memory, or are one, do so in it, too."""
    return copy.deepcopy(list(inputs), _cloned(leaves(list(inputs))))


def _cloned(tensors: Iterable[torch.Tensor]) -> _Memo:
    """By identity the copies of those tensors that need no deepcopy."""
    known = {id(tensor): tensor for tensor in tensors if tensor.layout == torch.strided}
    places = Counter(tensor.untyped_storage().data_ptr() for tensor in known.values())
    return {
        key: tensor.clone()
        for key, tensor in known.items()
        if places[tensor.untyped_storage().data_ptr()] == 1 and _is_plain(tensor)
    }


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a clone is all that a copy is: the tensor is dense and all of its memory, and nothing is noted of it."""
    return (
        type(tensor) is torch.Tensor
        and not tensor.requires_grad
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not tensor.is_meta
        and not vars(tensor)
        and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
        and tensor.is_contiguous()
    )
