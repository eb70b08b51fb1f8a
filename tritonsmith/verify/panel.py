"""Judges that are processes: each with zygotes, threads and a part of the GPUs of its own.

Threads of one process wait for each other: for the interpreter's lock, which torch gives up and takes again at every
operator, and for one CUDA context. A process starts when there is work for it. Candidates for one task go to the same
process while it has room, for they share what is drawn there (`material`). Like a crew, a panel is never mended: when
a process has died, a new panel takes over those that live. What a process does is `apart`'s.
"""

import contextlib
import threading
from collections.abc import Collection, Iterator, Sequence

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.apart import Apart, Order, Place
from tritonsmith.verify.process.gpu import Use


class Panel:
    """Judge processes by place; they may serve several panels, each with settings of its own."""

    def __init__(
        self,
        settings: VerifyConfig,
        extensions: ExtensionsConfig,
        device: str,
        places: Sequence[Place],
        before: "Panel | None" = None,
    ) -> None:
        """`places`: what each process has of this machine; those of `before`, and its living processes, where given."""
        self._settings, self._extensions, self._device = settings, extensions, device
        self._places = list(places if before is None else before._places)
        self._order = Order(settings, extensions, device)
        self._processes: list[Apart | None] = [None] * len(self._places)
        if before is not None:
            self._processes = [one if one is not None and one.alive() else None for one in before._processes]
        self._lock = threading.Lock()
        self._over = False
        """Whether another panel has taken over."""

    @property
    def members(self) -> Collection[Apart]:
        """The processes that have started."""
        return frozenset(one for one in self._processes if one is not None)

    def alive(self, patience: float = 0.0) -> bool:
        """Whether all that have started live; whoever talks with one that dies knows it at once, without `patience`."""
        return all(process.alive() for process in self.members)

    def renewed(self) -> "Panel":
        """A panel to go on with: this one's living processes; those in place of the dead start when needed."""
        with self._lock:
            self._over = True
        panel = Panel(self._settings, self._extensions, self._device, self._places, before=self)
        for process in set(self.members) - set(panel.members):
            process.kill()
        return panel

    @contextlib.contextmanager
    def judge(self, task: Task) -> Iterator["_Seat"]:
        """A seat in the process that has the task's other candidates, or in the least busy one where that is full."""
        with contextlib.ExitStack() as inside:
            with self._lock:
                if self._over:  # what it started now would be nobody's
                    raise ConnectionError("another panel has taken over")
                place = hash(task.source) % len(self._places)
                if self._free(place) <= 0:
                    place = max(range(len(self._places)), key=self._free)
                process = self._processes[place] = self._processes[place] or Apart(self._places[place], self._order)
                inside.enter_context(process.engaged())
            yield _Seat(process, self._order)

    def use(self) -> Use:
        """How the processes used their GPUs."""
        return sum((process.use() for process in self.members), Use())

    def kill(self) -> None:
        """End the processes that judge a candidate."""
        for process in self.members:
            if process.busy:
                process.kill()

    def close(self, keep: Collection[object] = ()) -> None:
        """End all processes but those that others own, when no candidate is under way."""
        own = [process for process in self.members if process not in keep]
        for process in set(self.members) - set(own):
            process.forget(self._order)
        for process in own:
            process.hang_up()
        for process in own:
            process.close()

    def _free(self, place: int) -> int:
        process = self._processes[place]
        return self._places[place].seats - (process.busy if process is not None else 0)


class _Seat:
    """One candidate's place in a process."""

    def __init__(self, process: Apart, order: Order) -> None:
        self._process, self._order = process, order

    def judge(self, task: Task, candidate: Candidate, began: float | None = None) -> Verdict:
        """The process's verdict; raises OSError where it dies."""
        return self._process.judge(self._order, task, candidate, began)
