"""What several programs of a launch do to memory at once, as long as none of them meets another.

Programs that touch no place that another one writes may go in any order, or all at once: what they leave in memory, and
what `shadow` knows of it afterwards, is the same. Wherever that cannot be said at once (a place that two programs use
and one of them writes, a lane outside, memory that nothing has written, threads that cross), `Meet` is raised, all of
it is undone, and the programs go one after the other, which tells what it is.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from triton.runtime import interpreter

from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.interpreter.histories import SEVERAL
from tritonsmith.verify.interpreter.shadow import NOBODY, Region, Shadow, bare, distinct, initialise
from tritonsmith.verify.interpreter.threads import Addresses, Lanes

Numbers = npt.NDArray[np.int32]
_Values = npt.NDArray[np.generic]


class Meet(Exception):
    """Programs must go one after the other."""


class Together:
    """The accesses of some programs, whose lanes come in arrays of a first dimension more: a row a program."""

    def __init__(self, shadow: Shadow, launches: Launches, programs: Numbers) -> None:
        """`programs` are their numbers, (P,) int32."""
        self._shadow, self._launches, self._programs = shadow, launches, programs
        launch = shadow.launch
        self._counts = launch.bytes_loaded, launch.bytes_stored, launch.dot_flops, launch.dot_parts
        self._written, self._undo = set(launches.written), list[Callable[[], None]]()
        shadow.meet()

    def meet(self) -> None:
        """The threads of each program have waited for each other."""
        self._shadow.meet()

    def load(self, pointers: Addresses, mask: Lanes, width: int) -> None:
        """Note loads of `width` bytes at (P, ...) pointers. Raises Meet."""
        if (hit := self._hit(pointers, mask, width)) is None:
            return
        region, at, who = hit
        if region.unwritten is not None and bare(region.unwritten, at, width).any():
            raise Meet
        if self._shadow.threads.loaded(region.start, pointers, mask) is not None:
            raise Meet
        self._only(region.writer[at], who)
        read = region.reader[at]
        self._restoring(region.reader, at, read)
        self._shadow.launch.bytes_loaded += width * distinct(at[read == NOBODY])
        reader = np.where((read == NOBODY) | (read == who), who, SEVERAL)
        region.reader[at] = reader
        # Of programs that read one place the last one's number stands there.
        region.reader[at[region.reader[at] != reader]] = SEVERAL
        region.is_read = True

    def store(self, pointers: Addresses, mask: Lanes, values: _Values, width: int) -> None:
        """Note stores, and make them. Raises Meet."""
        for place in np.flatnonzero(~mask.reshape(len(mask), -1).any(1)):
            self._shadow.aimed(pointers[place])
        if (hit := self._hit(pointers, mask, width)) is None:
            return
        region, at, who = hit
        if distinct(at) != at.size or self._shadow.threads.stored(region.start, pointers, mask) is not None:
            raise Meet
        written = region.writer[at]
        self._only(written, who)
        self._only(region.reader[at], who)
        self._restoring(region.writer, at, written)
        memory = interpreter._interpreter
        before = memory.load(pointers, mask, np.zeros_like(values), values.dtype)
        self._undo.append(lambda: memory.store(pointers, before, mask))
        if (unwritten := region.unwritten) is not None:
            for places in (at + byte for byte in range(width)):
                self._restoring(unwritten, places, unwritten[places])
        self._shadow.launch.bytes_stored += width * distinct(at[written == NOBODY])
        region.writer[at], region.is_written = who, True
        self._launches.written.add(region.start)
        initialise(region, at, width)
        memory.store(pointers, values, mask)

    def undo(self) -> None:
        """Leave memory, and what is known of it, as they were."""
        for step in reversed(self._undo):
            step()
        launch, written = self._shadow.launch, self._launches.written
        launch.bytes_loaded, launch.bytes_stored, launch.dot_flops, launch.dot_parts = self._counts
        written.clear()
        written.update(self._written)
        self._shadow.meet()

    def _hit(
        self, pointers: Addresses, mask: Lanes, width: int
    ) -> tuple[Region, npt.NDArray[np.int64], Numbers] | None:
        """The storage that all lanes lie in, where in it, and which program each is of; None where there is no lane."""
        chosen = pointers[mask]
        if chosen.size == 0:
            return None
        region = self._shadow.around(int(chosen.min()), int(chosen.max()) + width)
        if region is None or region.width not in (0, width) or region.writers is not None:
            raise Meet
        if width != region.itemsize and (chosen & np.uint64(width - 1)).any():
            raise Meet
        known = region.width, region.is_read, region.is_written

        def restore() -> None:
            region.width, region.is_read, region.is_written = known

        self._undo.append(restore)
        region.width = width
        programs = self._programs.reshape(-1, *(1,) * (pointers.ndim - 1))
        return (
            region,
            (chosen - np.uint64(region.start)).astype(np.int64),
            np.broadcast_to(programs, pointers.shape)[mask],
        )

    def _restoring(self, kept: _Values, at: npt.NDArray[np.int64], before: _Values) -> None:
        self._undo.append(lambda: kept.__setitem__(at, before))

    @staticmethod
    def _only(users: Numbers, who: Numbers) -> None:
        """Raise Meet where somebody else has used a place."""
        if ((users != NOBODY) & (users != who)).any():
            raise Meet
