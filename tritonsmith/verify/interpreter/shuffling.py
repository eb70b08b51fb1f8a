"""The order in which the interpreter goes through a launch's programs, where atomics let the order decide.

A GPU's programs run in any order, the interpreter's one after the other: what an atomic returns would be the same each
time there, and a kernel that takes it for its place is right by luck. So the programs of kernels with atomics take
turns in an order that is drawn, always the same for so many programs. Programs may wait for each other: one that asks
the same place for the same value over and over waits for one whose turn is still to come. The launch begins anew then,
in the order of the numbers, in which honest kernels wait for nobody. One that seems to wait there as well only asks
often, and is shuffled all the same.

Knows what kernels are called and which atomics there are; judges nothing.
"""

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FunctionType
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tritonsmith.verify.launches import arguments

_PATIENCE = 500
"""Times that a program may find the same value at the same place before it is taken to wait."""
_MANNERS = ((True, True), (False, True), (True, False))
"""Whether programs are shuffled, and whether one may be taken to wait; what is tried in turns."""

Array = npt.NDArray[np.generic]


class Waits(BaseException):
    """A program waits for what another one has yet to do; no exception that a kernel may catch."""


class Turns:
    """Which program of one launch runs when, and how long it waits."""

    def __init__(self, shuffled: bool, bounded: bool) -> None:
        self.bounded, self._shuffled = bounded, shuffled
        self._order: npt.NDArray[np.int64] | None = None
        self._asked: dict[tuple[bytes, bytes], int] = {}

    def program(self, turn: int, programs: int) -> int:
        """Whose turn it is; that one begins."""
        self._asked.clear()
        if not self._shuffled or programs < 2:
            return turn
        if self._order is None:
            self._order = shuffled(programs)
        return int(self._order[turn])

    def asked(self, pointers: Array, found: Array) -> None:
        """Hear what the present program found by an atomic, or a load; raises Waits if it is always that."""
        if not self.bounded:
            return
        asked = pointers.tobytes(), found.tobytes()
        times = self._asked[asked] = self._asked.get(asked, 0) + 1
        if times > _PATIENCE:
            raise Waits


@dataclass
class Habit:
    """What a kernel does."""

    atomic: bool = False
    """Whether it uses atomics."""
    rereads: bool | None = None
    """Whether it reads memory that it writes to; None where it never ran."""
    _manner: int = 0

    def turns(self) -> Turns:
        """The turns that its programs take now."""
        return Turns(*_MANNERS[self._manner]) if self.atomic else Turns(False, False)

    def waited(self) -> None:
        """In those turns a program of it waited."""
        self._manner += 1

    def ran(self, atomic: bool, rereads: bool) -> None:
        """It ran, and did this."""
        self.atomic |= atomic
        self.rereads = bool(self.rereads) or rereads


class Habits:
    """What kernels do, by their Python function: a process serves several candidates, whose names may be the same."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[FunctionType, Habit] = WeakKeyDictionary()

    def of(self, function: FunctionType) -> Habit:
        """What one is known to do."""
        habit = self._known.get(function)
        if habit is None:
            habit = self._known[function] = Habit(names_atomics(arguments.reached(function, set())))
        return habit


def shuffled(programs: int) -> npt.NDArray[np.int64]:
    """An order of so many programs that is not theirs; always the same."""
    order = np.random.default_rng(programs).permutation(programs)
    return order if (order != np.arange(programs)).any() else order[::-1]


def names_atomics(functions: Iterable[FunctionType]) -> bool:
    """Whether functions name an atomic of Triton's, by its own name or another one."""
    return any(_is_atomic(one, name) for one in functions for name in one.__code__.co_names)


def _is_atomic(function: FunctionType, name: str) -> bool:
    known = function.__globals__.get(name)
    return name.startswith("atomic_") or (isinstance(known, FunctionType) and known.__name__.startswith("atomic_"))


class Memory:
    """What some storages (address and size) and notes about them hold, to be put back."""

    def __init__(self, storages: Iterable[tuple[int, int]], notes: Sequence[Array]) -> None:
        self._kept = [(start, ctypes.string_at(start, size)) for start, size in storages]
        self._notes = [(note, note.copy()) for note in notes]

    def put_back(self) -> None:
        """Let all of it hold that again."""
        for start, kept in self._kept:
            ctypes.memmove(start, kept, len(kept))
        for note, kept in self._notes:
            note[:] = kept


def other_lanes_first(data: Array) -> Array:
    """A tile's lanes in another order, which undoes itself: threads that use one place do so in no order either."""
    return np.ascontiguousarray(data.reshape(-1)[::-1]).reshape(data.shape)
