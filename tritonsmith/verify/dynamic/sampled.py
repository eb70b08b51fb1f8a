"""Some programs of a forward at the task's own sizes, on values: what they store can be compared, element by element.

The interpreter cannot run most forwards there with all its checks of memory, but a few of their programs, which is
enough to find a kernel that computes something else where its number of programs, or a length, is large. Each launch
runs the first and the last of its programs and drawn ones; which elements they store is noted. Nothing is told where
a launch reads what an earlier one, or torch since then, made of results, for programs that were left out have not
stored theirs; nor where it is slow. Elements of memory that two launches store to are not told either. Within a launch
programs may hear of each other by atomics: which elements stay as they are is `staying`'s. A program that waits for one
that was left out is left where it is. A forward all of whose programs are quick runs them all, and then all of it is
told.

Runs beside the candidate; judges nothing.
"""

import inspect
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from triton.runtime import interpreter

from tritonsmith.verify.dynamic import observe
from tritonsmith.verify.dynamic.observe import Launches, address, tensors
from tritonsmith.verify.dynamic.outlines import outline
from tritonsmith.verify.dynamic.staying import Stored
from tritonsmith.verify.interpreter import recorded, shuffling
from tritonsmith.verify.interpreter.comparisons import comparisons
from tritonsmith.verify.interpreter.loops import passes
from tritonsmith.verify.launches.device import on_device
from tritonsmith.verify.process import wire
from tritonsmith.verify.process.within import within

if TYPE_CHECKING:
    from tritonsmith.verify.process.session import Answer, Session

_PROGRAMS, _MORE = 8, 512
"""Programs of a launch that are run, and that are where they are quick: one in a hundred is among these 99 times of
100."""
_SECONDS, _MORE_S = 1.0, 0.15
"""Seconds of the processor in which some programs of one forward begin, and in which more than those few do."""
_FORWARD_S, _BESIDE_S = 8.0, 2.0
"""Seconds that the forward may take, and besides its programs where it runs them all."""
_WAITING = 3
"""Programs of a launch that may be left waiting."""

Addresses = npt.NDArray[np.uint64]
Lanes = npt.NDArray[np.bool_]


def forward(session: "Session", header: dict[str, object], tree: wire.Tree) -> "Answer":
    """Call the model that was built on `tree`, some programs of each launch alone, or all of them without the checks of
    memory, which must take no more than `every` seconds; `programs` is a seed.

    Answers with the outputs where all programs run, else with an outline of them, and of each tensor the elements that
    were stored and where they are: those that stay, and those that may be parts. As far as they tell anything, else
    `told` is false. Besides `added`, whether atomics made some of the outputs, and about how many `seconds` all
    programs take.
    """
    if session.model is None or session.mode != "interpret":
        raise RuntimeError("nothing is built")
    session.launches.clear()
    known, compared = passes.taken(), comparisons.taken()
    every = float(str(header["every"]))
    sample = session.launches.sample = Sample(session.launches, int(str(header["programs"])), every)
    seconds = max(_FORWARD_S, every + _BESIDE_S)
    inputs = observe.to_device(tree, session.device)
    operators = observe.Operators(session.launches)
    try:
        with torch.no_grad(), on_device(session.device, called=True), within(seconds), operators:
            output = observe.plain(session.model(*inputs))  # type: ignore[misc]
    except Stale:
        return {"told": False, "stale": True}, None
    except Exception:  # the candidate's, or what there is nothing to be told of
        return {"told": False}, None
    finally:
        session.launches.sample, passes.most, comparisons.most = None, known, compared
        session.launches.clear()
    if every:
        return {"told": True}, output
    stay, parts = (_elements(sample.stored, output, stays) for stays in (True, False))
    told = any(one is not None for one in (*stay, *parts))
    seen: dict[str, object] = {"told": told, "seconds": sample.seconds}
    seen["added"] = any(sample.stored.added(tensor) for tensor in tensors(output))
    return {**seen, "outline": outline(output)}, [stay, parts] if told else None


