"""Finds out about a task, under a time limit, what its candidates need: sizes, and variants that harden it.

Each is found once and when it is asked for: most candidates in training are wrong at the tiny size already. A process
that has found one waits for the next question on its task, which it answers in half the time of a new one; where as
many wait as candidates are judged at once, the one that has waited longest is asked about the next task.

A task is the user's own code, but it may hang or ask for all memory; so it is first run in a sandboxed runner, which
never meets a candidate. What it answers are sources, shapes and labels. Afterwards the judge itself runs the task, at
sizes that were seen to end in time.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from tritonsmith.config import VerifyConfig
from tritonsmith.cores import cores
from tritonsmith.tasks import dry, lengths, scaling
from tritonsmith.tasks.format import TaskError
from tritonsmith.types import Task
from tritonsmith.verify.process import wire
from tritonsmith.verify.process.limits import runner_limits
from tritonsmith.verify.process.zygote import Runner, Zygote

LIMIT = 30.0
"""Seconds that a task may take for each question; the suite's take 0.1."""
_LONG = 512
"""Sizes from here on are long for a kernel's loop, where a task is tried as it is."""
_TASKS = 32
"""Tasks that a process is asked about; then there is a new one."""
_QUESTIONS = ("tiny", "large", "light", "room", "beside")


@dataclass(frozen=True)
class Large:
    """The sizes beyond the tiny one: for candidates that were right there."""

    full: scaling.Scaled
    light: Callable[[], scaling.Scaled]
    """Finds what serves for variants that change values and not sizes, where there are such; raises TaskError."""
    hardening: frozenset[str]
    """Labels of the variants that a task needs because a null control passes it as given; see `vet`."""
    room: Callable[[], tuple[scaling.Scaled, ...]] = tuple
    """Finds the smallest sizes at which kernels have room for their tiles, where they are others than the tiny one, for
    the few candidates that turn that one down; raises TaskError."""
    long: tuple[scaling.Scaled, ...] = ()
    """Small ones in which one size is the task's own; see `lengths`."""
    rest: tuple[scaling.Scaled, ...] = ()
    """One in which the longest of these sizes is a quarter smaller, and odd."""
    apart: tuple[scaling.Scaled, ...] = ()
    """Small ones in which sizes stand to each other as in the task; see `lengths`."""
    bound: int = lengths.LEAST
    """What sizes are brought down to beside the one that stays long in `long` and `rest`."""
    other: "Callable[[int], Large] | None" = None
    """Finds these with a larger bound, for candidates that take no small sizes; raises TaskError."""

    def beside(self, bound: int) -> "Large":
        """These with at least that bound; raises TaskError."""
        return self.other(bound) if self.other is not None and bound > self.bound else self


@dataclass(frozen=True)
class Sizes:
    """The sizes a task is tried at."""

    tiny: scaling.Scaled
    large: Callable[[], Large]
    """Finds the others when they are first asked for, which most candidates never come to; raises TaskError."""

    @property
    def full(self) -> scaling.Scaled:
        """The task's own size, or what the interpreter bears."""
        return self.large().full

    @property
    def roomy(self) -> "Sizes | None":
        """The sizes for a candidate that turns the tiny one down; None where there are no others."""
        found = self.large()
        if not (rooms := found.room()):
            return None
        room, more = rooms[0], rooms[1:]
        longer = found.beside(room.cap or lengths.DESCRIBED)
        wide = found.full.cap is None or room.cap is None or found.full.cap >= room.cap
        full = found.full if wide else room
        return Sizes(room, lambda: replace(longer, full=full, light=lambda: full, room=lambda: more))

    @property
    def lighter(self) -> "Sizes | None":
        """Sizes for a candidate that takes the interpreter long: full ones as light as those of variants that change
        values alone, and these tiny; None where there are no smaller ones. Raises TaskError as `large` does."""
        found = self.large()
        known = found.full.task.source
        if (full := next((one for one in (found.light(), self.tiny) if one.task.source != known), None)) is None:
            return None
        return Sizes(self.tiny, lambda: replace(found, full=full, light=lambda: self.tiny))


T = TypeVar("T")
_TRIES = 2
"""How often what may pass is tried: each costs a task's candidates the whole limit."""


class _Passing(TaskError):
    """What another try may not meet: a busy machine, a process that was ended."""


