"""Shadow memory for Triton's interpreter: who read and wrote each byte of a launch's tensors.

Finds accesses outside the tensors a launch was given, and races between programs: two programs that
store different values to one address, or one that loads what another stores. The interpreter runs
programs one after the other, so a race gives right values there and wrong ones on a GPU; it must be
found from the accesses. Programs may order themselves through atomics: `order` follows what they have heard of each
other. It also counts distinct bytes and dot-product operations for the roofline.

Reads of memory that a forward allocated and nothing wrote are found as well (NVIDIA's compute-sanitizer calls
that initcheck): a poison would not show where a maximum or a comparison swallows it.

Races between threads of one program are for `threads`. Does not find reads of unwritten memory that is older than the
forward. `interpret` puts it into the interpreter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from triton.runtime import interpreter

from tritonsmith.verify.dynamic.observe import Launch, Launches, address
from tritonsmith.verify.interpreter import histories, recorded
from tritonsmith.verify.interpreter.histories import SEVERAL, Histories, Sets
from tritonsmith.verify.interpreter.order import Order
from tritonsmith.verify.interpreter.threads import Addresses, Lanes, Threads

NOBODY = -1
_MAX_VIOLATIONS = 16
_REMEDY = "mask the load with what was stored, or clear the memory first, even where the value is thrown away later"
"""What to do about a load of memory that nothing has written."""
_READS, _WRITES = "reads what another one stores", "writes where another one reads or stores"


@dataclass
class Region:
    """One storage a launch may touch."""

    name: str
    start: int
    size: int
    itemsize: int
    writer: npt.NDArray[np.int32]
    reader: npt.NDArray[np.int32]
    unwritten: Lanes | None
    """Bytes of fresh memory that nothing has written yet; None where the memory is not fresh."""
    width: int = 0
    """Bytes of every access so far, whose first one stands for all; 1 once accesses were of different widths."""
    writers: Sets | None = None
    """Who wrote since the last plain store, that one included; None before the launch's first atomic."""
    readers: Sets | None = None
    """Who read since the last plain store."""
    storer: npt.NDArray[np.int32] | None = None
    """Who wrote last, and not atomically."""
    stored: npt.NDArray[np.int32] | None = None
    """Its time."""
    is_read: bool = False
    is_written: bool = False

    def timed(self, sets: Histories) -> None:
        """Begin to note times, and more than one user of a byte."""
        if self.writers is None:
            self.writers, self.readers = sets.single(self.writer), sets.single(self.reader)
            self.storer, self.stored = self.writer.copy(), np.zeros_like(self.writer)

    def bytes_of(self, at: npt.NDArray[np.int64], width: int) -> tuple[npt.NDArray[np.int64], int]:
        """The bytes to look at for accesses of so many, and for how many each of them stands."""
        if self.width in (0, width):
            self.width = width
            return at, width
        if self.width > 1:
            self._spread()
        self.width = 1
        return (at[:, None] + np.arange(width)).reshape(-1), 1

    def _spread(self) -> None:
        """Let every byte tell what the first one of its element stood for."""
        whole = self.size - self.size % self.width
        for kept in (self.writer, self.reader, self.writers, self.readers, self.storer, self.stored):
            if kept is not None:
                rows = kept[:whole].reshape(-1, self.width)
                rows[:] = rows[:, :1]


