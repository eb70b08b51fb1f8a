"""Which tasks are one of the built-in suite, and so not to be trained on.

By the traced form, which does not know all spellings of a computation: `silu` written out, a product as `einsum`. So a
graph of one operator, of which the suite is likeliest to have the same, is also known by the forms of other writings.
A deeper one is known by the form of the writing at hand alone.
"""

from functools import cache

from tritonsmith.data.survey import forms
from tritonsmith.tasks import graphs
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Task

WRITINGS = 8
"""Of a graph that are looked at; one takes 25 ms, and an operator has two or three spellings."""


def suite_forms() -> frozenset[str]:
    """The traced forms of the suite's tasks, as far as they have one."""
    return frozenset(forms(load_spec("suite"))) - {""}


def of_suite(task: Task, form: str, suite: frozenset[str]) -> bool:
    """Whether a task of a traced form (empty where it has none) is one of those that have the forms `suite`."""
    return form in suite or (bool(suite) and not suite.isdisjoint(written(task.graph or "")))


@cache
def written(text: str) -> frozenset[str]:
    """The forms of some writings of a graph, given as text, of one operator; none of another, nor of no graph."""
    graph = graphs.Graph.parse(text) if text else None
    if graph is None or len(graph.nodes) != 1:
        return frozenset()
    found: list[Task] = []
    for style in range(WRITINGS):
        try:
            found.append(graphs.task(graph, style, small=True))
        except ValueError:  # no sizes in this style
            continue
    return frozenset(forms(found)) - {""}