def _elements(stored: Stored, output: wire.Tree, stays: bool) -> list[wire.Tree]:
    """Of each tensor the elements that some program stored, and where they are; None where there are none."""
    # A whole output, of a quarter of a gigabyte perhaps, need not travel for what some programs store.
    pairs = [(tensor, stored.elements(tensor, stays)) for tensor in tensors(output)]
    return [None if where is None or not where.any() else [tensor[where], _told(where)] for tensor, where in pairs]


def _told(where: torch.Tensor) -> torch.Tensor:
    """The places of the elements that are true, in a row; or `where` itself where they are many."""
    places = where.flatten().nonzero().flatten()
    return places if places.nbytes < where.nbytes else where


class Untold(Exception):
    """A forward of which some programs tell nothing."""


class Stale(Untold):
    """A forward that hands a kernel what an earlier one, without data, made and the candidate kept."""


class _Atomic(NamedTuple):
    """One that lets something through."""

    start: int
    """Where the storage begins that it is on."""
    at: npt.NDArray[np.int64]
    """The places there."""
    pointers: Addresses
    mask: Lanes
    before: npt.NDArray[np.generic]
    """What lay there."""
    exchanges: bool


def _held(pointers: Addresses, mask: Lanes, width: int) -> npt.NDArray[np.generic]:
    """What lies at the places that a mask lets through, as bits."""
    bits = np.dtype(f"u{width}")
    return interpreter._interpreter.load(pointers, mask, np.zeros(pointers.shape, bits), bits)