class _Once(Generic[T]):
    """What is found at the first call, or why it cannot be; others wait meanwhile. What may pass is tried again."""

    def __init__(self, find: Callable[[], T]) -> None:
        self._find, self._lock = find, threading.Lock()
        self._found: list[T] = []
        self._error: str | None = None
        self._left = _TRIES

    def __call__(self) -> T:
        with self._lock:
            if not self._found and self._error is None:
                try:
                    self._found.append(self._find())
                except TaskError as error:
                    self._left -= 1
                    if isinstance(error, _Passing) and self._left > 0:
                        raise
                    self._error = str(error)
            if not self._found:
                raise TaskError(self._error or "")
            return self._found[0]


class Sizing:
    """Sizes by source; each is found once, and a task that hangs holds up its own candidates alone."""

    def __init__(self, zygote: Zygote, settings: VerifyConfig, whole: bool, limit: float = LIMIT) -> None:
        """`whole`: the full size is the task as it is, as on a GPU, and not what the interpreter bears."""
        self._zygote, self._settings, self._whole, self._limit = zygote, settings, whole, limit
        self._known: dict[str, _Once[Sizes]] = {}
        self._waiting: OrderedDict[str, Runner] = OrderedDict()
        """Runners that know a task and wait for the next question on it, by its source; the last one is the newest."""
        self._tasks: dict[int, int] = {}
        """By pid how many tasks a runner was asked about."""
        self._most = settings.workers or cores()
        self._lock = threading.Lock()

    def of(self, task: Task) -> Sizes:
        """A task's sizes; raises TaskError where it has none, or does not end in time."""
        with self._lock:
            known = self._known.setdefault(task.source, _Once(partial(self._find, task)))
        return known()

    def close(self) -> None:
        """End the runners that wait."""
        self._end_all_but(0)

    def _find(self, task: Task) -> Sizes:
        reply = self._ask(task, "tiny")
        tiny = _read(task, reply["tiny"])
        dry.tell(task.source, reply.get("dry") is True)
        return Sizes(tiny, _Once(partial(self._find_large, task, tiny)))

    def _find_large(self, task: Task, tiny: scaling.Scaled) -> Large:
        reply = self._ask(task, "large")
        full = _read(task, reply["full"])
        long = tuple(_read(task, row) for row in _list(reply["long"]))
        apart = tuple(_read(task, row) for row in _list(reply["apart"]))
        rest = tuple(_read(task, row) for row in _list(reply["rest"]))
        light, room = partial(self._find_light, task, full), partial(self._find_room, task, tiny)
        hard = frozenset(map(str, _list(reply["hard"])))
        found = Large(full, _Once(light), hard, _Once(room), long, rest, apart)
        known: dict[int, _Once[Large]] = {}

        def other(bound: int) -> Large:
            return known.setdefault(bound, _Once(partial(self._find_beside, task, found, bound)))()

        return replace(found, other=other)

    def _find_light(self, task: Task, full: scaling.Scaled) -> scaling.Scaled:
        return _read(task, self._ask(task, "light", full)["light"])

    def _find_beside(self, task: Task, found: Large, bound: int) -> Large:
        reply = self._ask(task, "beside", found.full, bound)
        long, rest = (tuple(_read(task, row) for row in _list(reply[which])) for which in ("long", "rest"))
        return replace(found, long=long, rest=rest, bound=bound)

    def _find_room(self, task: Task, tiny: scaling.Scaled) -> tuple[scaling.Scaled, ...]:
        found = [_read(task, row) for row in _list(self._ask(task, "room")["room"])]
        return tuple(one for one in found if one.task.source != tiny.task.source)

    def _ask(
        self, task: Task, which: str, full: scaling.Scaled | None = None, bound: int = lengths.LEAST
    ) -> dict[str, object]:
        """What a runner that meets no other task finds of this one; some sizes are found beside the full ones."""
        header = {"do": "sizes", "which": which, "id": task.id, "source": task.source, "whole": self._whole}
        header["bound"] = bound
        header["full"] = _write(full) if full is not None else None
        known = self._waiting_for(task)
        try:
            reply = self._answered(task, known or self._start(), header)
        except wire.Closed as error:
            if known is None:
                raise _Passing(f"task {task.id}: its reference ended the process it ran in") from error
            return self._ask(task, which, full, bound)  # it may have ended while it waited
        if isinstance(error := reply.get("error"), dict):
            raise TaskError(str(error.get("message")))
        return reply

    def _waiting_for(self, task: Task) -> Runner | None:
        """A runner that knows the task or, where enough wait, the one that has waited longest."""
        with self._lock:
            known, worn = self._waiting.pop(task.source, None), None
            if known is None and len(self._waiting) >= self._most:
                _, known = self._waiting.popitem(last=False)
                self._tasks[known.pid] += 1
                if self._tasks[known.pid] > _TASKS:
                    known, worn = None, known
        if worn is not None:
            self._end(worn)
        return known

    def _start(self) -> Runner:
        self._zygote.wait_until_warm()
        runner = self._zygote.start(runner_limits(self._settings, len(_QUESTIONS) * self._limit, None))
        with self._lock:
            self._tasks[runner.pid] = 1
        return runner

    def _end(self, runner: Runner) -> None:
        with self._lock:
            self._tasks.pop(runner.pid, None)
        self._zygote.end(runner)

    def _answered(self, task: Task, runner: Runner, header: Mapping[str, object]) -> dict[str, object]:
        """A runner's answer, after which it waits; one that gave none is ended."""
        deadline, answered = time.monotonic() + self._limit, False
        try:
            wire.send(runner.channel, header, None, deadline)
            reply, _ = wire.receive(runner.channel, deadline, 0)
            answered = "error" not in reply
        except wire.WireTimeout as error:
            raise _Passing(f"task {task.id}: its reference does not end within {self._limit:g} s") from error
        except wire.Closed:
            raise
        except wire.WireError as error:
            raise TaskError(f"task {task.id}: its reference ended the process it ran in") from error
        finally:
            if not answered:
                self._end(runner)
        if not answered:
            return reply
        with self._lock:
            other = self._waiting.pop(task.source, None)  # of another question that was asked meanwhile
            self._waiting[task.source] = runner
        if other is not None:
            self._end(other)
        self._end_all_but(self._most)
        return reply

    def _end_all_but(self, most: int) -> None:
        """End the runners that have waited longest."""
        while True:
            with self._lock:
                if len(self._waiting) <= most:
                    return
                _, runner = self._waiting.popitem(last=False)
            self._end(runner)


