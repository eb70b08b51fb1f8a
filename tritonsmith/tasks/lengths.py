"""Versions of a task in which one of its sizes is its own and all others are small.

Where values are never computed at a task's own sizes, a kernel that reads the first two thousand columns of a row, or
makes no more than so many steps, is right at every size it is tried at. Each size alone costs little: a row of twelve
thousand columns is one program. Sizes that are one constant go together, and may then be too large.
"""

from tritonsmith.tasks.dry import Dry, dry, elements
from tritonsmith.tasks.scaling import Bound, Scaled, Unfit, rescale, shapes_within, shrink, sizes
from tritonsmith.types import Task

BOUND = Bound(1 << 18, 1 << 23)
"""What the interpreter bears where it is spread over few programs."""
_MOST = 3
"""Sizes that are tried; the largest come first."""
_CAPS = (2, 4, 8, 16)


def lengths(task: Task, full: Scaled) -> list[Scaled]:
    """A version for each of the task's largest sizes that the full one has not, on which the reference runs alike."""
    if full.cap is None:
        return []
    longer = sorted((size for size in sizes(task) if size >= 2 * full.cap), reverse=True)
    found = (_with(task, size) for size in longer[:_MOST])
    return [one for one in found if one is not None]


def _with(task: Task, size: int) -> Scaled | None:
    whole = dry(task.source)
    for cap in _CAPS:
        source = rescale(task.source, lambda value, cap=cap: value if value == size else shrink(value, cap))
        one = dry(source)
        if not isinstance(whole, Dry) or not isinstance(one, Dry):
            continue
        if one.spread != whole.spread or one.empty > whole.empty:
            continue
        if elements(source) > BOUND.elements or one.flops > BOUND.flops:
            return None
        small = task.model_copy(update={"source": source})
        try:
            return Scaled(small, size, shapes_within(small, BOUND))
        except Unfit:
            continue
    return None