class Shadow:
    """The memory of one launch."""

    def __init__(
        self,
        launches: Launches,
        launch: Launch,
        given: Sequence[tuple[str, torch.Tensor]],
        pointed: Callable[[], Sequence[torch.Tensor]] = lambda: (),
    ) -> None:
        """`pointed` are tensors whose addresses the launch was given as numbers; asked for when they are needed."""
        self._launches, self.launch = launches, launch
        self._regions: dict[int, Region] = {}
        self._pointed: Callable[[], Sequence[torch.Tensor]] | None = pointed
        for name, tensor in given:
            self._add(name, tensor)
        self.order, self.threads, self._sets = Order(), Threads(), Histories()
        self.atomics = False
        """Whether the launch used atomics."""

    def storages(self) -> list[tuple[int, int]]:
        """Where the memory begins that the launch may use, and its sizes."""
        self._look_further()
        return [(region.start, region.size) for region in self._regions.values()]

    def rereads(self) -> bool:
        """Whether it read from a storage that it wrote to as well."""
        return any(region.is_read and region.is_written for region in self._regions.values())

    def around(self, low: int, high: int) -> Region | None:
        """The storage that holds the bytes from `low` up to `high`, if one does."""
        inside = (one for one in self._regions.values() if one.start <= low and high <= one.start + one.size)
        return next(inside, None)

    def _add(self, name: str, tensor: torch.Tensor) -> None:
        start, size = address(tensor), tensor.untyped_storage().nbytes()
        if size and start not in self._regions:
            empty, bare = np.full(size, NOBODY, np.int32), self._launches.unwritten.get(start)
            self._regions[start] = Region(name, start, size, tensor.element_size(), empty, empty.copy(), bare)

    def _look_further(self) -> bool:
        """Take in the tensors that a table of addresses leads to; whether there are any."""
        pointed, self._pointed = self._pointed, None
        found = pointed() if pointed is not None else ()
        for tensor in found:
            self._add("a tensor given by its address", tensor)
            self._launches.given[address(tensor)] = tensor
        return bool(found)

    def begin(self, program: int, programs: int) -> None:
        """Another program of the launch begins."""
        self.order.begin(program, programs)
        self.threads.meet()

    def meet(self) -> None:
        """The program's threads have waited for each other."""
        self.threads.meet()

    def load(self, pointers: Addresses, mask: Lanes, width: int, volatile: bool = False) -> Lanes:
        """Note a load of `width` bytes at each unmasked pointer; returns the mask of the allowed ones.

        A volatile one may wait for what atomics set: it hears what those told that told something.
        """
        allowed, parts = self._split(pointers, mask, width, "load")
        if volatile:
            self._waited(pointers, mask)
        program, time = self.order.program, self.order.time
        for region, lanes, at, width in parts:
            self._initialised(region, at, width)
            region.is_read = True
            if not volatile:
                self._crossed(region, pointers, self.threads.loaded(region.start, pointers, lanes), _READS)
            reader = region.reader[at]
            self.launch.bytes_loaded += width * distinct(at[reader == NOBODY])
            # Others' atomics may be under way while a volatile load looks; their stores may not.
            writer = self._stored(region, at) if volatile else self._apart(region.writer, region.writers, at)
            self._race(region, at, writer, "reads what program {} writes")
            alone = (reader == NOBODY) | (reader == program)
            region.reader[at] = np.where(alone, program, SEVERAL)
            if region.readers is not None:
                region.readers[at] = self._sets.add(region.readers[at], program, time)
        return allowed

    def store(self, pointers: Addresses, mask: Lanes, values: npt.NDArray[np.generic], width: int) -> Lanes:
        """Note a store; returns the mask of the allowed ones."""
        allowed, parts = self._split(pointers, mask, width, "store")
        if _disagrees(pointers[allowed], values[allowed]):
            self._report("race", "one store puts different values into one place; which one stays is not defined")
        if not parts:
            self.aimed(pointers)
        for region, lanes, at, width in parts:
            self._launches.written.add(region.start)
            self.launch.bytes_stored += width * distinct(at[region.writer[at] == NOBODY])
            writer = self._apart(region.writer, region.writers, at)
            if (writer != NOBODY).any():
                differs = _differs(pointers, lanes, values)
                writer[~np.repeat(differs, at.size // differs.size)] = NOBODY
            crossed = self.threads.stored(region.start, pointers, lanes)
            if crossed is not None:
                self._crossed(region, pointers, _changed(pointers, crossed, values), _WRITES)
            self._race(region, at, writer, "writes where program {} wrote another value")
            self._race(region, at, self._apart(region.reader, region.readers, at), "writes what program {} reads")
            if region.readers is not None:
                read = region.readers[at] != histories.NOBODY
                region.readers[at] = np.where(read, histories.ANYBODY, histories.NOBODY)
            self._written(region, at)
            initialise(region, at, width)
        return allowed

    def atomic(
        self,
        pointers: Addresses,
        mask: Lanes,
        width: int,
        reads: bool = True,
        hears: bool = True,
        tells: bool = True,
        narrow: bool = False,
    ) -> Lanes:
        """Note an atomic access; through those of a single place programs may order themselves: one that `hears` (it
        acquires) behind one that `tells` (it releases).

        An exchange does not use what lay there: `reads` is false. A `narrow` one is atomic for its own program only.
        """
        alone = pointers.size == 1 and bool(mask.all()) and not narrow
        for region in self._regions.values():
            region.timed(self._sets)
        self.threads.meet()
        self.atomics = True
        allowed, parts = self._split(pointers, mask, width, "atomic")
        if alone and hears:
            self.order.hear(int(pointers.flat[0]))
        if not parts:
            self.aimed(pointers)
        for region, _, at, width in parts:
            self._launches.written.add(region.start)
            self._race(region, at, self._stored(region, at), "has an atomic where program {} stores")
            if narrow:
                writer = self._apart(region.writer, region.writers, at)
                self._race(region, at, writer, "has an atomic of its own block's scope where program {} writes")
            fresh = distinct(at[region.writer[at] == NOBODY])
            self.launch.bytes_loaded += width * fresh
            self.launch.bytes_stored += width * fresh
            self._written(region, at, atomic=True)
            if reads:
                self._initialised(region, at, width)
            initialise(region, at, width)
        if alone and tells:
            self.order.tell(int(pointers.flat[0]))
        return allowed

    def _waited(self, pointers: Addresses, mask: Lanes) -> None:
        """Hear of each place that was told of."""
        for place in self.order.told(pointers[mask]):
            self.order.hear(place)

    def _stored(self, region: Region, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """For each byte who stored there last, not atomically, if the present program has not heard of it."""
        if region.storer is None or region.stored is None:  # no atomic yet: all that wrote have stored
            return self._apart(region.writer, region.writers, at)
        storer = region.storer[at]
        return np.where(self.order.apart(storer, region.stored[at]), storer, NOBODY)

    def _apart(
        self, last: npt.NDArray[np.int32], sets: Sets | None, at: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        """For each byte somebody who used it and of whom the present program has not heard, -1 where there is none.

        `last` is who used it last, which tells enough where `sets` are not kept.
        """
        if sets is not None:
            return self._sets.apart(sets[at], self.order.unheard)
        users = last[at]
        return np.where((users == SEVERAL) | self.order.apart(users, 0), users, NOBODY)

    def _written(self, region: Region, at: npt.NDArray[np.int64], atomic: bool = False) -> None:
        program, time = self.order.program, self.order.time
        region.writer[at], region.is_written = program, True
        region.is_read |= atomic
        if region.writers is None or region.storer is None or region.stored is None:
            return
        before = region.writers[at] if atomic else np.full(at.size, histories.NOBODY, np.int32)
        region.writers[at] = self._sets.add(before, program, time)
        if not atomic:
            region.storer[at], region.stored[at] = program, time

    def dot(self, flops: int, in_parts: bool = False) -> None:
        """Note a matrix product; `in_parts` one of float32 that is made of products in TF32."""
        self.launch.dot_flops += flops
        self.launch.dot_parts += flops if in_parts else 0

    def misused(self, rule: str, message: str) -> None:
        """Note that a kernel asks for what the interpreter gives and the hardware does not."""
        self._report(rule, message)

    def _split(
        self, pointers: Addresses, mask: Lanes, width: int, action: str
    ) -> tuple[Lanes, list[tuple[Region, Lanes, npt.NDArray[np.int64], int]]]:
        """The lanes that hit a region; for each region touched its lanes, and what `bytes_of` says of their bytes."""
        chosen = pointers[mask]
        if chosen.size == 0:
            return mask, []
        low, high = int(chosen.min()), int(chosen.max()) + width
        for region in self._regions.values():
            if region.start <= low and high <= region.start + region.size:
                if width != region.itemsize and (chosen & np.uint64(width - 1)).any():
                    message = f"{action} of {width} bytes at an address that is no multiple of {width}: {region.name}"
                    self._report("misaligned", message)
                at = (chosen - np.uint64(region.start)).astype(np.int64)
                return mask, [(region, mask, *region.bytes_of(at, width))]
        found, claimed = [], np.zeros_like(mask)
        for region in self._regions.values():
            end = np.uint64(region.start + region.size - width)
            inside = mask & (pointers >= np.uint64(region.start)) & (pointers <= end)
            claimed |= inside
            if inside.any():
                at = (pointers[inside] - np.uint64(region.start)).astype(np.int64)
                found.append((region, inside, *region.bytes_of(at, width)))
        lost = mask & ~claimed
        if lost.any() and self._look_further():
            return self._split(pointers, mask, width, action)
        if lost.any():
            self._outside(int(pointers[lost].flat[0]), int(lost.sum()), action)
        return claimed, found

    def _outside(self, pointer: int, count: int, action: str) -> None:
        near = min(self._regions.values(), key=lambda r: abs(pointer - r.start), default=None)
        place = "a launch that was given no tensor"
        if near is not None:
            element = (pointer - near.start) // near.itemsize
            place = f"element {element} of {near.name}, which holds {near.size // near.itemsize}"
        self._report("out-of-bounds", f"{action} of {place} ({count} such in one access)")

    def aimed(self, pointers: Addresses) -> None:
        """A store, or an atomic, whose mask lets nothing through counts as written: some values leave nothing to do."""
        for region in self._regions.values():
            first = int(pointers.flat[0]) if pointers.size else 0
            if region.start <= first < region.start + region.size:
                self._launches.written.add(region.start)

    def _initialised(self, region: Region, at: npt.NDArray[np.int64], width: int) -> None:
        if region.unwritten is None or not (missing := bare(region.unwritten, at, width)).any():
            return
        element = int(at[np.flatnonzero(missing)[0]]) // region.itemsize
        where = f"element {element} of {region.name} ({int(missing.sum())} such in one access)"
        message = f"reads memory that nothing has written: {where}; {_REMEDY}"
        self._report("uninitialised", message)

    def _race(self, region: Region, at: npt.NDArray[np.int64], others: npt.NDArray[np.int32], what: str) -> None:
        """Report the first byte that somebody uses as well."""
        guilty = others != NOBODY
        if not guilty.any():
            return
        first = int(np.flatnonzero(guilty)[0])
        other = "several" if others[first] == SEVERAL else str(int(others[first]))
        where = f"element {int(at[first]) // region.itemsize} of {region.name}"
        self._report("race", f"program {self.order.program} {what.format(other)}: {where}; their order is not defined")

    def _crossed(self, region: Region, pointers: Addresses, lanes: Lanes | None, what: str) -> None:
        """Report the first place that two threads of the present program use without a barrier in between."""
        if lanes is not None and lanes.any():
            element = (int(pointers[lanes].flat[0]) - region.start) // region.itemsize
            where = f"element {element} of {region.name}"
            self._report("race", f"a thread {what}, without a barrier in between: {where}")

    def _report(self, rule: str, message: str) -> None:
        if len(self._launches.violations) >= _MAX_VIOLATIONS:
            return
        line, text = recorded.line(), f"kernel {self.launch.name}: {message}"
        if all(seen["rule"] != rule or seen["line"] != line for seen in self._launches.violations):
            self._launches.violations.append({"rule": rule, "message": text, "line": line})


def bare(unwritten: Lanes, at: npt.NDArray[np.int64], width: int) -> Lanes:
    """Which elements hold a byte that nothing has written."""
    if width == 1:
        return unwritten[at]
    if (at % width).any():
        return np.asarray(unwritten[at[:, None] + np.arange(width)].any(1))
    whole = unwritten.size - unwritten.size % width
    return unwritten[:whole].view(f"u{width}")[at // width].astype(np.bool_)


def initialise(region: Region, at: npt.NDArray[np.int64], width: int) -> None:
    """Note that elements of so many bytes were written."""
    if region.unwritten is not None:
        for byte in range(width):
            region.unwritten[at + byte] = False


def distinct(places: npt.NDArray[np.int64]) -> int:
    """How many different places there are; most accesses go upwards, and those need no sorting."""
    if places.size < 2 or bool((places[1:] > places[:-1]).all()):
        return int(places.size)
    return int(np.unique(places).size)


def _disagrees(places: Addresses, values: npt.NDArray[np.generic]) -> bool:
    """Whether two lanes put different values into one place."""
    if places.size < 2 or bool((places[1:] > places[:-1]).all()):
        return False
    order = np.argsort(places, kind="stable")
    places, values = places[order], values[order]
    same = places[1:] == places[:-1]
    one, other = values[1:], values[:-1]
    return bool((same & (one != other) & ((one == one) | (other == other))).any())


def _differs(pointers: Addresses, lanes: Lanes, values: npt.NDArray[np.generic]) -> Lanes:
    return _changed(pointers, lanes, values)[lanes]


def _changed(pointers: Addresses, lanes: Lanes, values: npt.NDArray[np.generic]) -> Lanes:
    """The lanes at whose places something else lies than their values."""
    held = interpreter._interpreter.load(pointers, lanes, np.zeros_like(values), values.dtype)
    return lanes & np.asarray(held != values)
