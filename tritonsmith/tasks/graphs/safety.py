"""Whether a graph makes a good task: every operator has a visible, finite, well-conditioned effect on the output.

A task whose output is nearly constant, or in which an operator or an input could be left out unnoticed, would reward
a kernel that computes something else. Tried at small sizes only; `verify.vet` judges a task as it is written.
"""

import torch
from torch import Tensor

from tritonsmith.tasks.graphs.draft import Draft
from tritonsmith.tasks.graphs.evaluation import Evaluation
from tritonsmith.tasks.graphs.graph import PARAMETER, Leaf, Node
from tritonsmith.tasks.graphs.sizes import Sizes, probe_sizes
from tritonsmith.tasks.graphs.table import TABLE

MAX_VALUE = 1e3
"""Largest magnitude a value may reach."""
MIN_SIZE = 1e-5
"""Least root mean square of a value."""
MIN_SPREAD = 2e-2
"""Least standard deviation over root mean square of a value ..."""
MIN_REDUCED_SPREAD = 2e-3
"""... and of what follows a reduction, where averaging makes the spread small by itself."""
MIN_EFFECT = 1e-2
"""Least relative change of the output when an operator is left out, or an input is another."""
MIN_BIAS_EFFECT = 2e-3
"""The same for an operator deep inside, or a parameter, whose effect is small by nature."""
SCALE = 1.25
"""How much larger another draw is where the output is one number: a task draws the scale of its inputs then."""
MAX_SAME = 0.75
"""Largest share of elements that may have one and the same value."""
MAX_ERROR = 3e-6
"""Largest relative rms error of float32 against float64, 25 times its epsilon: no ill-conditioned graph."""
MIN_POSITIVE = 0.02
"""Least value of what must be positive."""
WIDER = 12
"""How many times more features an output is looked at with."""
SEEDS = 12
"""Other parameters that an output is looked at with."""
SAMPLE = 512
"""Elements looked at for equal ones."""
EXACT_THROUGH = ("indexing", "view")
"""Families that move values and round nothing ..."""
ROUNDED = ("glu", "glu_channels", "difference")
"""... but for these of their operators."""


def is_sound(evaluation: Evaluation, place: int, values: list[Tensor]) -> bool:
    """Whether one node's value, the last of `values`, is finite and says something."""
    draft = evaluation.draft
    node, value = draft.items[place], values[place]
    assert isinstance(node, Node)
    operator = TABLE[node.name]
    if operator.positive and values[node.operands[-1]].min() < MIN_POSITIVE:
        return False
    if operator.exact and not all(_untouched(draft, one) for one in node.operands):
        return False
    if value.numel() == 0:
        return False
    if not value.is_floating_point():
        return value.numel() > 1 and _same_share(value) <= MAX_SAME
    size = _rms(value)
    if not value.abs().max() <= MAX_VALUE or size < MIN_SIZE:  # no NaN is below anything
        return False
    if value.numel() == 1:
        return True
    spread = MIN_REDUCED_SPREAD if _averages(draft, place) else MIN_SPREAD
    return bool(value.std() >= spread * size) and _same_share(value) <= MAX_SAME


def is_safe(draft: Draft, uniform: bool = False) -> bool:
    """Whether a draft whose last value is the output makes a good task; `uniform`: for inputs from 0 to 1."""
    sizes = probe_sizes(draft)
    if sizes is None:
        return False
    evaluation = Evaluation(draft, sizes, uniform)
    values: list[Tensor] = []
    for place, item in enumerate(draft.items):
        if isinstance(item, Leaf):
            values.append(evaluation.leaf(place))
            continue
        values.append(evaluation.node(place, [values[one] for one in item.operands]))
        if not is_sound(evaluation, place, values):
            return False
    return (
        _every_part_matters(evaluation, values)
        and _is_no_copy(draft, values)
        and _is_well_conditioned(evaluation, values)
        and _holds_when_wide(draft, sizes, uniform)
        and _holds_for_other_parameters(draft, uniform)
    )


