"""Judges that are threads of this process, and the zygotes they rest on: a judge for each GPU, or one for the CPU.

A crew is never mended. When one of its zygotes has died, a new crew takes over the zygotes that live; candidates
under way on the old one see their runners dead. Does not know what is under way: that is `court`'s.
"""

import contextlib
import threading
from collections.abc import Collection, Iterator, Sequence

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Task
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.process.gpu import Part, Use
from tritonsmith.verify.process.zygote import Zygote


class Crew:
    """Zygotes by mode, and judges; candidates go to the judge that has the fewest."""

    def __init__(
        self,
        settings: VerifyConfig,
        extensions: ExtensionsConfig,
        device: str,
        parts: Sequence[Part],
        before: "Crew | None" = None,
    ) -> None:
        """Start what `before` has no living one of; `parts` are this process's parts of the GPUs it sees."""
        self._settings, self._extensions, self._device = settings, extensions, device
        self._parts = parts if before is None else before._parts
        alive = {} if before is None else {mode: one for mode, one in before.zygotes.items() if one.alive()}
        compiling = alive.get("capture") or Zygote(interpret=False)
        self.zygotes: dict[str, Zygote] = {"capture": compiling, "cuda": compiling}
        if device == "cpu":
            self.zygotes["interpret"] = alive.get("interpret") or Zygote(interpret=True)
        self._judges = [
            Judge(settings, extensions, device, self.zygotes, gpu=index, part=part)
            for index, part in enumerate(self._parts or [None])
        ]
        self._busy = [0] * len(self._judges)
        self._lock = threading.Lock()

    @property
    def members(self) -> Collection[Zygote]:
        """The zygotes."""
        return frozenset(self.zygotes.values())

    def alive(self, patience: float = 0.0) -> bool:
        """Whether all zygotes live; one that is about to end has `patience` seconds for it."""
        return all(zygote.alive(patience) for zygote in self.zygotes.values())

    def renewed(self) -> "Crew":
        """A crew to go on with: this one's living zygotes, new ones for the dead, and new judges."""
        crew = Crew(self._settings, self._extensions, self._device, self._parts, before=self)
        self._close_judges()
        for zygote in set(self.members) - set(crew.members):
            zygote.kill()
        return crew

    @contextlib.contextmanager
    def judge(self, task: Task) -> Iterator[Judge]:
        """The least busy judge, for one candidate."""
        with self._lock:
            place = self._busy.index(min(self._busy))
            self._busy[place] += 1
        try:
            yield self._judges[place]
        finally:
            with self._lock:
                self._busy[place] -= 1

    def use(self) -> Use:
        """How this crew used its GPUs."""
        return sum((judge.use for judge in self._judges), Use())

    def kill(self) -> None:
        """End all zygotes, and with them all runners; threads that judge find out."""
        for zygote in self.members:
            zygote.kill()

    def close(self, keep: Collection[object] = ()) -> None:
        """End everything but the zygotes that others own, when no candidate is under way."""
        self._close_judges()
        for zygote in set(self.members) - set(keep):
            zygote.close()

    def _close_judges(self) -> None:
        for judge in self._judges:
            # Of runners that were about to start when their zygote died.
            with contextlib.suppress(ConnectionError):
                judge.close()
