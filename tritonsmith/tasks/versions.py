"""A task's source at other sizes, in the order in which they are to be tried.

Sizes are brought below a cap by halving. What the model's code names as well stays where the task runs at no other
size. Where no cap on the constants gives a size that runs, all are divided alike, which keeps how they stand to each
other. Whether the reference runs at a size, and whether that is small enough, is `scaling`'s to find out.
"""

import itertools
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from tritonsmith.tasks.dry import emptied, given, input_sizes
from tritonsmith.tasks.format import TaskError
from tritonsmith.tasks.rescaling import named_by_the_model, rescale, sizes
from tritonsmith.types import Task

LIGHT_CAPS = (4096, 2048, 1024, 512)
FULL_CAPS = (256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4)
ROOMY_CAPS = (31, 63, 127, 255)
"""Halving down to these leaves 16 at least of what was 16 or more."""
TINY_CAPS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)
PAIR = 2
"""The batch of a network that the interpreter takes seconds for: a cap on that alone."""
DIVISORS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BATCH, TINY_BATCH = 32, 4
"""What a batch is brought down to where all other sizes are divided alike."""
_WINDOWS = range(5, 32, 2)
"""Odd numbers that are windows more often than sizes."""
SMALL = 8
"""Constants up to this are kernel sizes, strides and groups more often than sizes; divided sizes leave them alone."""


def shrink(value: int, cap: int) -> int:
    """The largest ceil(value / 2^k) that is at most `cap`; small and negative values stay.

    Dividing by powers of two keeps divisibility where it can: 512 over 8 groups becomes 64 over 8.
    """
    while value > cap:
        value = -(-value // 2)
    return value


def windows(source: str) -> frozenset[int]:
    """Small odd numbers that the constructor is given and no input has for a size. Who pads a window by half of it has
    an output of the input's size where it is odd, and another where it is even."""
    return frozenset(one for one in given(source)[1] if one in _WINDOWS) - input_sizes(source)


def smaller(value: int, cap: int, odd: Collection[int]) -> int:
    """`shrink`, but for what is in `odd`: that stays odd, and 3 at least, for a window of 1 is none."""
    return _kept_odd(shrink(value, cap), value in odd)


def _kept_odd(value: int, odd: bool) -> int:
    return max(value - 1, 3) if odd and value % 2 == 0 else value


def versions(task: Task, caps: Sequence[int], batch_first: bool) -> Iterator[tuple[str, int]]:
    """Sources at other sizes with the largest constant left, in the order in which they are to be tried.

    `batch_first`: those in which the batch alone is smaller come before the others.
    """
    try:
        named = named_by_the_model(task.source)
    except SyntaxError as error:
        raise TaskError(f"task {task.id} does not parse: {error}") from error
    batch, arguments = given(task.source)
    sizing = sizes(task)
    keeps = ((), named) if named else ((),)
    alone = [sizing - {batch}] if batch in sizing else []
    for keep in [*alone, *keeps, arguments] if batch_first else [*keeps, arguments, *alone]:
        yield from _capped(task, [cap for cap in caps if cap > PAIR or keep in alone], sizing, keep)
    yield from _divided_alike(task, sizing, batch, keeps, list(caps) == sorted(caps))


def _capped(
    task: Task, caps: Sequence[int], sizing: Collection[int], keep: Collection[int]
) -> Iterator[tuple[str, int]]:
    """Versions whose sizes are below a cap, but for those in `keep`."""
    odd = windows(task.source)
    for cap in caps:
        source = rescale(task.source, lambda value, cap=cap: smaller(value, cap, odd), keep)
        yield source, cap
        # Here if that was not taken: one of the sizes may only have to be a little larger than the others.
        if emptied(task.source, source):
            wider = [one for one in caps if one > max(cap, SMALL)]
            for size, larger in itertools.product(sorted({*sizing} - {*keep}, reverse=True), wider):
                if shrink(size, cap) < shrink(size, larger):
                    yield _all_but_one(task.source, size, larger, cap, keep, odd), larger


def _divided_alike(
    task: Task, sizing: Collection[int], batch: int, keeps: Sequence[Collection[int]], least_first: bool
) -> Iterator[tuple[str, int]]:
    """Versions whose sizes are divided by one number: with the batch apart first, then with it."""
    largest, most = max(sizing, default=0), TINY_BATCH if least_first else BATCH
    odd = windows(task.source)
    divisors = [*reversed(DIVISORS)] if least_first else DIVISORS
    for divisor in divisors if sizing and batch > SMALL else ():

        def apart(value: int, divisor: int = divisor) -> int:
            return shrink(value, most) if value == batch else _divided_oddly(divisor, odd, value)

        yield rescale(task.source, apart), max(map(apart, sizing))
    for keep, divisor in itertools.product(keeps, divisors):
        if largest > divisor:
            source = rescale(task.source, partial(_divided_oddly, divisor, odd), keep)
            yield source, divided(largest, divisor)


def _all_but_one(source: str, size: int, larger: int, cap: int, keep: Collection[int], odd: Collection[int]) -> str:
    """A version whose sizes are below `cap`, and one of them below `larger`."""
    return rescale(source, lambda value: smaller(value, larger if value == size else cap, odd), keep)


def _divided_oddly(divisor: int, odd: Collection[int], value: int) -> int:
    return _kept_odd(divided(value, divisor), value in odd)


def divided(value: int, divisor: int) -> int:
    """ceil(value / divisor) of a value that is a size; small ones stay."""
    return -(-value // divisor) if value > SMALL else value
