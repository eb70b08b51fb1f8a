"""How long a process was ready to run while others had the processors: time that is not its own.

A limit in wall time refuses more on a busy machine, one in processor time never ends who sleeps. Of the process's
first thread, where the kernel counts it (`/proc/PID/schedstat`, the second number; proc(5) and the kernel's
sched-stats.rst); nothing elsewhere.
"""

import time
from pathlib import Path

PATIENCE = 4.0
"""At least one second of so many counts, whatever the kernel says: threads can keep their own first one waiting."""


class Stopwatch:
    """Counts the seconds of a process from now on, less those for which it waited for a processor."""

    def __init__(self, pid: int) -> None:
        self._pid, self._began = pid, time.monotonic()
        self._queued = queued(pid)
        self._excused = 0.0

    def spent(self) -> float:
        """The seconds until now."""
        wall, waited = time.monotonic() - self._began - self._excused, queued(self._pid)
        if waited is None or self._queued is None:  # it is gone, or nobody counts
            return wall
        return max(wall - (waited - self._queued), wall / PATIENCE)

    def excuse(self, seconds: float) -> None:
        """Do not count so many of the seconds until now: the process waited for others, on whom it had no hold."""
        self._excused += seconds


def queued(pid: int) -> float | None:
    """Seconds for which a process's first thread has waited for a processor; None where nobody tells."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return None
