"""Smaller versions of a task that a device bears: the smallest, the largest, and those in between that it is tried at.

The first that fits a purpose is taken, in `versions`' order; whether a version makes sense is found out by running the
reference on it. What calls the operators that the task calls is preferred: what broadcasts at a small size alone would
be another task.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from torch.utils.flop_counter import FlopCounterMode

from tritonsmith.tasks.dry import Dry, dry, elements, emptied, pairs_of_sizes, tensors, weights
from tritonsmith.tasks.format import TaskError, TaskModule, forward, one_line
from tritonsmith.tasks.rescaling import named_by_the_model
from tritonsmith.tasks.versions import FULL_CAPS, LIGHT_CAPS, PAIR, ROOMY_CAPS, TINY_CAPS, versions
from tritonsmith.types import Task


@dataclass(frozen=True)
class Bound:
    """How large a version may be."""

    elements: int
    """In inputs, weights and outputs."""
    flops: int
    """Of the reference."""


FULL = Bound(1 << 15, 1 << 23)
"""What the interpreter bears in tenths of a second; it takes 0.1 s for a 128^3 matmul."""
HEAVY = Bound(1 << 21, 1 << 25)
"""What it bears in seconds: for networks whose own code says how many weights they have, which stay as they are."""
LIGHT = Bound(1 << 12, 1 << 19)
"""What it bears in hundredths: for variants that change the values and not the sizes. With these at the full size,
judging 40 generated graphs on two cores took 0.81 a second; all at this size 1.63 (all variants, timing off)."""
LIGHT_ON_GPU = Bound(1 << 20, 1 << 28)
"""What a GPU draws, computes in float64 and compares in no time beside its real sizes."""


@dataclass(frozen=True)
class Scaled:
    """A task at other sizes."""

    task: Task
    cap: int | None
    """Largest constant left, None for the task as it is."""
    shapes: str
    """The inputs' shapes, for a person."""


def tiny(task: Task) -> Scaled:
    """The smallest version on which the reference runs; where it can be, one that the interpreter bears."""
    caps = (PAIR, *TINY_CAPS)
    some, heavy = _Search(task, TINY_CAPS, FULL), _Search(task, caps, HEAVY, batch_first=True)
    return _alike(some, heavy) or _any(some, heavy, _Search(task, caps, None, batch_first=True))


def full(task: Task) -> Scaled:
    """The task itself if the interpreter can bear it, else the largest version that it can.

    Where even the smallest is more than it likes, it is the smallest that it bears at all.
    """
    try:
        return Scaled(task, None, shapes_within(task, FULL))
    except Unfit:
        pass
    some, heavy = _Search(task, FULL_CAPS, FULL), _Search(task, TINY_CAPS, HEAVY, batch_first=True)
    found = _alike(some, heavy) or some.any() or (heavy.any() if some.too_large else None)
    if found is None:
        raise some.failure()
    return found


def is_heavy(task: Task) -> bool:
    """Whether a version is beyond `FULL`: a network whose own code says how many weights it has."""
    seen = dry(task.source)
    return elements(task.source) > FULL.elements or (isinstance(seen, Dry) and seen.flops > FULL.flops)


def light(task: Task, full: Scaled, bound: Bound) -> Scaled:
    """The largest version within `bound`, or the full one where there is none."""
    try:
        return Scaled(task, None, shapes_within(task, bound))
    except Unfit:
        pass
    caps = [cap for cap in (*LIGHT_CAPS, *FULL_CAPS) if full.cap is None or cap < full.cap]
    try:
        return _Search(task, caps, bound).alike() or full
    except TaskError:
        return full


def roomy(task: Task) -> list[Scaled]:
    """The smallest version whose sizes hold a tile of 16, the least that `tl.dot` multiplies, and one that holds a tile
    of 128; as far as there are such.

    Many a kernel takes a head's dimension for its block: it is right at 64, and says at 4 that it cannot be compiled.
    Others have no masks, and say that sizes must be multiples of their blocks.
    """
    found: dict[str, Scaled] = {}
    for caps in (ROOMY_CAPS, ROOMY_CAPS[-1:]):
        with suppress(TaskError):
            one = _any(_Search(task, caps, HEAVY))
            found.setdefault(one.task.source, one)
    return list(found.values())


def _alike(some: "_Search", heavy: "_Search") -> Scaled | None:
    """A version that calls the operators that the task calls at its own sizes; a `heavy` one where others are too
    large."""
    return some.alike() or (heavy.alike() if some.too_large else None)


def _any(search: "_Search", *wider: "_Search") -> Scaled:
    """A version, of a `wider` search where some may be too large for the one before; raises TaskError."""
    if (found := search.any()) is not None:
        return found
    if not wider or not search.too_large:
        raise search.failure()
    return _any(*wider)


