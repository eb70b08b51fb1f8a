"""Which programs of a launch have heard of what others did, through atomics: `shadow` asks where two use one place.

Knows programs, their times and the addresses of atomics; nothing of what lies there.
"""

import numpy as np
import numpy.typing as npt

from tritonsmith.verify.interpreter.threads import Lanes

_MAX_KNOWN = 1 << 24
"""Numbers that may be kept of what programs know; of launches that need more only the bounds are checked."""


class Order:
    """What the programs of one launch have heard of each other, through atomics on single places.

    Happens-before as in Flanagan and Freund 2009, section 2: a program's own time passes with each atomic by which it
    tells, a place remembers what those knew that told it, and a program knows what the places remember that it heard.
    The interpreter runs one program after the other, so only the present one's knowledge is held.
    """

    def __init__(self) -> None:
        self.program = self.time = 0
        self._programs = 1
        self._known: npt.NDArray[np.int32] | None = None
        """Up to which of its times the present program knows each other one; None: it knows nothing."""
        self._places: dict[int, npt.NDArray[np.int32]] = {}
        self._lost = False

    def begin(self, program: int, programs: int) -> None:
        """Another program begins, of so many."""
        self.program, self.time, self._programs = program, 0, programs
        self._known = None

    def told(self, places: npt.NDArray[np.uint64]) -> list[int]:
        """Which of the places remember anything."""
        return [place for place in map(int, places.flat) if place in self._places] if self._places else []

    def hear(self, place: int) -> None:
        """The present program learns what a place remembers."""
        if (told := self._places.get(place)) is not None:
            self._known = told.copy() if self._known is None else np.maximum(self._known, told)

    def tell(self, place: int) -> None:
        """A place remembers what the present program knows and has done, whose time passes."""
        self.time += 1
        if self._lost or len(self._places) * self._programs > _MAX_KNOWN:
            self._lost = True
            self._places.clear()
            return
        if self._known is None:
            self._known = np.zeros(self._programs, np.int32)
        self._known[self.program] = self.time
        before = self._places.get(place)
        self._places[place] = self._known.copy() if before is None else np.maximum(before, self._known)

    def apart(self, others: npt.NDArray[np.int32], times: npt.NDArray[np.int32] | int) -> Lanes:
        """Which programs did what they did at their times without the present one's having heard of it."""
        other = (others >= 0) & (others != self.program)
        if self._lost:
            return np.zeros_like(other)
        if self._known is None or not other.any():
            return other
        return other & (self._known[np.where(other, others, 0)] <= times)

    def unheard(self, program: int, time: int) -> bool:
        """Whether the present program has not heard of what another one did at that time."""
        if program == self.program or self._lost:
            return False
        return self._known is None or bool(self._known[program] <= time)
