"""How much of its outputs a forward's kernels can store, on tensors that have shapes alone: some programs are run.

Where values are never computed at a task's own sizes, a grid that ends early would not show. A few programs of each
launch are interpreted with nothing in memory, and what they would store is counted: if all store alike, or nothing, the
grid stores no more than so many times as much as the share of those that do. Memory that nothing wrote is no answer, so
an output in memory that `torch.empty` gave must be stored whole. A launch that is slow, whose programs differ, or that
goes by values, or by what an atomic found, is not counted, and an output that it might write to is not judged. Where
they store is noted too: programs that come by the same places again and again, or end early but for the first ones,
leave a part of an output out, whatever memory it is. So is where they read or write outside of a tensor's memory, as by
an offset that 32 bits do not hold, and what they compare (see `comparisons`). The last program has the largest offsets
and is always run, and first of all at both ends of its loops, for of long ones there may be no time. Not seen is where
a program comes late in a loop of another kind (`while`).
Runs beside the candidate; judges nothing: see `conduct`.
"""

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import torch
import triton.language as tl
from torch.utils._python_dispatch import TorchDispatchMode
from triton.runtime import interpreter
from triton.runtime.jit import mangle_type

from tritonsmith.verify.dynamic.conduct import OVERFLOWS, PARTS
from tritonsmith.verify.dynamic.observe import tensors
from tritonsmith.verify.interpreter import recorded
from tritonsmith.verify.interpreter.comparisons import Followed, Outcomes, Place, comparisons
from tritonsmith.verify.interpreter.loops import counts_alone, passes

_PROGRAMS, _LEAST = 32, 12
"""Programs of a launch that are run, and how many must be for it to count."""
_MORE = 96
"""Programs that are run where the first ones leave a part out: three in four miss a quarter 96 times once in 1e12."""
_ENOUGH = 53
"""Programs of which one would have stored to each part: they miss a quarter once in a million (4 x 0.75^53), and the 16
that a busy machine ran missed it once in 25."""
_UNEVEN = 256
"""The same where some programs store nothing: a fifth of these is told from none of all."""
_REGIONS = 64
"""Regions of a storage by which that is told."""
_SLOW_S, _LAUNCH_S, _MISSING_S = 0.05, 0.3, 3.0
"""Seconds of the processor for a program that is not tried again, for a launch, and for one that leaves a part out."""
_ALIKE = 0.9
"""Share of the programs that must store as much as the one that stores most; those at the edges store less."""
_CHANCE = 1e-6
"""How seldom programs that were drawn may store less than all do."""
_LAUNCHES = 16
_STRAYS = 8
"""Accesses outside of memory that are kept of a program."""
_ENDS = 4
"""Rounds at each end of a loop in which an offset is the largest or the smallest."""
_APART = 44
"""Bits of a storage's addresses; none of them is one of this process."""


class Unknown(Exception):
    """A launch of which this cannot tell what it stores."""


class Unheard(np.ndarray):
    """What an atomic found, which decides how a program goes on: whatever is done with it raises Unknown."""

    def _unknown(self, *_: object, **__: object) -> NoReturn:
        raise Unknown

    __array_ufunc__ = __array_function__ = __bool__ = __int__ = __float__ = __index__ = item = _unknown  # type: ignore


class Stray(NamedTuple):
    """An access outside of a storage."""

    line: int
    """Of the candidate's source."""
    offset: int
    """Bytes from the storage's begin."""
    size: int
    """The storage's."""


