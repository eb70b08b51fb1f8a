"""Inputs as somebody else's code might hand them over: parts of a larger memory, results that want gradients.

What a forward makes of values hangs on none of it. A kernel that is right for a fresh leaf of its own memory alone, and
only copies all others, was seen. Weights are frozen meanwhile that were not, and the other way round. Decides nothing.
"""

import torch
from torch import nn

from tritonsmith.tasks.trees import map_tensors

_AHEAD = 64
"""Elements of the memory before an input's own: enough for whatever alignment a kernel may rely on."""


def handed_over(inputs: object) -> object:
    """The inputs, values and strides as they are, in nested lists, tuples and dicts."""
    return map_tensors(inputs, _handed)


def swap_frozen(model: nn.Module) -> None:
    """Freeze a model's weights that want gradients, and let the others want them."""
    for weight in model.parameters():
        if weight.is_leaf and weight.is_floating_point():
            weight.requires_grad_(not weight.requires_grad)


def _handed(tensor: torch.Tensor) -> torch.Tensor:
    """A view of other memory; of a graph, too, where its numbers can have a gradient."""
    placed = tensor.detach() if tensor.is_cuda else _moved(tensor)  # a GPU's inputs lie between guards as it is
    if not placed.is_floating_point():
        return placed
    with torch.enable_grad():
        return placed.requires_grad_().view_as(placed)


def _moved(tensor: torch.Tensor) -> torch.Tensor:
    """The same contents behind some others."""
    if tensor.numel() == 0 or tensor.layout != torch.strided:
        return tensor.detach()
    reach = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    memory = torch.zeros(_AHEAD + reach, dtype=tensor.dtype)
    memory[_AHEAD:] = tensor.detach().as_strided((reach,), (1,), tensor.storage_offset())
    return memory.as_strided(tensor.shape, tensor.stride(), _AHEAD)