def answer(header: dict[str, object], _: wire.Tree) -> tuple[dict[str, object], None]:
    """The runner's side: find `which` sizes of the task in `header`, one of `_QUESTIONS`."""
    task = Task(id=str(header["id"]), level=1, source=str(header["source"]))
    match header["which"]:
        case "tiny":
            return {"tiny": _write(scaling.tiny(task)), "dry": dry.runs_without_data(task)}, None
        case "light":
            bound = scaling.LIGHT_ON_GPU if header["whole"] else scaling.LIGHT
            return {"light": _write(scaling.light(task, _read(task, header["full"]), bound))}, None
        case "room":
            return {"room": [_write(one) for one in scaling.roomy(task)]}, None
        case "beside":
            return _long(task, _read(task, header["full"]), int(str(header["bound"])), lengths.DESCRIBED), None
    return _large(task, bool(header["whole"])), None


def _large(task: Task, whole: bool) -> dict[str, object]:
    from tritonsmith.verify import vet

    try:
        full = scaling.full(task)
    except TaskError:
        if not whole:
            raise
        full = None  # a GPU bears what the interpreter does not
    hard = vet.hardening(full.task) if full is not None else frozenset()
    if full is None or whole:
        full = scaling.Scaled(task, None, "as given")
    apart = [_write(one) for one in lengths.apart(task, full)]
    return {"full": _write(full), "hard": sorted(hard), "apart": apart, **_long(task, full)}


def _long(task: Task, full: scaling.Scaled, bound: int = lengths.LEAST, step: int = 1) -> dict[str, object]:
    """Versions with long sizes, and one with a rest; see `lengths` for `bound` and `step`."""
    long = lengths.lengths(task, full, bound)
    cut = full if full.cap is not None else scaling.Scaled(task, _LONG, "")
    parts = [one.task for one in long] if full.cap is not None else [task]
    rests = (lengths.with_a_rest(task, cut, part, step) for part in parts)
    rest = [_write(scaling.Scaled(one, cut.cap, "")) for one in rests if one is not None][:1]
    return {"long": [_write(one) for one in long], "rest": rest}


def _write(scaled: scaling.Scaled) -> dict[str, object]:
    return {"source": scaled.task.source, "cap": scaled.cap, "shapes": scaled.shapes}


def _read(task: Task, row: object) -> scaling.Scaled:
    if not isinstance(row, Mapping):
        raise TaskError(f"task {task.id}: its reference disturbed the process it ran in")
    cap = row["cap"]
    sized = task.model_copy(update={"source": str(row["source"])})
    return scaling.Scaled(sized, cap if isinstance(cap, int) else None, str(row["shapes"]))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
