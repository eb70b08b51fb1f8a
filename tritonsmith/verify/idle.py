"""Runners on the CPU that have served a candidate and may serve another, under `isolation = "pooled"`.

A candidate's two forks cost some twelve thousand pages that are copied as they are touched, and what torch and Triton
prepare at their first calls. Whether a runner was left as it was is asked by `conversation`. Of a GPU's see `stable`.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from tritonsmith.verify.zygote import Runner, Zygote

MOST = 25
"""Candidates after which a runner is replaced: what libraries keep of each counts against its memory."""


@dataclass
class Served:
    """A runner, and how many candidates it has served."""

    runner: Runner
    candidates: int = 0


class Idle:
    """Those that wait, by mode; usable from several threads."""

    def __init__(self, zygotes: Mapping[str, Zygote]) -> None:
        self._zygotes = zygotes
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Served]] = defaultdict(list)

    def take(self, mode: str) -> Served | None:
        """One that waits; None where none does."""
        with self._lock:
            return self._waiting[mode].pop() if self._waiting[mode] else None

    def give_back(self, mode: str, served: Served) -> None:
        """Let one wait that has served another candidate, or end it where those were enough."""
        served.candidates += 1
        if served.candidates >= MOST:
            self._zygotes[mode].end(served.runner)
            return
        with self._lock:
            self._waiting[mode].append(served)

    def close(self) -> None:
        """End those that wait."""
        with self._lock:
            for mode, waiting in self._waiting.items():
                for served in waiting:
                    self._zygotes[mode].end(served.runner)
            self._waiting.clear()