class _Search:
    """A task's versions in their order, within one bound. The reference runs on each once at most."""

    def __init__(self, task: Task, caps: Sequence[int], bound: Bound | None, batch_first: bool = False) -> None:
        self._task, self._caps, self._bound, self._batch_first = task, caps, bound, batch_first
        self._found: Scaled | None = None
        self._looked = False
        self._unlike: dict[str, int] = {}
        """Versions that were not run because they call other operators, with the largest constant left."""
        self._reasons: dict[str, str] = {}
        """Why a version was not taken, in the order of the versions."""

    def alike(self) -> Scaled | None:
        """The first version that calls the task's operators and on which the reference runs."""
        if not self._looked:
            self._looked, self._found = True, self._first()
        return self._found

    def any(self) -> Scaled | None:
        """The same or, where there is none, the first that calls other operators and on which the reference runs."""
        if (found := self.alike()) is not None:
            return found
        for source, largest in self._unlike.items():
            if (found := self._run(source, largest)) is not None:
                return found
        return None

    @property
    def too_large(self) -> bool:
        """Whether versions were left out that may run beyond the bound."""
        return _TOO_LARGE in self._reasons.values()

    def failure(self) -> TaskError:
        """What to say where there is no version."""
        reason = [*self._reasons.values()][-1] if self._reasons else ""
        return TaskError(
            f"task {self._task.id} cannot be scaled down: the reference fails on every smaller size: {reason}"
        )

    def _first(self) -> Scaled | None:
        for source, largest in versions(self._task, self._caps, self._batch_first):
            if source in self._reasons:
                continue
            if (reason := self._unfit(source)) is not None:
                self._reasons[source] = reason
            elif not self._calls_alike(source):
                self._reasons[source], self._unlike[source] = "it calls other operators there", largest
            elif (found := self._run(source, largest)) is not None:
                return found
        return None

    def _unfit(self, source: str) -> str | None:
        """Why a version is not to be run, as far as that is seen without data."""
        if self._bound is not None and elements(source) > self._bound.elements:
            return _TOO_LARGE
        whole, one = dry(self._task.source), dry(source)
        if isinstance(whole, Dry) and isinstance(one, str):
            return one
        if self._bound is not None and isinstance(one, Dry) and one.flops > self._bound.flops:
            return _TOO_LARGE
        return "a part of it is empty there" if emptied(self._task.source, source) else None

    def _calls_alike(self, source: str) -> bool:
        """Whether a version calls the task's operators, as far as that is seen without data."""
        whole, one = dry(self._task.source), dry(source)
        alike = not isinstance(whole, Dry) or not isinstance(one, Dry) or one.spread == whole.spread
        alike = alike or self._goes_round_less(source)
        return alike and weights(source) == weights(self._task.source)

    def _goes_round_less(self, source: str) -> bool:
        """Whether a version calls the same operators as the task, some of them less often, and that by as much as an
        input is shorter: a recurrent network calls them for each step. A length that the model's own code names may be
        a count of anything."""
        whole, one = dry(self._task.source), dry(source)
        if not isinstance(whole, Dry) or not isinstance(one, Dry) or {*one.spread} != {*whole.spread}:
            return False
        less, named = len(whole.spread) - len(one.spread), named_by_the_model(self._task.source)
        lengths = pairs_of_sizes(self._task.source, source)
        return less > 0 and any(a > b and less % (a - b) == 0 and a not in named for a, b in lengths)

    def _run(self, source: str, largest: int) -> Scaled | None:
        """A version, if the reference runs on it within the bound."""
        small = self._task.model_copy(update={"source": source})
        try:
            return Scaled(small, largest, shapes_within(small, self._bound))
        except Unfit as unfit:
            self._reasons[source] = str(unfit)
            return None


_TOO_LARGE = "it is too large for the interpreter"


class Unfit(Exception):
    """A size at which a task cannot be tried; says why."""


def shapes_within(task: Task, bound: Bound | None) -> str:
    """The inputs' shapes; raises Unfit where the reference does not run or is larger than it may be."""
    if bound is not None and elements(task.source) > bound.elements:
        raise Unfit(_TOO_LARGE)
    try:
        module = TaskModule.of(task)
        inputs, model = module.inputs(0), module.model(0)
        with FlopCounterMode(display=False) as counter:
            output = forward(model, inputs)
    except Exception as error:  # a size the reference cannot take fails in the user's code, in any way it likes
        raise Unfit(one_line(error)) from error
    total = sum(t.numel() for t in [*tensors(inputs), *model.parameters(), *tensors(output)])
    if bound is not None and (total > bound.elements or counter.get_total_flops() > bound.flops):
        raise Unfit(_TOO_LARGE)
    if any(t.numel() == 0 for t in tensors(output)):
        raise Unfit("its output is empty")
    return ", ".join("x".join(map(str, t.shape)) or "scalar" for t in tensors(inputs)) or "no tensors"
