"""Versions of a task in which one of its sizes is its own, or a part of it, and all others are small.

Where values are never computed at a task's own sizes, a kernel that reads the first two thousand columns of a row, or
makes no more than so many steps, is right at every size it is tried at. Each size alone costs little: a row of twelve
thousand columns is one program. Sizes that are one constant go together, and may then be too large; `parts` of them
are for kernels whose loops would else never go round twice. Sizes that are brought down to one bound stand to each
other as in no task: `apart` are versions in which they do not.
"""

import ast
from collections.abc import Callable

from tritonsmith.source import parse, walk
from tritonsmith.tasks.dry import Dry, dry, elements, given, input_sizes, runs_alike
from tritonsmith.tasks.rescaling import named_in_forward, paired, rescale, sizes
from tritonsmith.tasks.scaling import Bound, Scaled, Unfit, shapes_within
from tritonsmith.tasks.versions import smaller, windows
from tritonsmith.types import Task

BOUND = Bound(1 << 20, 1 << 24)
"""What the interpreter bears where it is spread over few programs."""
_LEAST = 4
"""The smallest bound of a size that is told apart from others; the next one's is twice as much."""
_MOST = 3
"""Sizes that are tried; the largest come first."""
_CAPS = (2, 4, 8, 16)
LEAST = _CAPS[0]
"""The smallest bound of sizes beside a long one,"""
DESCRIBED = 16
"""and that for a kernel that describes its memory to the hardware (`tl.make_tensor_descriptor`), which wants rows of
multiples of 16 bytes: sizes of three times a power of two become 12, which is one in single precision."""
APART_BOUND = Bound(1 << 17, 1 << 23)
"""What it bears for one variant, if many programs are needed for it."""
PART_BOUND = Bound(1 << 22, 1 << 30)
"""What the interpreter bears for one variant, where kernels take few programs for it."""


def lengths(task: Task, full: Scaled, bound: int = LEAST) -> list[Scaled]:
    """A version for each of the task's largest sizes that the full one has not, on which the reference runs alike.

    Other sizes are brought down to `bound`, or to more where it must be more.
    """
    if full.cap is None:
        return []
    # Where the reference goes step by step, what is kept of the first ones is lost by and by: all steps are wanted.
    least = full.cap + 1 if recurrent(task.source) else 2 * full.cap
    longer = sorted((size for size in sizes(task) if size >= least), reverse=True)
    found = (_with(task, size, bound) for size in longer[:_MOST])
    return [one for one in found if one is not None]


def recurrent(source: str) -> bool:
    """Whether a forward of a task's has a loop, as a recurrence does."""
    forwards = (node for node in walk(parse(source)) if isinstance(node, ast.FunctionDef) and node.name == "forward")
    return any(isinstance(part, ast.For | ast.While) for one in forwards for part in walk(one))


def parts(task: Task, full: Scaled, bound: int = LEAST) -> list[Task]:
    """Versions in which one size is halved some times, and is more than the full one has; small ones come first. The
    others are brought down as for `lengths`."""
    if full.cap is None:
        return []
    found: dict[str, Task] = {}
    for size in sizes(task):
        part = -(-size // 2)
        while part > full.cap:
            if (one := _alike(task, size, part, bound)) is not None and _within(one, PART_BOUND):
                found[one] = task.model_copy(update={"source": one})
            part = -(-part // 2)
    return sorted(found.values(), key=lambda one: elements(one.source))


def with_a_rest(task: Task, full: Scaled, part: Task, step: int = 1) -> Task | None:
    """A part whose long sizes are a quarter shorter, and odd multiples of `step`; None where the reference does not run
    alike on it."""
    if (cap := full.cap) is None:
        return None
    source = rescale(part.source, lambda size: ((size - size // 4) // step | 1) * step if size > cap else size)
    return task.model_copy(update={"source": source}) if runs_alike(task.source, source) else None


def apart(task: Task, full: Scaled) -> list[Scaled]:
    """Versions in which sizes are in order that the full one makes equal, or beyond what the model's code names.

    Asked are those that the constructor is given: a window, a number of groups, the size of an output.
    """
    if full.cap is None:
        return []
    found = [_in_order(task, full), *(_beyond(task, full, named) for named in _unreached(task, full)[:_MOST])]
    return [one for one in found if one is not None]


def _in_order(task: Task, full: Scaled) -> Scaled | None:
    pairs, (batch, arguments) = paired(task, full.task), given(task.source)
    equal = ((one, two) for one, small in pairs for two, other in pairs if one < two and small >= other)
    if not any(one in arguments or two in arguments for one, two in equal):
        return None
    ordered = sorted(one for one in sizes(task) if one > _LEAST and one != batch)
    caps = {size: _LEAST << place for place, size in enumerate(ordered)} | {batch: _CAPS[0]}
    odd = windows(task.source)
    return _checked(task, lambda value: smaller(value, caps.get(value, value), odd), max(caps.values()), APART_BOUND)


def _unreached(task: Task, full: Scaled) -> list[int]:
    """What the model's code names that the task's sizes go beyond, and the full version's do not."""
    pairs = paired(task, full.task)
    least, most = max(small for _, small in pairs), max(own for own, _ in pairs)
    named = named_in_forward(task.source) - sizes(task)
    return sorted(one for one in named if least <= one < most)


def _beyond(task: Task, full: Scaled, named: int) -> Scaled | None:
    """A version in which one size is more than a number, and all others are small."""
    for size in sorted(one for one in sizes(task) if one > named):
        part = min(size, named + -(-named // 8))
        if (source := _alike(task, size, part)) is not None and _within(source, PART_BOUND):
            return Scaled(task.model_copy(update={"source": source}), part, "")
    return None


def _checked(task: Task, change: Callable[[int], int], cap: int, bound: Bound) -> Scaled | None:
    """A version whose reference runs alike within a bound."""
    source = rescale(task.source, change)
    if not runs_alike(task.source, source):
        return None
    small = task.model_copy(update={"source": source})
    try:
        return Scaled(small, cap, shapes_within(small, bound))
    except Unfit:
        return None


def _least_windows(task: Task) -> frozenset[int]:
    """Small numbers that the constructor is given and no input has for a size: they stay, as they do in the smallest
    version that has no long size. A window of 3 that becomes one of 2 is another operator, and no smaller one."""
    _, arguments = given(task.source)
    return frozenset(one for one in arguments if one <= _LEAST) - input_sizes(task.source)


def _within(source: str, bound: Bound) -> bool:
    one = dry(source)
    return isinstance(one, Dry) and elements(source) <= bound.elements and one.flops <= bound.flops


def _long_in(task: Task, size: int, part: int, cap: int) -> str:
    """The source with a part of one size and all others small; windows are no sizes.

    What the smallest version has as it is stays so: a kernel may be for three colours, or for the four sides of a box.
    """
    odd = windows(task.source)
    at_most = max(cap, _LEAST)
    return rescale(
        task.source,
        lambda value: part if value == size else smaller(value, at_most if value <= _LEAST else cap, odd),
        _least_windows(task),
    )


def _alike(task: Task, size: int, part: int, bound: int = LEAST) -> str | None:
    """The source with a part of one size and all others small, on which the reference runs alike."""
    for cap in _caps(bound):
        source = _long_in(task, size, part, cap)
        if runs_alike(task.source, source):
            return source
    return None


def _caps(bound: int) -> list[int]:
    return [one for one in _CAPS if one >= bound] or [bound]


def _with(task: Task, size: int, bound: int) -> Scaled | None:
    whole = dry(task.source)
    for cap in _caps(bound):
        source = _long_in(task, size, size, cap)
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
