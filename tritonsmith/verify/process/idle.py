"""Runners on the CPU that have served a candidate and may serve another, under `isolation = "pooled"`.

A candidate's two forks cost some twelve thousand pages that are copied as they are touched, and what torch and Triton
prepare at their first calls. Whether a runner was left as it was is asked by `conversation`. Of a GPU's see `stable`.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping

from tritonsmith.verify.process.zygote import Runner, Zygote

MOST = 25
"""Candidates after which a runner is replaced: what libraries keep of each counts against its memory."""


class Idle:
    """Those that wait, by mode; usable from several threads."""

    def __init__(self, zygotes: Mapping[str, Zygote]) -> None:
        self._zygotes = zygotes
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Runner]] = defaultdict(list)
        self._closed = False

    def take(self, mode: str) -> Runner | None:
        """One that waits; None where none does."""
        with self._lock:
            return self._waiting[mode].pop() if self._waiting[mode] else None

    def give_back(self, mode: str, runner: Runner) -> None:
        """Let one wait that has served another candidate, or end it where those were enough."""
        runner.served += 1
        with self._lock:
            waits = runner.served < MOST and not self._closed
            if waits:
                self._waiting[mode].append(runner)
        if not waits:
            self._zygotes[mode].end(runner)

    def close(self) -> None:
        """End those that wait, and those that are given back from here on."""
        with self._lock:
            self._closed = True
            for mode, waiting in self._waiting.items():
                for runner in waiting:
                    self._zygotes[mode].end(runner)
            self._waiting.clear()
