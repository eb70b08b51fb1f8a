"""Some programs of a forward at the task's own sizes, on values: what they store can be compared, element by element.

The interpreter cannot run most forwards there with all its checks of memory, but a few of their programs, which is
enough to find a kernel that computes something else where its number of programs, or a length, is large. Each launch
runs the first and the last of its programs and a few drawn ones; which elements they store is noted. Nothing is told
where a value might hang on what programs that were left out would have done: where a launch uses atomics or reads what
an earlier one, or torch since then, made of results, and where it is slow. Elements of memory that two launches store
to are not told either. A forward all of whose programs are quick runs them all, and then all of it is told.

Runs beside the candidate; judges nothing.
"""

import inspect
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from triton.runtime import interpreter

from tritonsmith.verify.dynamic import observe
from tritonsmith.verify.dynamic.observe import Launches, address, tensors
from tritonsmith.verify.dynamic.outlines import outline
from tritonsmith.verify.interpreter import recorded
from tritonsmith.verify.interpreter.loops import passes
from tritonsmith.verify.launches.device import on_device
from tritonsmith.verify.process import wire
from tritonsmith.verify.process.within import within

if TYPE_CHECKING:
    from tritonsmith.verify.process.session import Answer, Session

_PROGRAMS = 8
"""Programs of a launch that are run."""
_SECONDS, _ALL_S = 1.0, 6.0
"""Seconds of the processor in which some programs of one forward begin, or all must."""
_FORWARD_S = 8.0
"""Seconds that the forward may take."""

Addresses = npt.NDArray[np.uint64]
Lanes = npt.NDArray[np.bool_]


def forward(session: "Session", header: dict[str, object], tree: wire.Tree) -> "Answer":
    """Call the model that was built on `tree`, some programs of each launch alone, or (`every`) all of them without the
    checks of memory; `programs` is a seed.

    Answers with the outputs where all programs run, else with an outline of them, and of each tensor the elements that
    were stored and where they are; as far as they tell anything, else `told` is false.
    """
    if session.model is None or session.mode != "interpret":
        raise RuntimeError("nothing is built")
    session.launches.clear()
    known = passes.taken()
    every = bool(header["every"])
    sample = session.launches.sample = Sample(session.launches, int(str(header["programs"])), every)
    inputs = observe.to_device(tree, session.device)
    operators = observe.Operators(session.launches)
    try:
        with torch.no_grad(), on_device(session.device, called=True), within(_FORWARD_S), operators:
            output = observe.plain(session.model(*inputs))  # type: ignore[misc]
            stored = sample.stored(output)
    except Stale:
        return {"told": False, "stale": True}, None
    except Exception:  # the candidate's, or what there is nothing to be told of
        return {"told": False}, None
    finally:
        session.launches.sample, passes.most = None, known
        session.launches.clear()
    told = any(one is not None for one in stored)
    if every or not told:
        return {"told": told}, output if told else None
    # A whole output, of a quarter of a gigabyte perhaps, need not travel for what eight programs store.
    pairs = zip(tensors(output), stored, strict=True)
    parts: list[wire.Tree] = [None if where is None else [tensor[where], _told(where)] for tensor, where in pairs]
    return {"told": told, "outline": outline(output)}, parts


def _told(where: torch.Tensor) -> torch.Tensor:
    """The places of the elements that are true, in a row; or `where` itself where they are many."""
    places = where.flatten().nonzero().flatten()
    return places if places.nbytes < where.nbytes else where


class Untold(Exception):
    """A forward of which some programs tell nothing."""


class Stale(Untold):
    """A forward that hands a kernel what an earlier one, without data, made and the candidate kept."""


