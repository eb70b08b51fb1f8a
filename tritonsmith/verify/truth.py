"""What a candidate's outputs are compared with: the reference's, in float64 and in the task's own dtype.

Runs the task's code, never a candidate's. The comparison is `numerics`.
"""

import copy

import torch
from torch import nn

from tritonsmith.tasks.format import forward
from tritonsmith.tasks.variants import map_tensors
from tritonsmith.verify.numerics import Truth


def truth_of(model: nn.Module, inputs: list[object]) -> Truth:
    """Both outputs of the reference; raises whatever its code raises in its own dtype."""
    native = forward(model, inputs)
    double = copy.deepcopy(model).double()
    try:
        exact = forward(double, [map_tensors(item, _widen) for item in inputs])
    except Exception:  # a reference that insists on its dtype is its own truth
        exact = native
    return Truth(exact, native)


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor
