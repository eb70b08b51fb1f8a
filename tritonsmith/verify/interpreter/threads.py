"""What the threads of one program do to memory between two points at which they meet.

A tile is spread over a program's threads. What one lane stores another one may read, or overwrite, only behind a
barrier; without one each thread sees what there happens to be. The interpreter runs whole tiles one after the other,
so that such a kernel is right there; it must be found from the accesses. Two accesses by the same pointers in the same
shape are each thread's own. Threads meet at `tl.debug_barrier`, and are taken to meet wherever values go from lane to
lane (a reduction, a product, a transposition) and at atomics.

Programs among each other are for `shadow`. Accesses of different widths that overlap in part are not found.
"""

from collections import defaultdict, deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

_KEPT = 16
"""Accesses to one storage that are remembered between two meetings."""

Addresses = npt.NDArray[np.uint64]
Lanes = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Access:
    """One load or store of a tile: where each lane's element lies, and which lanes take part."""

    pointers: Addresses
    lanes: Lanes

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The first and the last address; the last is smaller where no lane takes part."""
        places = self.pointers[self.lanes]
        return (int(places.min()), int(places.max())) if places.size else (1, 0)

    def crossed(self, before: "_Access") -> Lanes | None:
        """The lanes at places that another lane had in an access `before`; None where there are none."""
        alike = self.pointers.shape == before.pointers.shape
        if alike and (self.pointers is before.pointers or np.array_equal(self.pointers, before.pointers)):
            return None
        (low, high), (first, last) = self.bounds, before.bounds
        if max(low, first) > min(high, last):
            return None
        found = self.lanes & np.isin(self.pointers, before.pointers[before.lanes])
        if alike:
            found &= ~(before.lanes & (self.pointers == before.pointers))
        return found if found.any() else None


class Threads:
    """One program's accesses since its threads last met, by storage."""

    def __init__(self) -> None:
        self._loads: defaultdict[int, deque[_Access]] = defaultdict(lambda: deque(maxlen=_KEPT))
        self._stores: defaultdict[int, deque[_Access]] = defaultdict(lambda: deque(maxlen=_KEPT))

    def meet(self) -> None:
        """All that was done so far is done for every thread."""
        if self._loads:
            self._loads.clear()
        if self._stores:
            self._stores.clear()

    def loaded(self, storage: int, pointers: Addresses, lanes: Lanes) -> Lanes | None:
        """Note a load of a tile; gives the lanes that read what another lane stored, None where there are none."""
        access = _Access(pointers, lanes)
        self._loads[storage].append(access)
        return _crossed(access, self._stores[storage]) if storage in self._stores else None

    def stored(self, storage: int, pointers: Addresses, lanes: Lanes) -> Lanes | None:
        """Note a store of a tile; gives the lanes that overwrite what another lane read or stored."""
        access = _Access(pointers, lanes)
        before = [*self._loads.get(storage, ()), *self._stores.get(storage, ())]
        self._stores[storage].append(access)
        return _crossed(access, before)


def _crossed(access: _Access, before: "deque[_Access] | list[_Access]") -> Lanes | None:
    found: Lanes | None = None
    for one in before:
        lanes = access.crossed(one)
        if lanes is not None:
            found = lanes if found is None else found | lanes
    return found
