"""Calls by the thousand whose launches are noted and not run: who counts them shows it by what is launched at last.

A call without its kernels costs a fraction of a millisecond, so a candidate can be called as often as a user would, at
tiny sizes and on the same inputs. However it counts (in a closure, a generator, the length of a text), what it launches
must stay what it was: kernels, grids, arguments, torch's operators, and where each tensor comes from. Memory of its own
is told apart by the order in which a call first uses it, not by its age, so that scratch memory may be taken in turns
and allocated late. Numbers that already differ in the first calls (a seed, a number of the call) may go on to do so.

Computes no values: fresh memory holds zeros. A count that only kernels read is `kept`'s. Judges nothing.
"""

import inspect
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.verify.dynamic import observe
from tritonsmith.verify.dynamic.observe import tensors
from tritonsmith.verify.dynamic.work import is_constant
from tritonsmith.verify.launches import arguments

MOST, FEWER = 1200, 600
"""Calls in all, and where candidates are judged by the thousand themselves. Rings of up to six pieces, of eight and of
ten are then where they were before, whatever was left out in between."""
_ROUND = 24
"""Calls after which the time is looked at; the shorter rings are then where they were."""
_EACH, _SHARE = 0.33e-3, 0.1
"""Processor time a call, in all of which no further round begins, or the share of what this process has used if more.

A call of one kernel takes 0.1 ms; of one that takes longer than this there are fewer: of thirty kernels some 200. Time
in torch's operators does not count: on a GPU that others use, it goes in waiting for room in a queue.
"""
_FIRST = 8
"""Calls whose numbers tell which of them differ from call to call."""
_LATER = 2
"""Calls after numbers rose: who looks at one before it rises shows it in the second."""
_ADDRESS = 1 << 32
"""Numbers from here on may be addresses."""
_PLAIN = (int, float, bool, str)

Place = tuple[str, torch.Size]
"""Where a tensor comes from, and its shape."""


class Noted(NamedTuple):
    """One launch: the kernel, and what it was given: places of tensors, the rest in words."""

    kernel: tuple[str, str]
    grid: tuple[int | str, ...]
    given: tuple[tuple[Place, ...] | str, ...]


class Pattern(NamedTuple):
    """What one call did."""

    launches: tuple[Noted, ...]
    operators: frozenset[tuple[str, int]]
    outputs: tuple[tuple[Place, bool], ...]
    """Where they lie, and whether that is older than the call."""

    def differs(self, other: "Pattern", free: set[tuple[int, int]]) -> str:
        """What another call does differently, empty where it does the same; numbers in `free` places do not count."""
        kernels, others = ([(one.kernel, one.grid) for one in side.launches] for side in (self, other))
        if kernels != others:
            return "launches other kernels, or with other grids"
        varying = self.varying(other)
        if any(not isinstance(side.launches[at].given[place], str) for at, place in varying for side in (self, other)):
            return "launches its kernels on other memory"
        if self.operators != other.operators:
            return "lets torch do something else"
        if self.outputs != other.outputs:
            return "gives memory from elsewhere"
        return "launches its kernels with other arguments" if varying - free else ""

    def varying(self, other: "Pattern") -> set[tuple[int, int]]:
        """Places of the arguments (launch, argument) that differ in two calls that launch the same kernels."""
        pairs = enumerate(zip(self.launches, other.launches, strict=False))
        return {
            (at, place)
            for at, (one, two) in pairs
            for place, (given, now) in enumerate(zip_longest(one.given, two.given, fillvalue=()))
            if given != now
        }


@dataclass
class _Call:
    """What is known of the call that goes on."""

    launches: list[Noted] = field(default_factory=list)
    operators: Counter[str] = field(default_factory=Counter)
    own: dict[int, str] = field(default_factory=dict)
    """Names of memory that is neither an input's nor a weight's, in the order of its first use."""
    fresh: set[int] = field(default_factory=set)
    made: set[int] = field(default_factory=set)
    """Memory that torch wrote to out of something else."""
    held: list[torch.Tensor] = field(default_factory=list)
    """What was made in it: an address belongs to one of these until it ends."""


class _Operator(NamedTuple):
    """What is known of one of torch's operators."""

    name: str
    constant: bool
    """Whether its results hold nothing of its arguments."""
    empty: bool
    mutable: bool


class _Kernel:
    """What is known of a kernel, which is held."""

    def __init__(self, function: object) -> None:
        self.function, self.names = function, tuple[str, ...](getattr(function, "arg_names", ()))
        self.told = str(getattr(function, "__name__", "")), arguments.identity(function)
        inner = getattr(function, "fn", None)
        found = inspect.signature(inner).parameters.values() if callable(inner) else ()
        self.defaults = {one.name: one.default for one in found if one.default is not one.empty}