class Sample:
    """The programs of one forward that are run; `seed` is told by the judge, so that nobody knows which they are."""

    def __init__(self, launches: Launches, seed: int, every: bool) -> None:
        self._launches, self._draw, self._every = launches, np.random.default_rng(seed), every
        self._stored: dict[int, Lanes] = {}
        """By the address of a storage, which of its bytes were stored to."""
        self._by: dict[int, set[int]] = {}
        """By the address of a storage the launches that stored to it."""
        self._sizes: dict[int, int] = {}
        self._made: set[int] = set()
        """Storages with results of earlier launches."""
        self._number = 0
        self._spent = 0.0

    def run(self, executor: interpreter.GridExecutor, args: Sequence[object], named: Mapping[str, object]) -> None:
        """Run some of the launch's programs; raises Untold."""
        if executor.pre_run_hooks:
            raise Untold
        self._number += 1
        self._made = set(self._launches.written)
        sizes = {address(one): one.untyped_storage().nbytes() for one in tensors([*args, *named.values()])}
        if sizes.get(0):
            raise Stale  # it has a size and lies nowhere
        self._sizes |= sizes
        kept = {name: value for name, value in named.items() if name in executor.arg_names}
        bound = inspect.getcallargs(executor.fn, *args, **kept)  # type: ignore[call-arg]
        bound = {
            name: one if name in executor.constexprs else interpreter._implicit_cvt(one) for name, one in bound.items()
        }
        size = executor.grid(bound) if callable(executor.grid) else executor.grid
        grid = (*(int(one) for one in size), 1, 1)[:3]  # type: ignore[union-attr]
        passes.programs(executor.fn, count := math.prod(grid))
        scope, program = interpreter._patch_lang(executor.fn), recorded.Programs(executor.fn)
        try:
            interpreter.interpreter_builder.set_grid_dim(*grid)
            for place in self._chosen(count):
                began = time.thread_time()
                x, rest = divmod(place, grid[1] * grid[2])
                interpreter.interpreter_builder.set_grid_idx(x, *divmod(rest, grid[2]))
                program(**bound)
                self._spent += time.thread_time() - began
                if self._every and self._spent > _ALL_S:
                    raise Untold
                if self._spent > _SECONDS and not self._every:
                    break
        finally:
            scope.restore()

    def _chosen(self, count: int) -> Sequence[int]:
        """The last program, the first one, and others."""
        if self._every or count <= _PROGRAMS:
            return range(count)
        drawn = self._draw.integers(1, count - 1, size=_PROGRAMS - 2)
        return [count - 1, 0, *sorted({int(one) for one in drawn}, key=lambda _: self._draw.random())]

    def stored(self, output: object) -> list[torch.Tensor | None]:
        """For each output which of its elements one launch stored to, None where that is not known."""
        if self._every:
            return [torch.ones(tensor.shape, dtype=torch.bool) for tensor in tensors(output)]
        return [self._elements(tensor) for tensor in tensors(output)]

    def _elements(self, tensor: torch.Tensor) -> torch.Tensor | None:
        stored = self._stored.get(start := address(tensor))
        if stored is None or len(self._by[start]) > 1 or tensor.layout != torch.strided:
            return None
        size = tensor.element_size()
        stride = tuple(step * size for step in tensor.stride())
        return torch.from_numpy(stored).as_strided(tensor.shape, stride, tensor.storage_offset() * size).clone()

    # What the interpreter asks of a launch's memory.

    def begin(self, program: int, programs: int) -> None:
        """Another program begins."""

    def load(self, pointers: Addresses, mask: Lanes, width: int, volatile: bool = False) -> Lanes:
        """What is loaded must have been there before the forward began, or be torch's, of nothing that kernels made."""
        if self._every:
            return mask
        if volatile:
            raise Untold
        for start, _ in self._places(pointers[mask], width):
            if start in self._made:
                raise Untold
        return mask

    def store(self, pointers: Addresses, mask: Lanes, values: object, width: int) -> Lanes:
        """Note the elements."""
        for start, at in self._places(pointers[mask], width):
            self._launches.written.add(start)
            self._by.setdefault(start, set()).add(self._number)
            stored = self._stored.setdefault(start, np.zeros(self._sizes[start], np.bool_))
            stored[at] = True
        return mask

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

    def atomic(self, pointers: Addresses, mask: Lanes, *_: object, **__: object) -> Lanes:
        """What others add is left out, unless all programs run."""
        if not self._every:
            raise Untold
        for start, _at in self._places(pointers[mask], 1):
            self._launches.written.add(start)
        return mask

    def dot(self, flops: int, in_parts: bool = False) -> None:
        """Products do not count here."""

    def meet(self) -> None:
        """Nor do barriers."""

    def misused(self, rule: str, message: str) -> None:
        """What a kernel asks for wrongly was found where all programs ran."""
