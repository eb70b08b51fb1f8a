"""What is known of a task beside its text: family, depth, operators, canonical form. Runs in a worker process.

The form is that of the trace, so tasks of every origin can be compared: a generated one with one of the suite.
"""

import re
from collections.abc import Sequence

from tritonsmith.data.store import Survey
from tritonsmith.tasks import traced, traced_form
from tritonsmith.tasks.graphs.graph import Graph
from tritonsmith.types import Task
from tritonsmith.verify.form import program

_GLUE = {
    "view", "reshape", "permute", "transpose", "t", "unsqueeze", "squeeze", "expand", "contiguous", "clone", "to",
    "_to_copy", "slice", "select", "flatten", "unflatten", "detach", "alias", "expand_as", "view_as", "numpy_T",
}  # fmt: skip
"""Operators that move or rename values: no part of a graph's depth."""

_FAMILIES: dict[str, str] = {
    "attention": r"attention",
    "conv": r"conv",
    "matmul": r"^(linear|bilinear|matmul|mm|addmm|bmm|baddbmm|addbmm|einsum|mv|addmv|dot|outer|tensordot)$",
    "loss": r"loss|cosine_similarity|kl_div|cross_entropy|cosine_embedding",
    "pooling": r"pool",
    "norm": r"norm|^(std|var)(_mean)?$",
    "softmax": r"softmax|softmin|logsumexp",
    "cumulative": r"^(log)?cum",
    "indexing": r"embedding|gather|^index|scatter|^take|one_hot|upsample|interpolate",
    "reduction": r"^(sum|mean|amax|amin|max|min|prod|argmax|argmin|any|all|median|count_nonzero|nansum)$",
}
"""Families by what names of their operators look like, from the one that costs most; the first that fits is the
task's."""


def survey(task: Task) -> Survey:
    """Survey a task; the part that needs a trace stays empty where there is none."""
    trace = traced.trace(task)
    operators = [operation.name for operation in trace.operations] if trace else []
    form = traced_form.form(trace) if trace else ""
    depth = sum(name not in _GLUE for name in operators)
    return Survey(
        family=_family(operators),
        depth=_depth(task) or depth,
        operators=operators,
        form=form,
        writing=program(task.source),
    )


def forms(tasks: Sequence[Task]) -> list[str]:
    """The canonical forms of tasks, empty for those that cannot be traced."""
    return [traced_form.form(trace) if (trace := traced.trace(task)) else "" for task in tasks]


def _depth(task: Task) -> int:
    """The depth that the task's generator counts; 0 for a task without a graph."""
    return 0 if task.graph is None else Graph.parse(task.graph).depth


def _family(operators: list[str]) -> str:
    """What dominates the work."""
    for family, pattern in _FAMILIES.items():
        if any(re.search(pattern, name) for name in operators):
            return family
    return "pointwise" if operators else "unknown"
