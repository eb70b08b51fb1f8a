"""A task's versions in which sizes differ that happen to be equal in it, under several names.

A kernel that takes the number of inputs for the number of outputs is right until these differ. Sizes as such are
`rescaling`'s business. Numbers with a fraction that a constructor is given stay: a canonical prompt writes them out, so
that an honest answer may have them written in.
"""

import ast
from collections import defaultdict

from tritonsmith.source import parse
from tritonsmith.tasks.dry import emptied, runs_alike
from tritonsmith.types import Task

_SMALLEST = 8
"""Equal numbers up to this are kernel sizes, strides and counts, which are equal for a reason."""
_LEAST = 4
"""The smallest size that is changed, of a version that is smaller than the task."""
_FACTORS = ((3, 4), (5, 4), (1, 2), (3, 2))
"""What equal sizes are multiplied by, the first that the reference takes."""


def told_apart(whole: Task, task: Task) -> Task | None:
    """A version of `task` in which sizes differ that are equal in `whole`, which it is a version of, under several
    names; None where there are none, or the reference does not run alike on any."""
    source, known = task.source, _named(task.source)
    for name in _equal(whole.source):
        if (size := known.get(name, 0)) < _LEAST:
            continue
        for above, below in _FACTORS:
            other = _renamed(source, name, size * above // below)
            if runs_alike(task.source, other) and not emptied(task.source, other):
                source = other
                break
    return task.model_copy(update={"source": source}) if source != task.source else None


def _equal(source: str) -> list[str]:
    """Names of sizes that equal one named before."""
    names: defaultdict[int, list[str]] = defaultdict(list)
    for name, value in _named(source).items():
        names[value].append(name)
    return [name for value, same in names.items() if value > _SMALLEST for name in same[1:]]


def _named(source: str) -> dict[str, int]:
    """The module's names that are whole numbers, in order."""
    found = {}
    for node in parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
            found |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
    return found


def _renamed(source: str, name: str, value: int) -> str:
    """The source with another number behind a name."""
    tree = parse(source)
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets):
            node.value = ast.Constant(value)
    return ast.unparse(tree)