class Notes(TorchDispatchMode):
    """Notes what calls do; `given` are the names of inputs and weights by their addresses."""

    def __init__(self, given: Mapping[int, str]) -> None:
        super().__init__()
        self._known, self._call = given, _Call()
        self.waited = 0.0
        """Processor time that torch's operators took."""
        self._kernels: dict[int, _Kernel] = {}
        """By identity."""
        self._operators: dict[object, _Operator] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing compiles these calls, and to be ready for it would be a third of their time."""
        return False

    def pattern(self, call: Callable[[], object]) -> Pattern:
        """What a call does, which is made now."""
        self._call = _Call()
        given = call()
        with torch._C.DisableTorchFunction():
            outputs = [(self._place(t), address(t) not in self._call.fresh) for t in tensors(given) if t.numel()]
        noted = Pattern(tuple(self._call.launches), frozenset(self._call.operators.items()), tuple(outputs))
        self._call = _Call()
        return noted

    def launched(self, function: object, args: Sequence[object], grid: object, named: Mapping[str, object]) -> None:
        """Note a launch in place of running it."""
        if (known := self._kernels.get(id(function))) is None:
            known = self._kernels[id(function)] = _Kernel(function)
        given = {**known.defaults, **dict(zip(known.names, args, strict=False))}
        given.update((name, value) for name, value in named.items() if name in known.names)
        size = grid(dict(given)) if callable(grid) else grid
        grids = tuple(int(n) for n in size) if isinstance(size, (tuple, list)) else (str(size),)
        with torch._C.DisableTorchFunction():
            words = tuple(map(self._given_as, given.values()))
        self._call.launches.append(Noted(known.told, grids, words))

    def _given_as(self, value: object) -> tuple[Place, ...] | str:
        if isinstance(value, torch.Tensor):
            return (self._place(value),)
        if type(value) is int and value >= _ADDRESS:
            for tensor in self._call.held:
                if 0 <= value - address(tensor) < tensor.untyped_storage().nbytes():
                    return (self._place(tensor),)
        if type(value) in _PLAIN:
            return repr(value)
        return tuple(map(self._place, tensors(value))) or arguments.said({"": value})

    def _place(self, tensor: torch.Tensor) -> Place:
        at, call = address(tensor), self._call
        if (name := self._known.get(at) or call.own.get(at)) is None:
            name = call.own[at] = f"{'made' if at in call.made else 'own'} {len(call.own)}"
            call.held.append(tensor)
        return name, tensor.shape

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        began = time.process_time()
        with torch._C.DisableTorchFunction():
            result = func(*args, **(kwargs or {}))
            if (known := self._operators.get(func)) is None:
                known = self._operators[func] = _known(func)
            self._ran(known, result, (args, kwargs or {}))
        self.waited += time.process_time() - began
        return result

    def _ran(self, operator: _Operator, result: object, args: object) -> None:
        produced, call = [result] if isinstance(result, torch.Tensor) else list(tensors(result)), self._call
        call.held += produced
        fresh = {address(t) for t in produced}
        if operator.empty:
            call.fresh |= fresh
            for tensor in produced:
                tensor.zero_()
            return
        fresh -= {address(t) for t in tensors(args)}
        call.fresh |= fresh
        if not operator.constant and (fresh or operator.mutable):
            call.operators[operator.name] += 1
            call.made |= {address(t) for t in produced} if operator.mutable else fresh


def _known(func: object) -> _Operator:
    name = str(func)
    # `torch.tensor` allocates where no operator is seen, and lifts what it made.
    constant = is_constant(name) or ".lift" in name
    mutable = bool(getattr(getattr(func, "_schema", None), "is_mutable", False))
    return _Operator(name, constant, "empty" in name, mutable)


def often(call: Callable[[], object], notes: Notes, most: int = MOST) -> tuple[int, str]:
    """Make a call again and again; gives how often, and what it did differently in the last one, if it did."""
    began, free = time.process_time(), set[tuple[int, int]]()
    until = began + max(most * _EACH, _SHARE * began)
    with notes:
        first = notes.pattern(call)
        for number in range(1, most):
            if number % _ROUND == 0 and time.process_time() - notes.waited > until:
                return number, ""
            now = notes.pattern(call)
            if now == first:
                continue
            if number < _FIRST:
                free |= first.varying(now)
            if difference := first.differs(now, free):
                return number + 1, difference
    return most, ""


def much_later(call: Callable[[], object], notes: Notes, rise: Callable[[], object]) -> str:
    """What a call does otherwise once `rise` has let its numbers be what they are much later; empty if nothing.

    A number that is handed to a kernel may be another one.
    """
    with notes:
        first = notes.pattern(call)
        rise()
        for _ in range(_LATER):
            now = notes.pattern(call)
            if difference := first.differs(now, first.varying(now)):
                return difference
    return ""


def address(tensor: torch.Tensor) -> int:
    """What tells a tensor's storage from others that are alive, which has no address where it has no data."""
    return torch.Tensor.untyped_storage(tensor)._cdata if tensor.is_meta else observe.address(tensor)


def names(inputs: object, weights: Mapping[str, torch.Tensor]) -> dict[int, str]:
    """Names of inputs and weights, by the addresses of their storages."""
    return dict(_named(inputs, weights))


def _named(inputs: object, weights: Mapping[str, torch.Tensor]) -> Iterator[tuple[int, str]]:
    yield from ((address(tensor), name) for name, tensor in weights.items() if tensor.numel())
    yield from ((address(tensor), f"input {i}") for i, tensor in enumerate(tensors(inputs)) if tensor.numel())
