"""Processes that compile kernels for runners, as the judge sees them: started when needed, replaced when they die.

What they are given is a candidate's, and is data to them; what they give back stands for every candidate that asks
for the same. So none of them ever has a candidate's Python in it, and none of what runners compiled is kept.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from tritonsmith.verify.process import scratch, wire
from tritonsmith.verify.process.backend import allowed
from tritonsmith.verify.process.zygote import Runner, Zygote
from tritonsmith.verify.sandbox import Limits

MOST = 500
"""Kernels after which a process is replaced: compilers keep a little of each."""


class Compilers:
    """As many processes as are asked at once; usable from several threads."""

    def __init__(self, zygote: Zygote, limits: Callable[[Path], Limits], kept: Path, arch: int) -> None:
        """`kept`: the folder of what was compiled, which several judges may share; `arch`: the compute capability."""
        self._zygote, self._limits, self._kept, self._arch = zygote, limits, kept, arch
        self._lock = threading.Lock()
        self._idle: list[Runner] = []
        self._closed = False
        self.kernels = self.known = 0
        """Kernels that were compiled, and those of them that had been before."""
        kept.mkdir(parents=True, exist_ok=True)

    def answer(self, wanted: object, deadline: float) -> dict[str, object]:
        """What a runner is told that wants a kernel compiled before `deadline` (time.monotonic seconds).

        That is nothing where it asks for no such thing, or none comes of it: it then compiles by itself.
        """
        if not isinstance(wanted, Mapping) or not isinstance(text := wanted.get("ttir"), str):
            return {}
        if not isinstance(options := wanted.get("options"), Mapping) or not allowed(options):
            return {}
        header = {"do": "lower", "ttir": text, "options": dict(options), "kept": str(self._kept), "arch": self._arch}
        runner = self._take()
        try:
            wire.send(runner.channel, header, None, deadline)
            reply, _ = wire.receive(runner.channel, deadline, 0)
        except wire.WireError:
            self._zygote.end(runner)
            return {}
        self._give_back(runner)
        if "error" in reply:
            return {}
        with self._lock:
            self.kernels += 1
            self.known += reply.get("known") is True
        return reply

    def close(self) -> None:
        """End those that wait, and those that are given back from here on."""
        with self._lock:
            self._closed = True
            waiting, self._idle = self._idle, []
        for runner in waiting:
            self._zygote.end(runner)

    def _take(self) -> Runner:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        folder = scratch.new()
        return self._zygote.start(self._limits(folder), folder)

    def _give_back(self, runner: Runner) -> None:
        runner.served += 1
        with self._lock:
            waits = runner.served < MOST and not self._closed
            if waits:
                self._idle.append(runner)
        if not waits:
            self._zygote.end(runner)
