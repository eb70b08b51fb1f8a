"""How many processors there are for this process. Does not know of a container's quota of time, only of its set."""

import os


def cores() -> int:
    """Processors that this process may run on, 1 at least.

    `os.cpu_count` gives all of the machine's: under `taskset` or Slurm, one worker for each of those would starve the
    others.
    """
    return len(os.sched_getaffinity(0))
