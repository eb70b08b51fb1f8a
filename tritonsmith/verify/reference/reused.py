"""What the reference answers where one model of it is used on: with other weights, or on more rows than before.

Nothing is asked of a candidate that the reference does not do: one that keeps what it made of its first weights, or of
its first inputs, is not followed. Runs the task's code, never a candidate's.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import nn

from tritonsmith.tasks.copied import model_copied
from tritonsmith.tasks.format import forward, used
from tritonsmith.verify.dynamic import replay
from tritonsmith.verify.dynamic.observe import tensors
from tritonsmith.verify.numerics import Truth
from tritonsmith.verify.reference import by_name, fitting
from tritonsmith.verify.reference.by_name import Weights
from tritonsmith.verify.reference.truth import truth_of


def trained(model: nn.Module, known: Weights, inputs: list[object]) -> Truth | None:
    """The answer of a model whose weights became others; None where one that had answered before gives another one, or
    where the answer is none to be judged by."""
    late, changed = used(model, [inputs]), model_copied(model)
    for each in (late, changed):
        by_name.put_in(each, known)
    try:
        truth = truth_of(changed, inputs)
        followed = replay.same_answer(forward(late, inputs), forward(changed, inputs))
    except torch.OutOfMemoryError:
        raise
    except Exception:  # the task's own code, which was not made for such weights
        return None
    return truth if followed and fitting.sound(truth) else None


def more_rows(model: nn.Module, first: Sequence[object], second: Sequence[object]) -> tuple[list[object], Truth] | None:
    """The rows of two sets of inputs as one, with the answer; None where there is no such, or the reference remembers.

    Rows are what goes by the first tensor's first dimension; where other inputs of as many do not bear it, it alone.
    """
    for inputs in _stacked(first, second):
        try:
            truth = truth_of(model, inputs)
            kept = replay.has_memory(model, first, inputs)
        except torch.OutOfMemoryError:
            raise
        except Exception:  # the task's own code, for which these are no inputs
            continue
        if not kept and fitting.sound(truth):
            return inputs, truth
    return None


def _stacked(first: Sequence[object], second: Sequence[object]) -> Iterator[list[object]]:
    given = [item for item in first if isinstance(item, torch.Tensor)]
    if not given or not given[0].dim() or not len(given[0]):
        return
    for every in (True, False):
        inputs = [
            torch.cat([one, other])
            if isinstance(one, torch.Tensor)
            and isinstance(other, torch.Tensor)
            and (one is given[0] or (every and one.dim() and len(one) == len(given[0])))
            and one.shape[1:] == other.shape[1:]
            else one
            for one, other in zip(first, second, strict=True)
        ]
        if sum(map(torch.Tensor.numel, tensors(inputs))) > sum(map(torch.Tensor.numel, tensors(first))):
            yield inputs
