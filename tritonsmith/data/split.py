"""Which split a task belongs to: decided by its graph alone, so by nothing that a writing or an answer can change.

A tenth of all is held out. Graphs say it themselves, for `split=heldout` in their SPEC must mean the same.
"""

import hashlib

from tritonsmith.data.rows import Split
from tritonsmith.tasks.graphs.graph import Graph
from tritonsmith.types import Task


def split_of(task: Task, form: str = "") -> Split:
    """The split of a task by its graph; where it has none by `form`, its traced form, or else by its text."""
    if task.graph is not None:
        return Graph.parse(task.graph).split
    return by_hash(form or task.source)


def told(task: Task) -> str:
    """What tells a task from others where nothing is traced: its graph, or else its text."""
    return task.graph or task.source.strip()


def by_hash(text: str) -> Split:
    """Two of a hundred for validation, a tenth held out, the rest for training."""
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    if number % 10 == 0:
        return "heldout"
    return "validation" if number // 10 % 50 == 0 else "train"
