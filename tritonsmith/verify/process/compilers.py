"""Processes that compile kernels for runners, as the judge sees them: started when needed, replaced when they die.

What they are given is a candidate's, and is data to them; what they give back stands for every candidate that asks
for the same. So none of them ever has a candidate's Python in it, none of what runners compiled is kept, and what is
kept the judge alone writes, by the text that it handed on.
"""

import fcntl
import hashlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tritonsmith.verify.process import scratch, wire
from tritonsmith.verify.process.backend import allowed
from tritonsmith.verify.process.queued import Stopwatch
from tritonsmith.verify.process.turnstile import held
from tritonsmith.verify.process.zygote import Runner, Zygote
from tritonsmith.verify.sandbox import Limits

MOST = 500
"""Kernels after which a process is replaced: compilers keep a little of each."""
_BYTES = 1 << 30
"""Answers that are kept, about, by each judge; a kernel takes some 40 KB."""


_PATIENCE, _PAUSE = 5.0, 0.004
"""Seconds for which who wants what another one has compiled waits for it, and between two looks; most take a third of
one, and one that has no end must not keep many waiting."""


class Compilers:
    """As many processes as are asked at once; usable from several threads."""

    def __init__(
        self, zygote: Zygote, limits: Callable[[Path], Limits], kept: Path, arch: int, most: int = _BYTES
    ) -> None:
        """`kept`: the folder of what was compiled, which several judges may share, and `most` how many bytes of it this
        one has there, about; `arch`: the compute capability."""
        self._zygote, self._limits, self._arch = zygote, limits, arch
        self._kept, self._most, self._written = kept, most, 0
        self._lock = threading.Lock()
        self._idle: list[Runner] = []
        self._closed = False
        self.kernels = self.known = 0
        """Kernels that were compiled, and those of them that had been before."""
        kept.mkdir(parents=True, exist_ok=True)

    def answer(self, wanted: object, deadline: float) -> tuple[dict[str, object], float]:
        """What a runner is told that wants a kernel compiled before `deadline` (time.monotonic seconds), and for how
        many seconds it waited for others.

        It is told nothing where it asks for no such thing, or none comes of it: it then compiles by itself.
        """
        if not isinstance(wanted, Mapping) or not isinstance(text := wanted.get("ttir"), str):
            return {}, 0.0
        if not isinstance(options := wanted.get("options"), Mapping) or not allowed(options):
            return {}, 0.0
        asked = {"ttir": text, "options": dict(options), "arch": self._arch}
        path = self._kept / hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        reply, waited = _read(path), 0.0
        known = reply is not None
        if reply is None:
            # The samples of one prompt come together, and so do the kernels that are the same.
            with _first(path.with_suffix(".lock"), min(deadline, time.monotonic() + _PATIENCE)):
                reply = _read(path)
                known = reply is not None
                if reply is None:
                    reply, waited = self._compiled(asked, deadline)
                    if reply:
                        self._keep(path, reply)
        with self._lock:
            self.kernels += bool(reply)
            self.known += known
        return reply, waited

    def close(self) -> None:
        """End those that wait, and those that are given back from here on."""
        with self._lock:
            self._closed = True
            waiting, self._idle = self._idle, []
        for runner in waiting:
            self._zygote.end(runner)

    def _compiled(self, asked: dict[str, object], deadline: float) -> tuple[dict[str, object], float]:
        began = time.monotonic()
        runner = self._take()
        watch = Stopwatch(runner.pid)
        try:
            wire.send(runner.channel, {"do": "lower", **asked}, None, deadline)
            reply, _ = wire.receive(runner.channel, deadline, 0)
        except wire.WireError:
            self._zygote.end(runner)
            return {}, 0.0
        waited = time.monotonic() - began - watch.spent()
        self._give_back(runner)
        return ({} if "error" in reply else reply), waited

    def _keep(self, path: Path, reply: dict[str, object]) -> None:
        text = json.dumps(reply)
        with tempfile.NamedTemporaryFile("w", dir=scratch.root(), delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
        with self._lock:
            self._written += len(text)
            full = self._written > self._most
            self._written = 0 if full else self._written
        if full:
            _halve(self._kept, self._most)

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


@contextmanager
def _first(lock: Path, until: float) -> Iterator[None]:
    """Have a lock, or go on without at a time (time.monotonic seconds)."""
    with ExitStack() as inside:
        while time.monotonic() < until:
            try:
                inside.enter_context(held(lock, fcntl.LOCK_EX | fcntl.LOCK_NB))
                break
            except BlockingIOError:
                time.sleep(_PAUSE)
        yield


def _read(path: Path) -> dict[str, object] | None:
    try:
        reply: dict[str, object] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return reply


def _halve(folder: Path, most: int) -> None:
    """Remove the oldest files until the rest is half as large as `most`; others may do so, too."""
    found: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        try:
            state = path.stat()
        except FileNotFoundError:
            continue
        found.append((state.st_mtime, state.st_size, path))
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= most / 2:
            break
        path.unlink(missing_ok=True)
        left -= size
