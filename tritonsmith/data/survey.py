"""What is known of a task beside its text: family, depth, operators, canonical form. Runs in a worker process.

The form is that of the trace, so tasks of every origin can be compared: a generated one with one of the suite.
"""

from tritonsmith.data.store import Survey
from tritonsmith.tasks import graph as chains
from tritonsmith.tasks import traced
from tritonsmith.types import Task
from tritonsmith.verify.form import program

_GLUE = {
    "view", "reshape", "permute", "transpose", "t", "unsqueeze", "squeeze", "expand", "contiguous", "clone", "to",
    "_to_copy", "slice", "select", "flatten", "unflatten", "detach", "alias", "expand_as", "view_as", "numpy_T",
}  # fmt: skip
"""Operators that move or rename values: no part of a graph's depth."""

_FAMILIES: dict[str, tuple[str, ...]] = {
    "conv": ("conv", "convolution"),
    "matmul": ("linear", "matmul", "mm", "addmm", "bmm", "baddbmm", "einsum", "mv", "dot", "addmv", "outer"),
    "attention": ("scaled_dot_product", "multi_head"),
    "loss": ("loss", "cosine_similarity", "kl_div", "nll", "triplet", "cross_entropy"),
    "pooling": ("pool",),
    "norm": ("norm", "normalize", "std", "var"),
    "softmax": ("softmax", "logsumexp"),
    "cumulative": ("cum",),
    "indexing": ("embedding", "gather", "index", "scatter", "take", "one_hot"),
    "reduction": ("sum", "mean", "amax", "amin", "max", "min", "prod", "argmax", "argmin", "any", "all", "median"),
}
"""Families by the words that names of their operators begin with or hold; the first that fits is the task's."""


def survey(task: Task) -> Survey:
    """Survey a task; the part that needs a trace stays empty where there is none."""
    trace = traced.trace(task)
    operators = [operation.name for operation in trace.operations] if trace else []
    form = trace.canonical() if trace else ""
    depth = sum(name not in _GLUE for name in operators)
    return Survey(
        family=_family(task, operators),
        depth=_depth(task) or depth,
        operators=operators,
        form=form,
        writing=program(task.source),
    )


def forms(tasks: list[Task]) -> list[str]:
    """The canonical forms of tasks, empty for those that cannot be traced."""
    return [trace.canonical() if (trace := traced.trace(task)) else "" for task in tasks]


def _depth(task: Task) -> int:
    """The depth that the task's generator counts; 0 for a task without a graph."""
    if task.graph is None:
        return 0
    if task.id.startswith("graphs/"):
        from tritonsmith.tasks.graphs.graph import Graph

        return Graph.parse(task.graph).depth
    return chains.Graph.parse(task.graph).depth


def _family(task: Task, operators: list[str]) -> str:
    """What dominates the work: the first of the families, from the costliest down, that an operator belongs to."""
    for family, words in _FAMILIES.items():
        if any(_is(name, word) for name in operators for word in words):
            return family
    return "pointwise" if operators else "unknown"


def _is(name: str, word: str) -> bool:
    return name == word or (len(word) > 3 and word in name) or name.startswith(f"{word}_") or name.startswith(f"_{word}")
