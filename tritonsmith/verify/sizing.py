"""Finds out about a task, once and under a time limit, what its candidates need: sizes, and variants that harden it.

A task is the user's own code, but it may hang or ask for all memory; so it is first run in a sandboxed runner of its
own, which never meets a candidate. What it answers are sources, shapes and labels. Afterwards the judge itself
runs the task, at sizes that were seen to end in time.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

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
class Sizes:
    """The sizes a task is tried at."""

    tiny: scaling.Scaled
    full: scaling.Scaled
    light: scaling.Scaled
    """For variants that change values and not sizes."""
    hardening: frozenset[str]
    """Labels of the variants that a task needs because a null control passes it as given; see `vet`."""
    room: scaling.Scaled | None = None
    """The smallest size at which kernels find room for their tiles, where it is another one than the tiny one."""
    long: tuple[scaling.Scaled, ...] = ()
    """Small ones in which one size is the task's own; see `lengths`."""

    @property
    def roomy(self) -> "Sizes | None":
        """The sizes for a candidate that turns the tiny one down; None where there are no others."""
        if self.room is None:
            return None
        wide = self.full.cap is None or self.room.cap is None or self.full.cap >= self.room.cap
        full = self.full if wide else self.room
        return Sizes(self.room, full, full, self.hardening, long=self.long)


@dataclass
class _Known:
    lock: threading.Lock = field(default_factory=threading.Lock)
    sizes: Sizes | None = None
    error: str | None = None


class Sizing:
    """Sizes by source; each is found once, and a task that hangs holds up its own candidates alone."""

    def __init__(self, zygote: Zygote, settings: VerifyConfig, whole: bool, limit: float = LIMIT) -> None:
        """`whole`: the full size is the task as it is, as on a GPU, and not what the interpreter bears."""
        self._zygote, self._settings, self._whole, self._limit = zygote, settings, whole, limit
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def of(self, task: Task) -> Sizes:
        """A task's sizes; raises TaskError where it has none, or does not end in time."""
        with self._lock:
            known = self._known.setdefault(task.source, _Known())
        with known.lock:
            if known.sizes is None and known.error is None:
                try:
                    known.sizes = self._find(task)
                except TaskError as error:
                    known.error = str(error)
            if known.sizes is None:
                raise TaskError(known.error or "")
            return known.sizes

    def _find(self, task: Task) -> Sizes:
        self._zygote.wait_until_warm()
        runner = self._zygote.start(runner_limits(self._settings, self._limit, None))
        deadline = time.monotonic() + self._limit
        header = {"do": "sizes", "id": task.id, "source": task.source, "whole": self._whole}
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
        tiny, full, light = (_read(task, reply[name]) for name in ("tiny", "full", "light"))
        room = _read(task, reply["room"]) if reply.get("room") else None
        long = tuple(_read(task, row) for row in _list(reply["long"]))
        return Sizes(tiny, full, light, frozenset(map(str, _list(reply["hard"]))), room, long)


def answer(header: dict[str, object], _: wire.Tree) -> tuple[dict[str, object], None]:
    """The runner's side: find the sizes of the task in `header`."""
    from tritonsmith.verify import vet

    task = Task(id=str(header["id"]), level=1, source=str(header["source"]))
    small = scaling.tiny(task)
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
    found: dict[str, object] = {"tiny": _write(small), "full": _write(full), "light": _write(light)}
    if room is not None and room.task.source != small.task.source:
        found["room"] = _write(room)
    long = [_write(one) for one in lengths.lengths(task, full)]
    return {**found, "hard": sorted(hard), "long": long}, None


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
