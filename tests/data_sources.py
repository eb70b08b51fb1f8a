"""Sources of answers for the tests of `data build`: an honest one, and one that does everything that sources may do.

Worker processes import them by name, so they live in a file of their own.
"""

import os
import time

from tritonsmith.data.lower import convert
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.types import Task


def honest(task: Task) -> Pair | Miss:
    """Our own lowering."""
    return convert(task)


def hostile(task: Task) -> Pair | Miss:
    """By the task's name: dies, hangs, raises, misses, gives a wrong answer, or a right one."""
    if task.id.endswith("dies"):
        os._exit(3)
    if task.id.endswith("hangs"):
        time.sleep(600)
    if task.id.endswith("raises"):
        raise ZeroDivisionError("a bug of its own")
    if task.id.endswith("misses"):
        return Miss("not for me")
    pair = honest_double()
    return Pair(pair.plan, pair.source.replace("2.0 *", "2.5 *")) if task.id.endswith("wrong") else pair


def honest_double() -> Pair:
    """The answer to `judging.DOUBLE`."""
    from judging import double

    return Pair("Double each element.", double())
