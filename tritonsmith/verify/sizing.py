"""Finds out about a task, under a time limit, what its candidates need: sizes, and variants that harden it.

Each is found once and when it is asked for: most candidates in training are wrong at the tiny size already.

A task is the user's own code, but it may hang or ask for all memory; so it is first run in a sandboxed runner of its
own, which never meets a candidate. What it answers are sources, shapes and labels. Afterwards the judge itself
runs the task, at sizes that were seen to end in time.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from tritonsmith.config import VerifyConfig
from tritonsmith.tasks import lengths, scaling
from tritonsmith.tasks.format import TaskError
from tritonsmith.types import Task
from tritonsmith.verify import wire
from tritonsmith.verify.limits import runner_limits
from tritonsmith.verify.zygote import Zygote

LIMIT = 30.0
"""Seconds that a task may take until its sizes are known; the suite's take 0.1."""


@dataclass(frozen=True)
class Large:
    """The sizes beyond the tiny one: for candidates that were right there."""

    full: scaling.Scaled
    light: scaling.Scaled
    """For variants that change values and not sizes."""
    hardening: frozenset[str]
    """Labels of the variants that a task needs because a null control passes it as given; see `vet`."""
    room: scaling.Scaled | None = None
    """The smallest size at which kernels find room for their tiles, where it is another one than the tiny one."""
    long: tuple[scaling.Scaled, ...] = ()
    """Small ones in which one size is the task's own; see `lengths`."""
    apart: tuple[scaling.Scaled, ...] = ()
    """Small ones in which sizes stand to each other as in the task; see `lengths`."""


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
        if (room := found.room) is None:
            return None
        wide = found.full.cap is None or room.cap is None or found.full.cap >= room.cap
        full = found.full if wide else room
        return Sizes(room, lambda: Large(full, full, found.hardening, long=found.long, apart=found.apart))


T = TypeVar("T")


class _Once(Generic[T]):
    """What is found at the first call, or why it cannot be; others wait meanwhile."""

    def __init__(self, find: Callable[[], T]) -> None:
        self._find, self._lock = find, threading.Lock()
        self._found: list[T] = []
        self._error: str | None = None

    def __call__(self) -> T:
        with self._lock:
            if not self._found and self._error is None:
                try:
                    self._found.append(self._find())
                except TaskError as error:
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
        self._lock = threading.Lock()

    def of(self, task: Task) -> Sizes:
        """A task's sizes; raises TaskError where it has none, or does not end in time."""
        with self._lock:
            known = self._known.setdefault(task.source, _Once(partial(self._find, task)))
        return known()

    def _find(self, task: Task) -> Sizes:
        tiny = _read(task, self._ask(task, "tiny")["tiny"])
        return Sizes(tiny, _Once(partial(self._find_large, task, tiny)))

    def _find_large(self, task: Task, tiny: scaling.Scaled) -> Large:
        reply = self._ask(task, "large")
        full, light = (_read(task, reply[name]) for name in ("full", "light"))
        room = _read(task, reply["room"]) if reply.get("room") else None
        room = None if room is not None and room.task.source == tiny.task.source else room
        long = tuple(_read(task, row) for row in _list(reply["long"]))
        apart = tuple(_read(task, row) for row in _list(reply["apart"]))
        return Large(full, light, frozenset(map(str, _list(reply["hard"]))), room, long, apart)

    def _ask(self, task: Task, which: str) -> dict[str, object]:
        """What a runner of its own finds of a task."""
        self._zygote.wait_until_warm()
        runner = self._zygote.start(runner_limits(self._settings, self._limit, None))
        deadline = time.monotonic() + self._limit
        header = {"do": "sizes", "which": which, "id": task.id, "source": task.source, "whole": self._whole}
        try:
            wire.send(runner.channel, header, None, deadline)
            reply, _ = wire.receive(runner.channel, deadline, 0)
        except wire.WireTimeout as error:
            raise TaskError(f"task {task.id}: its reference does not end within {self._limit:g} s") from error
        except wire.WireError as error:
            raise TaskError(f"task {task.id}: its reference ended the process it ran in") from error
        finally:
            self._zygote.end(runner)
        if isinstance(error := reply.get("error"), dict):
            raise TaskError(str(error.get("message")))
        return reply


def answer(header: dict[str, object], _: wire.Tree) -> tuple[dict[str, object], None]:
    """The runner's side: find `which` sizes of the task in `header`, `tiny` or `large`."""
    task = Task(id=str(header["id"]), level=1, source=str(header["source"]))
    if header["which"] == "tiny":
        return {"tiny": _write(scaling.tiny(task))}, None
    from tritonsmith.verify import vet

    try:
        full = scaling.full(task)
    except TaskError:
        if not header["whole"]:
            raise
        full = None  # a GPU bears what the interpreter does not
    hard = vet.hardening(full.task) if full is not None else frozenset()
    if full is None or header["whole"]:
        full = scaling.Scaled(task, None, "as given")
    light = scaling.light(task, full, scaling.LIGHT_ON_GPU if header["whole"] else scaling.LIGHT)
    room = scaling.roomy(task)
    found: dict[str, object] = {"full": _write(full), "light": _write(light)}
    if room is not None:
        found["room"] = _write(room)
    long = [_write(one) for one in lengths.lengths(task, full)]
    apart = [_write(one) for one in lengths.apart(task, full)]
    return {**found, "hard": sorted(hard), "long": long, "apart": apart}, None


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
