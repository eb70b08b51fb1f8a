"""Who used a byte, and when: sets of programs with their times, kept as numbers that an array can hold.

Beside atomics a byte may have any number of readers, or of writers by atomics, before somebody stores to it: whether
that one has heard of all of them is asked here. Equal sets are one number, for a whole tile is mostly used alike.
Knows nothing of memory: see `shadow`, and `order` for what programs have heard of each other.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

NOBODY, ANYBODY = 0, 1
"""The set that was never used, and the one whose members no longer matter."""
SEVERAL = -2
"""Stands in a set for programs that nobody noted one by one; none of them ever told of itself."""
_MAX = 1 << 20
"""Sets that may be made; after that no use is noted."""

Sets = npt.NDArray[np.int32]


class Histories:
    """All sets of one launch. A set is another one and a program with the time of its last use."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int]] = [(NOBODY, -1, 0), (NOBODY, -1, 0)]
        self._known: dict[tuple[int, int, int], int] = {}

    def single(self, programs: npt.NDArray[np.int32]) -> Sets:
        """For each program, at its time 0, the set of it alone; negative ones but for SEVERAL are nobody."""
        return self._each(
            programs, lambda program: self._set(NOBODY, program, 0) if program >= 0 or program == SEVERAL else NOBODY
        )

    def add(self, sets: Sets, program: int, time: int) -> Sets:
        """The sets with a program in them, which runs later than all other members."""
        return self._each(sets, lambda one: self._with(one, program, time))

    def apart(self, sets: Sets, unheard: Callable[[int, int], bool]) -> npt.NDArray[np.int32]:
        """For each set a member that is `unheard` (of its program and its time), -1 where there is none."""
        return self._each(sets, lambda one: self._member(one, unheard))

    def _each(self, values: npt.NDArray[np.int32], change: Callable[[int], int]) -> npt.NDArray[np.int32]:
        if values.size == 0:
            return values
        first = values[0]
        if bool((values == first).all()):
            return np.full_like(values, change(int(first)))
        unique, places = np.unique(values, return_inverse=True)
        return np.array([change(int(value)) for value in unique], np.int32)[places]

    def _with(self, one: int, program: int, time: int) -> int:
        parent, last, _ = self._rows[one]
        return self._set(parent if last == program else one, program, time)

    def _set(self, parent: int, program: int, time: int) -> int:
        row = parent, program, time
        found = self._known.get(row)
        if found is None:
            if len(self._rows) >= _MAX:
                return ANYBODY
            found = self._known[row] = len(self._rows)
            self._rows.append(row)
        return found

    def _member(self, one: int, unheard: Callable[[int, int], bool]) -> int:
        while one > ANYBODY:
            one, program, time = self._rows[one]
            if program == SEVERAL or unheard(program, time):
                return program
        return -1
