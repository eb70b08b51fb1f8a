"""Inputs that a reference can be judged on, where only running it tells: other constants, and small values.

What a reference does not take, or what its answer does not depend on, stays as it was. And whether an answer tells
anything at all. Runs the task's code, never a
candidate's.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.utils import _pytree as pytree

from tritonsmith.tasks.constants import constants, others, put
from tritonsmith.tasks.copied import inputs_copied, model_copied
from tritonsmith.tasks.format import forward, seeded
from tritonsmith.tasks.trees import finite, leaves, map_tensors
from tritonsmith.tasks.values import without_last
from tritonsmith.verify import numerics
from tritonsmith.verify.dynamic import replay
from tritonsmith.verify.reference.passing import passed
from tritonsmith.verify.reference.truth import truth_of

_ROUNDING = 64.0
"""Units of rounding by which a reference may be off, in the root mean square, where values are small."""
_FEW = 64
"""Elements of an answer up to which all may be alike by chance, as after a ReLU none of whose inputs is positive."""


def other_constants(
    build: Callable[[], nn.Module], first: list[object], second: list[object], numbers: bool
) -> list[object]:
    """The first draw with other contents for what the second one has too; raises ValueError if there are none.

    `numbers`: numbers and truths are changed, and else tensors. Each is changed where the reference then gives another
    answer of the same form, by the same means.
    """
    given = [(place, pytree.key_get(first, place)) for place in constants(first, second)]
    found = [(place, value) for place, value in given if isinstance(value, torch.Tensor) != numbers]
    if not found:
        raise ValueError("no input is constant")
    model = build()
    whole = [number for number in pytree.tree_leaves(first) if isinstance(number, int)]
    inputs, before = first, forward(model, first)
    for place, constant in found:
        for value in others(constant, whole):
            changed = put(inputs, place, value)
            if isinstance(changed, list) and (after := _answer(model, inputs, changed, before)) is not None:
                inputs, before = changed, after
                break
    if inputs is first:
        raise ValueError("the reference depends on no constant")
    return inputs


def _answer(model: nn.Module, given: list[object], changed: list[object], before: object) -> object | None:
    """The reference's answer to changed inputs, if they tell anything and it comes about as it did before."""
    try:
        after = forward(model, changed)
        with seeded(1), torch.no_grad():
            again = model_copied(model)(*inputs_copied(changed))
        alike = replay.reference_effects(model, given) == replay.reference_effects(model, changed)
        alike = alike and passed(model, given) == passed(model, changed)
    except Exception:  # the task's own code does not take them
        return None
    old, new = leaves(before), leaves(after)
    form = [(tensor.shape, tensor.dtype) for tensor in old] == [(tensor.shape, tensor.dtype) for tensor in new]
    usable = form and alike and (finite(after) or not finite(before)) and bool(old)
    settled = usable and _alike(after, again)
    # By more than rounding: atomics on a GPU never add up twice in the same order.
    return after if settled and not _alike(before, after) else None


def _alike(one: object, other: object) -> bool:
    return numerics.compare(numerics.Truth(one, one), other, "again") is None


def small(model: nn.Module, inputs: list[object]) -> list[object]:
    """Inputs of small values with a slice of zeros in each, or without where that is not to be judged.

    Raises ValueError where rounding is much of the reference's own answer either way.
    """
    zeros = [map_tensors(item, without_last) for item in inputs]
    found = next((given for given in (zeros, inputs) if sound(truth_of(model, given))), None)
    if found is None:
        raise ValueError("small values are lost in rounding")
    return found


def sound(truth: numerics.Truth) -> bool:
    """Whether the reference's own answer is what it computes in float64, up to rounding."""
    pairs = list(zip(leaves(truth.native), leaves(truth.exact), strict=True))
    if not finite(truth.native) or not finite(truth.exact):
        return False
    for native, exact in pairs:
        if native.is_floating_point():
            wide = exact.double()
            error, size = (torch.linalg.vector_norm(tensor) for tensor in (native.double() - wide, wide))
            if float(error) > _ROUNDING * torch.finfo(native.dtype).eps * float(size):
                return False
    return True


def flat(answer: object) -> bool:
    """Whether an answer of few numbers is one number throughout, which many a wrong candidate answers as well.

    Of twelve outputs of `relu(x @ w + b)` none was positive in 2.8 % of drawings, and in 0.7 % in none of four.
    """
    found = [tensor for tensor in leaves(answer) if tensor.numel() > 1]
    few = bool(found) and sum(tensor.numel() for tensor in found) <= _FEW
    return few and all(bool((tensor == tensor.flatten()[0]).all()) for tensor in found)
