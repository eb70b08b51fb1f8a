"""Judges a candidate come what may: what dies meanwhile is replaced, and what it took with it is judged again, once.

Those who judge are threads of this process (`crew`) or processes (`panel`). Does not know other candidates: see `pool`.
"""

import threading
from collections.abc import Collection
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from typing import Protocol

from tritonsmith.config import VerifyConfig
from tritonsmith.types import Candidate, Finding, Task, Verdict
from tritonsmith.verify import cache
from tritonsmith.verify.process.gpu import Use


class Seat(Protocol):
    """A judge's place for one candidate."""

    def judge(self, task: Task, candidate: Candidate, began: float | None = None) -> Verdict:
        """The verdict; raises RuntimeError or OSError where what it rests on has died."""
        ...


class Bench(Protocol):
    """Judges and the processes they rest on. It is never mended: when one of these has died, a new bench takes over
    those that live."""

    @property
    def members(self) -> Collection[object]:
        """The processes."""
        ...

    def alive(self, patience: float = 0.0) -> bool:
        """Whether all live; one that is about to end has `patience` seconds for it."""
        ...

    def renewed(self) -> "Bench":
        """A bench to go on with: the living of this one, and new ones for the dead."""
        ...

    def judge(self, task: Task) -> AbstractContextManager[Seat]:
        """A judge for one candidate."""
        ...

    def use(self) -> Use:
        """How GPUs were used so far."""
        ...

    def kill(self) -> None:
        """End what candidates under way rest on; threads that judge them find out."""
        ...

    def close(self, keep: Collection[object] = ()) -> None:
        """End everything but what others own, when no candidate is under way."""
        ...


class Court:
    """A bench that is always there; usable from several threads."""

    def __init__(self, settings: VerifyConfig, device: str, bench: Bench) -> None:
        self.bench = bench
        self._settings, self._device = settings, device
        self._renewing, self._retrying = threading.Lock(), threading.Lock()
        self._stops = 0
        """How often what was under way was ended."""

    def judge(
        self, task: Task, candidate: Candidate, began: float | None = None, stopped: threading.Event | None = None
    ) -> Verdict:
        """The verdict on one candidate; raises CancelledError where `stop` was called with its `stopped`."""
        stops, died = self._stops, 0
        verdict = self._try(task, candidate, began, stopped)
        while verdict is None:
            # Who leaves another stream ends these processes too, and that is no candidate's doing.
            died += stops == self._stops
            if died == 2:
                break
            # One at a time: if one of them brings processes down, those beside it are not taken for the culprit again.
            with self._retrying:
                stops = self._stops
                verdict = self._try(task, candidate, began, stopped)
        if verdict is not None:
            return verdict
        message = "a process of the verifier died twice while this candidate was judged"
        return Verdict(
            task=task.id,
            sample=candidate.sample,
            device="cuda" if self._device == "cuda" else "cpu",
            target=self._settings.target,
            policy=self._settings.policy,
            findings=[Finding(rule="crash", message=message)],
        )

    def _try(
        self, task: Task, candidate: Candidate, began: float | None, stopped: threading.Event | None
    ) -> Verdict | None:
        """A verdict, or None if a process has died meanwhile and that may be why there is none, or a bad one."""
        bench = self.living(stopped)
        try:
            with bench.judge(task) as judge:
                verdict = judge.judge(task, candidate, began)
        except (RuntimeError, OSError):
            if bench.alive(patience=1.0):
                raise
            return None
        suspect = any(finding.rule in cache.MACHINE for finding in verdict.findings)
        # For a moment, so that who is asking at the same time does not make a dead one look alive.
        return None if suspect and not bench.alive(patience=0.01) else verdict

    def living(self, stopped: threading.Event | None = None) -> Bench:
        """The bench, renewed if one of its processes has died; raises CancelledError for what has been stopped."""
        with self._renewing:
            if stopped is not None and stopped.is_set():
                raise CancelledError
            if not self.bench.alive():
                self.bench = self.bench.renewed()
            return self.bench

    def stop(self, stopped: threading.Event) -> None:
        """End what is under way; candidates that come with `stopped` are judged no more."""
        with self._renewing:
            stopped.set()
            self._stops += 1
            self.bench.kill()