def _every_part_matters(evaluation: Evaluation, values: list[Tensor]) -> bool:
    """Whether the output changes when a leaf is drawn again, or a node that keeps its operand's shape is left out."""
    draft, last = evaluation.draft, len(values) - 1
    for place, item in enumerate(draft.items):
        if isinstance(item, Leaf):
            least = MIN_EFFECT if item.kind != PARAMETER and values[last].numel() > 1 else MIN_BIAS_EFFECT
            changed = evaluation.leaf(place, again=True)
            if values[last].numel() == 1 and item.kind in ("normal", "positive"):
                changed = changed * SCALE
        elif (before := values[item.operands[0]]).shape == values[place].shape:
            least = MIN_EFFECT if place == last else MIN_BIAS_EFFECT
            changed = before
        else:
            continue
        got = evaluation.run(known=values[:place], changed={place: changed})[last]
        if not _differs(got, values[last], least):
            return False
    return True


def _is_no_copy(draft: Draft, values: list[Tensor]) -> bool:
    """Whether the output is none of the inputs in another shape."""
    output = values[-1]
    return all(
        values[place].numel() != output.numel() or _differs(values[place].reshape(output.shape), output, MIN_EFFECT)
        for place, item in enumerate(draft.items)
        if isinstance(item, Leaf)
    )


def _is_well_conditioned(evaluation: Evaluation, values: list[Tensor]) -> bool:
    single, exact = evaluation.run(torch.float32)[-1], values[-1]
    if not exact.is_floating_point():
        return bool((single == exact).all())
    return bool(_rms(single.double() - exact) <= MAX_ERROR * _rms(exact))


def _holds_when_wide(draft: Draft, small: Sizes, uniform: bool) -> bool:
    """Whether values stay finite and say something where features are many."""
    sizes = probe_sizes(draft, factor=WIDER)
    if sizes is None or sizes == small:
        return True
    output = Evaluation(draft, sizes, uniform).run(torch.float32)[-1]
    if not output.is_floating_point():
        return True
    size = _rms(output)
    if not output.abs().max() <= 100 * MAX_VALUE or size < MIN_SIZE / 100:
        return False
    return output.numel() == 1 or bool(output.std() > MIN_REDUCED_SPREAD * size)


def _holds_for_other_parameters(draft: Draft, uniform: bool) -> bool:
    """Whether the output says something whatever the signs of a few parameters are; `relu(x * p)` may be zero."""
    if not any(isinstance(item, Leaf) and item.kind == PARAMETER for item in draft.items):
        return True
    sizes = probe_sizes(draft, few=True)
    if sizes is None:
        return True
    for seed in range(1, SEEDS + 1):
        output = Evaluation(draft, sizes, uniform, seed).run(torch.float32)[-1]
        if (
            output.is_floating_point()
            and output.numel() > SEEDS
            and not output.std() > MIN_REDUCED_SPREAD * _rms(output)
        ):
            return False
    return True


def _averages(draft: Draft, place: int) -> bool:
    """Whether a reduction or a pooling lies at or before a node."""
    item = draft.items[place]
    if isinstance(item, Leaf):
        return False
    if TABLE[item.name].family in ("reduction", "pooling", "loss"):
        return True
    return any(_averages(draft, one) for one in item.operands)


def _untouched(draft: Draft, place: int) -> bool:
    """Whether a value is an input as it is, or one moved about."""
    item = draft.items[place]
    if isinstance(item, Leaf):
        return True
    moves = TABLE[item.name].family in EXACT_THROUGH and item.name not in ROUNDED
    return moves and all(_untouched(draft, one) for one in item.operands)


def _differs(left: Tensor, right: Tensor, least: float) -> bool:
    if left.shape != right.shape:
        return True
    left, right = left.double(), right.double()
    return bool(_rms(left - right) > least * _rms(right))


def _same_share(value: Tensor) -> float:
    flat = value.flatten()
    some = flat[:: -(-len(flat) // SAMPLE)]
    return float((some == some.mode().values).double().mean())


def _rms(value: Tensor) -> Tensor:
    return value.square().mean().sqrt()