class Sample:
    """The programs of one forward that are run; `seed` is told by the judge, so that nobody knows which they are."""

    def __init__(self, launches: Launches, seed: int, every: float) -> None:
        """All programs where `every` says how many seconds they may take, else some."""
        self._launches, self._draw, self._every = launches, np.random.default_rng(seed), every
        self._sizes: dict[int, int] = {}
        self._made: set[int] = set()
        """Storages with results of earlier launches."""
        self._spent = self._began = 0.0
        self._atomic: _Atomic | None = None
        """The one under way that lets anything through."""
        self.stored = Stored()
        self.seconds = 0.0
        """About what all programs of all launches take."""

    def run(
        self,
        executor: interpreter.GridExecutor,
        args: Sequence[object],
        named: Mapping[str, object],
        turns: list[shuffling.Turns],
        atomics: bool,
    ) -> None:
        """Run some of the launch's programs; raises Untold. `turns` are those of launches under way; one of a kernel
        with `atomics` may wait."""
        if executor.pre_run_hooks or self._launches.peeked:  # what it was given may hang on what was left out
            raise Untold
        self._made = set(self._launches.written)
        sizes = {address(one): one.untyped_storage().nbytes() for one in tensors([*args, *named.values()])}
        if sizes.get(0):
            raise Stale  # it has a size and lies nowhere
        self._sizes |= sizes
        self.stored.launch(sizes)
        kept = {name: value for name, value in named.items() if name in executor.arg_names}
        bound = inspect.getcallargs(executor.fn, *args, **kept)  # type: ignore[call-arg]
        bound = {
            name: one if name in executor.constexprs else interpreter._implicit_cvt(one) for name, one in bound.items()
        }
        size = executor.grid(bound) if callable(executor.grid) else executor.grid
        grid = (*(int(one) for one in size), 1, 1)[:3]  # type: ignore[union-attr]
        passes.programs(executor.fn, count := math.prod(grid))
        scope, program = interpreter._patch_lang(executor.fn), recorded.Programs(executor.fn)
        turns.append(shuffling.Turns(shuffled=False, bounded=atomics and not self._every))
        try:
            interpreter.interpreter_builder.set_grid_dim(*grid)
            self._run_some(program, grid, bound, count)
        finally:
            turns.pop()
            scope.restore()

    def _run_some(
        self, program: recorded.Programs, grid: tuple[int, ...], bound: Mapping[str, object], count: int
    ) -> None:
        """Run programs until there are enough, or too many wait; raises Untold."""
        took, waiting = list[float](), 0
        for place in self._chosen(count):
            before = time.thread_time()
            x, rest = divmod(place, grid[1] * grid[2])
            interpreter.interpreter_builder.set_grid_idx(x, *divmod(rest, grid[2]))
            try:
                program(**bound)
            except shuffling.Waits:
                self.stored.undone()
                waiting += 1
                if waiting == _WAITING:
                    break
                continue
            took.append(time.thread_time() - before)
            self._spent += took[-1]
            if self._every and self._spent > self._every:
                raise Untold
            if not self._every and self._spent > (_SECONDS if len(took) < _PROGRAMS else _MORE_S):
                break
        # The first one is recorded for the others, which takes longer.
        later = took[1:] or took
        self.seconds += took[0] + sum(later) / len(later) * (count - 1) if took else 0.0

    def _chosen(self, count: int) -> Sequence[int]:
        """The last program, the first one, and others; the first `_PROGRAMS` of them are to be run in any case."""
        if self._every or count <= _PROGRAMS:
            return range(count)
        drawn = self._draw.integers(1, count - 1, size=_MORE - 2)
        return [count - 1, 0, *dict.fromkeys(map(int, drawn))]

    # What the interpreter asks of a launch's memory.

    def begin(self, program: int, programs: int) -> None:
        """Another program begins."""
        self._began = time.thread_time()
        self.stored.begin()

    def load(self, pointers: Addresses, mask: Lanes, width: int, volatile: bool = False) -> Lanes:
        """What is loaded must have been there before the forward began, or be torch's, of nothing that kernels made; or
        be of this launch, whose programs may come in this order."""
        for start, _ in () if self._every else self._places(pointers[mask], width):
            self._unmade(start)
        return mask

    def store(self, pointers: Addresses, mask: Lanes, values: object, width: int) -> Lanes:
        """Note the elements."""
        for start, at in self._places(pointers[mask], width):
            self._launches.written.add(start)
            if not self._every:
                self.stored.store(start, at)
        return mask

    def _unmade(self, start: int) -> None:
        if start in self._made:
            raise Untold

    def _places(self, pointers: Addresses, width: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        """The storages that accesses hit, with the places of their first bytes; raises Untold outside of them."""
        if not pointers.size:
            return
        low, high = int(pointers.min()), int(pointers.max()) + width
        for start, size in self._sizes.items():
            if start <= low and high <= start + size:
                yield start, (pointers - np.uint64(start)).astype(np.int64)
                return
        raise Untold

    def atomic(
        self, pointers: Addresses, mask: Lanes, width: int, reads: bool = True, *_: object, **__: object
    ) -> Lanes:
        """One is about to be done; what it finds is what it finds where these programs come first."""
        self._atomic = None
        if not self._every and time.thread_time() - self._began > _SECONDS:
            raise Untold  # it may be one that does what the others have not yet done
        for start, at in self._places(pointers[mask], width):
            self._launches.written.add(start)
            if self._every:
                return mask
            self._unmade(start)
            self._atomic = _Atomic(start, at, pointers, mask, _held(pointers, mask, width), not reads)
        for start, size in self._sizes.items():
            if ((pointers >= np.uint64(start)) & (pointers < np.uint64(start + size))).any():
                self.stored.used(start)
        return mask

    def operated(self) -> None:
        """It is done."""
        one, self._atomic = self._atomic, None
        if one is None:
            return
        if one.exchanges:
            self.stored.store(one.start, one.at)
        changed = (_held(one.pointers, one.mask, one.before.itemsize) != one.before)[one.mask]
        if changed.any():
            self.stored.changed(one.start, one.at[changed])

    def dot(self, flops: int, in_parts: bool = False) -> None:
        """Products do not count here."""

    def meet(self) -> None:
        """Nor do barriers."""

    def misused(self, rule: str, message: str) -> None:
        """What a kernel asks for wrongly was found where all programs ran."""