@dataclass
class Tally:
    """What the present program stores, in the place of a launch's shadow; nothing is read or written."""

    stored: dict[int, int] = field(default_factory=dict)
    """Bytes by the storage's number."""
    sizes: dict[int, int] = field(default_factory=dict)
    """Bytes that each storage has."""
    regions: dict[int, set[int]] = field(default_factory=dict)
    """By the storage's number, the regions that any program stores to."""
    strays: list[Stray] = field(default_factory=list)
    """The first accesses outside of memory."""
    fill: np.random.Generator | None = None
    """Where loads give small numbers in place of zeros."""

    def begin(self, program: int, programs: int) -> None:
        """Another program begins."""
        self.stored, self.strays = {}, []

    def load(
        self, pointers: npt.NDArray[np.uint64], mask: npt.NDArray[np.bool_], width: int, *_: object
    ) -> npt.NDArray[np.bool_]:
        """Nothing is there to be loaded."""
        self._look(pointers[mask], width)
        return np.zeros_like(mask)

    def loaded(self, values: npt.NDArray[np.generic]) -> None:
        """Other values than zeros, where they are wanted."""
        if self.fill is not None and values.dtype.kind in "iuf":
            values += self.fill.integers(1, 4, values.shape).astype(values.dtype)  # type: ignore[misc]

    def _look(self, pointers: npt.NDArray[np.uint64], width: int) -> None:
        """Note an access outside of the storage that it is nearest to; one that is near to none is not known."""
        if not pointers.size or len(self.strays) >= _STRAYS:
            return
        for address in (int(pointers.min()), int(pointers.max())):
            number = (address + (1 << _APART - 1)) >> _APART
            offset, size = address - (number << _APART), self.sizes.get(number)
            if size is not None and not 0 <= offset <= size - width:
                self.strays.append(Stray(recorded.line() or 0, offset, size))

    def store(
        self, pointers: npt.NDArray[np.uint64], mask: npt.NDArray[np.bool_], values: object, width: int
    ) -> npt.NDArray[np.bool_]:
        """Count the bytes."""
        self._look(pointers[mask], width)
        numbers, counts = np.unique(pointers[mask] >> np.uint64(_APART), return_counts=True)
        for number, count in zip(numbers, counts, strict=True):
            self.stored[int(number)] = self.stored.get(int(number), 0) + width * int(count)
            if size := self.sizes.get(int(number)):
                offsets = pointers[mask & (pointers >> np.uint64(_APART) == number)] & np.uint64((1 << _APART) - 1)
                found = np.unique(offsets * np.uint64(_REGIONS) // np.uint64(size))
                self.regions.setdefault(int(number), set()).update(map(int, found))
        return np.zeros_like(mask)

    def atomic(
        self, pointers: npt.NDArray[np.uint64], mask: npt.NDArray[np.bool_], width: int, *_: object, **__: object
    ) -> npt.NDArray[np.bool_]:
        """What it changes is stored; what it finds is `Unheard`."""
        return self.store(pointers, mask, None, width)

    def dot(self, flops: int, in_parts: bool = False) -> None:
        """Products do not count here."""

    def meet(self) -> None:
        """Nor do barriers."""

    def misused(self, rule: str, message: str) -> None:
        """A descriptor of these addresses tells nothing."""
        raise Unknown


class Cover:
    """The launches of one forward; `seed` is told by the judge, so that nobody knows which programs are run. `known` is
    what comparisons gave in forwards on values."""

    def __init__(self, seed: int, known: Mapping[Place, Outcomes]) -> None:
        self._known = known
        self._draw = np.random.default_rng(seed)
        self._numbers: dict[int, int] = {}
        self._held: list[torch.Tensor] = []
        self._bounds: dict[int, float] = {}
        self._open: set[int] = set()
        """Storages of which it is not known how much is stored."""
        self._unseen: set[int] = set()
        """Storages of which it is not known where."""
        self._sizes: dict[int, int] = {}
        self._regions: dict[int, set[int]] = {}
        self._launches = 0
        self._strays: dict[str, Stray] = {}
        """By kernel, where it leaves memory."""
        self.seconds = 0.0
        """About how long all programs of all launches take."""

    def run(
        self, executor: interpreter.GridExecutor, args: Sequence[object], named: Mapping[str, object], tally: Tally
    ) -> None:
        """Run some of the launch's programs."""
        self._launches += 1
        given = {self._number(tensor) for tensor in tensors([*args, *named.values()])}
        tally.sizes = self._sizes
        try:
            if self._launches > _LAUNCHES:
                raise Unknown
            found, count = self._sampled(executor, args, named, tally)
        except Exception:  # the kernel's own code, on addresses of nothing
            self._open |= given
            self._unseen |= given
            return
        for number, regions in tally.regions.items():
            self._regions.setdefault(number, set()).update(regions)
        missed = any(map(_in_part, tally.regions.values()))
        if len(found) < min(_ENOUGH if missed else _PROGRAMS // 2, count):
            self._unseen |= given
        for number in given:
            amounts = [one.get(number, 0) for one in found]
            if (most := max(amounts)) == 0:
                continue
            storing = [one for one in amounts if one]
            if len(found) < min(_LEAST, count) or storing.count(most) < _ALIKE * len(storing) - 1:
                self._open.add(number)
            share = _greatest_share(len(storing), len(found)) if len(found) < count else len(storing) / count
            self._bounds[number] = self._bounds.get(number, 0.0) + most * float(count) * share

    def _sampled(
        self, executor: interpreter.GridExecutor, args: Sequence[object], named: Mapping[str, object], tally: Tally
    ) -> tuple[list[dict[int, int]], int]:
        kept = {name: value for name, value in named.items() if name in executor.arg_names}
        bound = inspect.getcallargs(executor.fn, *args, **kept)  # type: ignore[call-arg]
        bound = {name: one if name in executor.constexprs else self._converted(one) for name, one in bound.items()}
        size = executor.grid(bound) if callable(executor.grid) else executor.grid
        grid = (*(int(one) for one in size), 1, 1)[:3]  # type: ignore[union-attr]
        count, found = math.prod(grid), []
        passes.programs(executor.fn, count)
        comparisons.launch(self._known)
        # The last one first, whatever time there is: its addresses are the largest.
        chosen, ran = [*self._drawn(count, _PROGRAMS, {count - 1}), count - 1], set[int]()
        scope, program = interpreter._patch_lang(executor.fn), recorded.Programs(executor.fn)
        try:
            interpreter.interpreter_builder.set_grid_dim(*grid)
            if max(self._sizes.values(), default=0) > OVERFLOWS or counts_alone(executor.fn):
                # Not `program`, which would do again without the middle of its loops what it did so once.
                self._at_ends(recorded.Programs(executor.fn), count - 1, grid, bound, tally)
            began, allowed = time.thread_time(), _LAUNCH_S
            while chosen and time.thread_time() - began < allowed:
                before, place = time.thread_time(), chosen.pop()
                compared = self._one(program, place, grid, bound)
                found.append(tally.stored)
                ran.add(place)
                self._stray(program, place, grid, bound, tally)
                self._compare(compared, program, place, grid, bound, tally)
                if time.thread_time() - before > _SLOW_S and len(found) > 1:
                    raise Unknown
                uneven = len({*map(frozenset, found)}) > 1
                more = _UNEVEN if uneven else _MORE
                missing = len(found) < min(more, count) and (uneven or any(map(_in_part, tally.regions.values())))
                # A few programs may miss a part by chance, and a busy machine runs few of them.
                allowed = _MISSING_S if missing else _LAUNCH_S
                if not chosen and missing:
                    chosen = self._drawn(count, more, ran)
        finally:
            scope.restore()
            self.seconds += count * (time.thread_time() - began) / max(1, len(found))
        return found, count

    def _drawn(self, count: int, most: int, without: set[int]) -> list[int]:
        """The first program and about `most` others of `count`, or all there are, in any order; `without` some."""
        drawn = range(count) if count <= most else map(int, self._draw.integers(count, size=most - 2))
        return sorted({0, *drawn} - without, key=lambda _: self._draw.random())

    def _one(
        self, program: recorded.Programs, place: int, grid: tuple[int, ...], bound: Mapping[str, object]
    ) -> dict[Place, Followed]:
        """Run a program; what it compares."""
        x, rest = divmod(place, grid[1] * grid[2])
        interpreter.interpreter_builder.set_grid_idx(x, *divmod(rest, grid[2]))
        with comparisons.followed() as compared:
            program(**bound)
        return compared

    def _compare(
        self,
        compared: Mapping[Place, Followed],
        program: recorded.Programs,
        place: int,
        grid: tuple[int, ...],
        bound: Mapping[str, object],
        tally: Tally,
    ) -> None:
        """Keep what a program compared that was just run; outcomes that are new only if it compares the same whatever
        it reads."""
        again: Mapping[Place, Followed] | None = {}
        if new := comparisons.new(compared):
            tally.fill, regions = self._draw, {number: set(found) for number, found in tally.regions.items()}
            try:
                again = self._one(program, place, grid, bound)
            except TimeoutError:
                raise
            except Exception:  # the kernel's own code, on other numbers
                again = None
            finally:
                tally.fill, tally.regions = None, regions
        # What hangs neither on memory nor on the program's place is not compared again; see `recorded`.
        by_values = {at for at in new if again is None or (at in again and again[at].digest != compared[at].digest)}
        comparisons.add(compared, by_values)

    def _at_ends(
        self,
        program: recorded.Programs,
        place: int,
        grid: tuple[int, ...],
        bound: Mapping[str, object],
        tally: Tally,
    ) -> None:
        """Note offsets that 32 bits do not hold, and what is compared, at both ends of each loop. What a loop carries
        from round to round is then less than it would be, so nothing else is known of such a program."""
        passes.ends = _ENDS
        try:
            compared = self._one(program, place, grid, bound)
            tally.strays = [one for one in tally.strays if one.offset < 0 and one.size > OVERFLOWS]
            self._stray(program, place, grid, bound, tally)
            self._compare(compared, program, place, grid, bound, tally)
        except TimeoutError:
            raise
        except Exception:  # the kernel's own code, on what its loops never carry; the whole is run yet
            pass
        finally:
            passes.ends = 0
            tally.regions.clear()

    def _stray(
        self,
        program: recorded.Programs,
        place: int,
        grid: tuple[int, ...],
        bound: Mapping[str, object],
        tally: Tally,
    ) -> None:
        """Note where a program that was just run left memory, if it does so whatever it reads there."""
        strays, name = tally.strays, program.__name__
        if not strays or name in self._strays:
            return
        tally.fill = self._draw
        try:
            self._one(program, place, grid, bound)
        finally:
            tally.fill = None
        if both := [stray for stray in strays if stray in tally.strays]:
            self._strays[name] = both[0]

    def _converted(self, value: object) -> object:
        if isinstance(value, torch.Tensor):
            kind: Any = tl.str_to_ty(mangle_type(value), None)
            start = (self._number(value) << _APART) + value.storage_offset() * value.element_size()
            return tl.tensor(interpreter.TensorHandle(np.array([start], np.uint64), kind), kind)
        if next(tensors([value]), None) is not None or hasattr(value, "data_ptr"):
            raise Unknown
        return interpreter._implicit_cvt(value)

    def _number(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()._cdata
        if storage not in self._numbers:
            self._held.append(tensor)
            self._numbers[storage] = len(self._numbers) + 1
            self._sizes[self._numbers[storage]] = tensor.untyped_storage().nbytes()
        return self._numbers[storage]

    def reached(self, output: object) -> list[list[float]]:
        """For each output whose stores are known its place, and how many of its PARTS are stored to."""
        rows = []
        for place, tensor in enumerate(tensors(output)):
            number, whole = self._number(tensor), tensor.untyped_storage().nbytes()
            if (
                self._regions.get(number)
                and number not in self._unseen
                and tensor.numel() * tensor.element_size() * 2 > whole
            ):
                rows.append([float(place), float(PARTS - _in_part(self._regions[number])), float(whole)])
        return rows

    def strays(self) -> list[list[str | int]]:
        """For each kernel that leaves memory its name, the line, the bytes from the memory's begin, and its size."""
        return [[name, *stray] for name, stray in self._strays.items()]

    def report(self, output: object, fresh: "Fresh") -> list[list[float]]:
        """For each output that may be judged its place, the bytes that kernels store at most, and its own."""
        rows = []
        for place, tensor in enumerate(tensors(output)):
            whole = tensor.numel() * tensor.element_size()
            number = self._number(tensor)
            bare = tensor.untyped_storage()._cdata in fresh.bare and tensor.untyped_storage().nbytes() == whole
            if whole and bare and number not in self._open:
                rows.append([float(place), self._bounds.get(number, 0.0), float(whole)])
        return rows


def _greatest_share(some: int, all: int) -> float:
    """How many of very many things may be such as `some` of `all` that were drawn are: more are once in 1 / `_CHANCE`.

    The upper bound of Clopper and Pearson, The Use of Confidence or Fiducial Limits, Biometrika 26(4), 1934.
    """
    least, most = some / all, 1.0
    while most - least > 1e-4:
        share = (least + most) / 2
        chance = sum(math.comb(all, k) * share**k * (1 - share) ** (all - k) for k in range(some + 1))
        least, most = (share, most) if chance > _CHANCE else (least, share)
    return most


def _in_part(regions: set[int]) -> int:
    """How many parts of a storage have nothing in these regions."""
    return PARTS - len({region * PARTS // _REGIONS for region in regions})


class Fresh(TorchDispatchMode):
    """Follows which storages `torch.empty` gave that no operator has written to."""

    def __init__(self) -> None:
        super().__init__()
        self.bare: set[int] = set()
        self._held: list[torch.Tensor] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        given = list(tensors((args, kwargs or {})))
        result = func(*args, **(kwargs or {}))
        if func._schema.is_mutable:  # type: ignore[attr-defined]
            self.bare -= {tensor.untyped_storage()._cdata for tensor in given}
        elif ".empty" in str(func) or "new_empty" in str(func):
            self._held += tensors(result)
            self.bare |= {tensor.untyped_storage()._cdata for tensor in tensors(result)}
        return result
