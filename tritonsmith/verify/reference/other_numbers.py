"""A task whose model is constructed with other numbers, for a second layer of one class beside the first.

The inputs stay what they are: only numbers are changed with which the reference still answers them. Runs the task's
code, never a candidate's.
"""

from collections.abc import Iterator
from functools import lru_cache

from torch.utils import _pytree as pytree

from tritonsmith.tasks.constants import others, put
from tritonsmith.tasks.format import TaskModule, forward
from tritonsmith.types import Task

_PLAIN = bool, int, float, str, type(None)
"""What can be written into a source."""
_MOST = 8
"""Numbers of a constructor that are changed: each one is tried by a forward."""


def other_fractions(task: Task) -> Task | None:
    """The same with other numbers with a fraction: slopes, scales, bounds; None where the reference bears none."""
    source = _changed(task.source, True)
    return task.model_copy(update={"source": source}) if source is not None else None


def other_counts(task: Task) -> Task | None:
    """The same with other sizes, counts and truths."""
    source = _changed(task.source, False)
    return task.model_copy(update={"source": source}) if source is not None else None


@lru_cache(maxsize=256)
def _changed(source: str, fractions: bool) -> str | None:
    """The source with as many numbers of a kind changed as the reference bears at once."""
    try:
        init = TaskModule.of(Task(id="numbers", level=1, source=source)).init_inputs()
    except Exception:  # the task's own code
        return None
    found = pytree.tree_leaves_with_path(init)
    if not all(isinstance(value, _PLAIN) for _, value in found):
        return None
    wanted = [(place, value) for place, value in found if _is_number(value, fractions)]
    best = None
    for place, value in wanted[:_MOST]:
        for other in _others(value):
            tried = put(init, place, other)
            if _runs(written := f"{source}\n\n\ndef get_init_inputs():\n    return {tried!r}\n"):
                init, best = tried, written
                break
    return best


def _is_number(value: object, fractions: bool) -> bool:
    return isinstance(value, float) if fractions else isinstance(value, int)


def _others(value: object) -> Iterator[object]:
    """What may stand for a number; sizes grow, for what is larger than needed harms nobody."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield value + 1
    else:
        yield from others(value)


def _runs(source: str) -> bool:
    """Whether the reference answers what is given."""
    try:
        module = TaskModule.of(Task(id="numbers", level=1, source=source))
        forward(module.model(0), module.inputs(0))
    except Exception:  # the task's own code, which was not made for such numbers
        return False
    return True
