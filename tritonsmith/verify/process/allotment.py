"""Equal parts of one thing, of which each takes as many as it needs, in whatever threads and processes.

A part is a locked file, as in `turnstile`, so what a process held is free again whatever it died of. Who needs many
parts collects them as they come free, one at a time and in turn, so that those who need few starve nobody; who waits
looks again every few milliseconds. Does not know what is divided: see `gpu`.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tritonsmith.verify.process.turnstile import held

_PAUSE = 0.004
"""Seconds between two looks at what has come free."""


class Allotment:
    """One thing in parts; all allotments on one folder are the same one."""

    def __init__(self, folder: Path, parts: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._gate = folder / "gate"
        self._parts = [folder / f"{number:03d}" for number in range(parts)]

    @contextmanager
    def taken(self, count: int) -> Iterator[None]:
        """Have so many parts, at most all; who has some may not ask for more."""
        with ExitStack() as inside:
            with held(self._gate, fcntl.LOCK_EX):
                missing, others = min(count, len(self._parts)), set(self._parts)
                while missing:
                    for part in sorted(others):
                        if missing and _entered(inside, part):
                            others.remove(part)
                            missing -= 1
                    if missing:
                        time.sleep(_PAUSE)
            yield


def _entered(inside: ExitStack, part: Path) -> bool:
    """Whether a part was free, and is held now."""
    try:
        inside.enter_context(held(part, fcntl.LOCK_EX | fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
