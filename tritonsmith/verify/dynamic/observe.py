"""What the runner sees of one `forward`: every launch with its traffic, every torch operator.

Runs beside the candidate, so its records are evidence, not proof; the judge weighs them against the
values. The interpreter's memory checks live in `shadow`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.verify.dynamic.fresh import Fresh
from tritonsmith.verify.process import wire

if TYPE_CHECKING:
    from tritonsmith.verify.dynamic.cover import Cover
    from tritonsmith.verify.dynamic.sampled import Sample
    from tritonsmith.verify.launches.arguments import Settled

_MOST_PARTS = 4096
"""Tensors, numbers and containers that an output may have: a list of a million took three minutes to refuse."""
_COPYING = ("aten.clone.", "aten._to_copy.", "aten.copy_.")
"""Operators whose last tensor is where the values come from."""
MAX_LAUNCHES = 4096
"""Launches kept one by one; a forward with more is counted but not listed further."""


class Enough(Exception):
    """A forward has launched as much as it was to be watched for."""


class HostCompute(Exception):
    """A forward hands Python values of tensors without end."""


@dataclass
class Launch:
    """One kernel launch."""

    name: str
    grid: tuple[int, ...]
    bytes_loaded: int = 0
    """Distinct bytes read, each counted once a launch."""
    bytes_stored: int = 0
    dot_flops: int = 0
    dot_parts: int = 0
    """Of these the ones of float32 that are made of three products in TF32."""
    said: str = ""
    """What it was given besides tensors, where that is known; see `arguments.said`."""
    which: str = ""
    """Which of the kernels of its name it is, where that is known; see `arguments.identity`."""
    precise: dict[str, str] = field(default_factory=dict)
    """By an argument's name the precision that it names or has, where that is known; see `arguments.precise`."""


@dataclass
class Launches:
    """The launches of one forward, in order."""

    seen: list[Launch] = field(default_factory=list)
    count: int = 0
    active: bool = False
    """True while the interpreter copies a launch's arguments: those torch calls are not the candidate's."""
    written: set[int] = field(default_factory=set)
    """Addresses of the storages that kernels wrote to."""
    given: dict[int, torch.Tensor] = field(default_factory=dict)
    """By its storage's address a tensor that a kernel was given, for as long as the forward runs."""
    alive: list[torch.Tensor] = field(default_factory=list)
    """What the forward was given and what operators made in it: an address belongs to one of them until it ends."""
    violations: list[dict[str, object]] = field(default_factory=list)
    """Memory findings of the interpreter: rule, message, line."""
    unwritten: dict[int, npt.NDArray[np.bool_]] = field(default_factory=dict)
    """By a storage's address, which bytes of a forward's fresh memory nothing has written; on the CPU only."""
    fresh: dict[int, Fresh] = field(default_factory=dict)
    """By a storage's address a forward's fresh memory, on a GPU or where launches are not run."""
    lowered: bool = False
    """Whether a kernel rounded float32 to fewer bits; on the CPU only."""
    peeked: bool = False
    """Whether Python took a number out of what kernels wrote."""
    captured: list[object] = field(default_factory=list)
    """Compiler inputs kept by capture mode."""
    instead: "Callable[[object, Sequence[object], object, Mapping[str, object]], None] | None" = None
    """What notes a launch (kernel, arguments, grid, named arguments) that is not to run; see `unrun`."""
    most: int | None = None
    """Launches after which a forward is stopped; a loop over a task's own sizes may have no end in sight."""
    programs: int | None = None
    """Programs after which it is; on the CPU only."""
    values: int | None = None
    """Values that Python may be handed until a forward is stopped: a loop over a task's own sizes may take minutes."""
    cover: "Cover | None" = None
    """What stands in for the interpreter where tensors have no data; see `cover`."""
    sample: "Sample | None" = None
    """What stands in for it where some programs of each launch are run; see `sampled`."""

    settled: "dict[int, Settled]" = field(default_factory=dict)
    """By a kernel's identity what it reaches by names, where that is in order; see `arguments`."""

    def clear(self) -> None:
        """Forget everything about a forward; called before each one."""
        for part in (self.seen, self.written, self.violations, self.captured, self.unwritten, self.fresh):
            part.clear()
        self.let_go()
        self.count, self.lowered, self.peeked = 0, False, False

    def let_go(self) -> None:
        """Hold on to no tensor any longer; called after each forward."""
        self.given.clear()
        self.alive.clear()

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Let observers of this process pass over what is done here."""
        before, self.active = self.active, True
        try:
            yield
        finally:
            self.active = before

    def look(self, tree: object) -> None:
        """Note a tensor that has a method of its own."""
        if (name := overridden(tree)) is not None and not any(row["rule"] == "patch" for row in self.violations):
            message = f"a tensor was given a {name} of its own"
            self.violations.append({"rule": "patch", "message": message, "line": None})

    def add(self, launch: Launch) -> None:
        """Record a launch; raises Enough beyond `most`."""
        if self.most is not None and self.count >= self.most:
            raise Enough
        self.count += 1
        if len(self.seen) < MAX_LAUNCHES:
            self.seen.append(launch)

    def expect(self, programs: int) -> None:
        """Hear how many programs a launch has, before its first one; raises Enough where they are too many."""
        if self.programs is not None:
            self.programs -= programs
            if self.programs < 0:
                raise Enough

    def hand(self, count: int) -> None:
        """Hear that Python is about to be handed so many values; raises HostCompute where they are too many."""
        if self.values is not None:
            self.values -= count
            if self.values < 0:
                raise HostCompute("forward hands the values of tensors to Python one after the other")

    def report(self) -> list[dict[str, object]]:
        """The launches as plain data."""
        return [asdict(launch) for launch in self.seen]


class Operators(TorchDispatchMode):
    """Records each aten operator of a forward and follows where the kernels' results flow."""

    def __init__(self, launches: Launches, fresh: Callable[[torch.Tensor], torch.Tensor] | None = None) -> None:
        """`fresh` stands in for newly allocated memory; without it such memory is poisoned where it lies."""
        super().__init__()
        self._fresh = fresh
        self.counts: Counter[str] = Counter()
        self.names: set[str] = set()
        """Of all operators, those too that are not counted: what observers run, and a module's count of its calls."""
        self._launches = launches

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        self._launches.look((args, kwargs or {}))
        result = func(*args, **(kwargs or {}))
        self.names.add(str(func))
        if self._launches.active:
            return result
        if not _counts_up(func, args):
            self.counts[str(func)] += 1
        allocates = ".empty" in str(func) or "new_empty" in str(func)
        if allocates and self._fresh is not None and isinstance(result, torch.Tensor):
            result = self._fresh(result)
        produced = list(tensors(result))
        if allocates and self._fresh is None:
            for tensor in produced:
                poison(tensor)
                self._launches.unwritten[address(tensor)] = np.ones(tensor.untyped_storage().nbytes(), np.bool_)
        elif self._launches.unwritten and func._schema.is_mutable:  # type: ignore[attr-defined]
            for tensor in written_by(func, args, kwargs or {}):
                self._initialise(tensor)
        if self._launches.unwritten and str(func).startswith(_COPYING):
            with self._launches.unseen():
                self._copied(args, produced)
        # A freed buffer's address may be handed out again; holding on to each one keeps addresses unique.
        self._launches.alive.extend(produced)
        written = self._launches.written
        if "_local_scalar_dense" in str(func) and isinstance(args[0], torch.Tensor):
            self._launches.hand(1)
            self._launches.peeked |= address(args[0]) in written
            self._taken(args[0])
        if any(address(t) in written for t in tensors((args, kwargs or {}))):
            written.update(address(t) for t in produced)
            if "copy_" in str(func) and isinstance(args[0], torch.Tensor):
                written.add(address(args[0]))
        return result

    def _taken(self, tensor: torch.Tensor) -> None:
        """A number that Python takes out of memory which nothing has written tells how such memory is watched."""
        unwritten = self._launches.unwritten.get(address(tensor))
        start = tensor.storage_offset() * tensor.element_size()
        if unwritten is not None and unwritten[start : start + tensor.element_size()].any():
            message = "forward takes a number out of memory that nothing has written"
            self._launches.violations.append({"rule": "uninitialised", "message": message, "line": None})

    def _copied(self, args: Sequence[object], produced: Sequence[torch.Tensor]) -> None:
        """A copy of memory that nothing has written is such memory too."""
        sources = [one for one in args if isinstance(one, torch.Tensor)]
        bare = self._bare(sources[-1]) if sources else None
        if bare is None or not bool(bare.any()):
            return
        for tensor in produced:
            size = tensor.untyped_storage().nbytes()
            kept = self._launches.unwritten.setdefault(address(tensor), np.zeros(size, np.bool_))
            _elements(kept, tensor).copy_(bare.expand(tensor.shape)[..., None])

    def _bare(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Which of its elements nothing has written; None where it does not lie in fresh memory."""
        unwritten = self._launches.unwritten.get(address(tensor))
        if unwritten is None or tensor.layout != torch.strided:
            return None
        return _elements(unwritten, tensor).any(-1)

    def _initialise(self, tensor: torch.Tensor) -> None:
        unwritten = self._launches.unwritten.get(address(tensor))
        if unwritten is None or tensor.layout != torch.strided:
            return
        _elements(unwritten, tensor).fill_(False)

    def touched(self, output: object) -> dict[str, object]:
        """Places of the outputs that hold memory that a kernel wrote, or a view or copy of it, and of the others.

        `bare` is whether there is nothing to be stored: outputs without elements, or numbers of Python's that can come
        from what a kernel wrote.
        """
        every = list(tensors(output))
        found = [(place, t) for place, t in enumerate(every) if t.numel()]
        written = [place for place, t in found if address(t) in self._launches.written]
        told = any(True for _ in numbers(output))
        bare = not found and (bool(every) or told) and (self._launches.peeked or not told)
        return {"touched": written, "untouched": [place for place, _ in found if place not in written], "bare": bare}


def _elements(of_bytes: npt.NDArray[np.bool_], tensor: torch.Tensor) -> torch.Tensor:
    """What is known of its storage's bytes, as the tensor lies there: its shape, and a dimension of an element's."""
    size = tensor.element_size()
    shape, stride = (*tensor.shape, size), (*(step * size for step in tensor.stride()), 1)
    return torch.from_numpy(of_bytes).as_strided(shape, stride, tensor.storage_offset() * size)


def _counts_up(func: object, args: Sequence[object]) -> bool:
    """Whether an operator adds a number to an integer that has a memory of its own: a counter, as of batches."""
    first, *rest = args or (None,)
    if not str(func).startswith("aten.add_.") or not isinstance(first, torch.Tensor) or first.is_floating_point():
        return False
    alone = first.numel() == 1 and first.untyped_storage().nbytes() == first.element_size()
    return alone and not first.is_complex() and all(type(value) is int for value in rest)


def written_by(
    func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> Iterator[torch.Tensor]:
    """The arguments that an operator's schema says it writes to."""
    for place, argument in enumerate(func._schema.arguments):  # type: ignore[attr-defined]
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from tensors(args[place] if place < len(args) else kwargs.get(argument.name))


def poison(tensor: torch.Tensor) -> None:
    """Fill fresh memory, so that an element no kernel writes cannot be right by what lay there before."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(float("nan"))
    elif tensor.dtype != torch.bool:
        tensor.fill_(torch.iinfo(tensor.dtype).max)


def tensors(tree: object) -> Iterator[torch.Tensor]:
    """Every tensor in nested lists, tuples and dicts."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from tensors(item)
    elif isinstance(tree, Mapping):
        yield from tensors(list(tree.values()))
    elif hasattr(tree, "block_shape") and hasattr(tree, "base"):  # triton's TensorDescriptor
        yield from tensors(tree.base)  # type: ignore[attr-defined]


def numbers(tree: object) -> Iterator[bool | int | float]:
    """Every number of Python's in nested lists, tuples and dicts."""
    if isinstance(tree, (bool, int, float)):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from numbers(item)
    elif isinstance(tree, Mapping):
        yield from numbers(list(tree.values()))


def address(tensor: torch.Tensor) -> int:
    """Where the tensor's storage begins."""
    return torch.Tensor.untyped_storage(tensor).data_ptr()


_TABLE = 1 << 14
"""Elements of the largest tensor of addresses that is looked through."""


def pointed(values: Sequence[object], launches: Launches) -> list[torch.Tensor]:
    """Of the tensors that are alive those whose addresses a launch was given as numbers, one of each storage.

    Kernels for groups of matrices, or for many tensors at once, get tables of addresses.
    """
    before, launches.active = launches.active, True
    try:
        return _pointed(values, launches.alive)
    finally:
        launches.active = before


def _pointed(values: Sequence[object], alive: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    tables = [t for t in tensors(values) if t.dtype in (torch.int64, torch.uint64) and 0 < t.numel() <= _TABLE]
    numbers = {int(number) for table in tables for number in torch.Tensor.tolist(table.detach().flatten())}
    numbers |= {value for value in values if type(value) is int}
    found = {address(t): t for t in alive if t.device.type != "meta"} if numbers else {}
    return [t for at, t in found.items() if any(at <= n < at + t.untyped_storage().nbytes() for n in numbers)]


def overridden(tree: object) -> str | None:
    """A method that some tensor has an own version of, which would run where nobody watches; None if none has."""
    for tensor in tensors(tree):
        for name in tensor.__dict__:
            if hasattr(torch.Tensor, name):
                return str(name)
    return None


def frozen(tree: wire.Tree) -> wire.Tree:
    """A copy that nothing of the candidate's reaches: what runs when objects are let go of may write to the output."""
    if isinstance(tree, torch.Tensor):
        return tree.clone()
    if isinstance(tree, (list, tuple)):
        items = [frozen(item) for item in tree]
        return items if isinstance(tree, list) else tuple(items)
    if isinstance(tree, dict):
        return {key: frozen(item) for key, item in tree.items()}
    return tree


def plain(output: object) -> wire.Tree:
    """The output with plain tensors only; raises TypeError for a tensor subclass, a foreign object, or more than
    `_MOST_PARTS` of all these."""
    return _plain(output, iter(range(_MOST_PARTS)))


def _plain(output: object, left: Iterator[int]) -> wire.Tree:
    if next(left, None) is None:
        raise TypeError(f"forward returned more than {_MOST_PARTS} values")
    if isinstance(output, torch.Tensor):
        if type(output) not in (torch.Tensor, torch.nn.Parameter):
            raise TypeError(f"forward returned a {type(output).__name__}, not a torch.Tensor")
        return torch.Tensor.detach(output)
    if isinstance(output, (list, tuple)):
        items = [_plain(item, left) for item in output]
        return items if type(output) is list else tuple(items)
    if isinstance(output, Mapping):
        return {str(key): _plain(item, left) for key, item in output.items()}
    if output is None or isinstance(output, (bool, int, float, str)):
        return output
    raise TypeError(f"forward returned a {type(output).__name__}")


def to_device(tree: wire.Tree, device: str) -> Sequence[object]:
    """The inputs on the runner's device; strides are kept."""
    if isinstance(tree, torch.Tensor):
        return tree.to(device)  # type: ignore[return-value]
    if isinstance(tree, (list, tuple)):
        items = [to_device(item, device) for item in tree]  # type: ignore[arg-type]
        return items if isinstance(tree, list) else tuple(items)
    if isinstance(tree, dict):
        return {key: to_device(item, device) for key, item in tree.items()}  # type: ignore[return-value]
    return tree  # type: ignore[return-value]


def emptied(tree: wire.Tree, device: str) -> Sequence[object]:
    """Inputs without data as they are, or as zeros on another device than `meta`."""
    if isinstance(tree, torch.Tensor):
        if device == "meta":
            return tree  # type: ignore[return-value]
        return torch.zeros(tree.shape, dtype=tree.dtype, device=device)  # type: ignore[return-value]
    if isinstance(tree, (list, tuple)):
        items = [emptied(item, device) for item in tree]
        return items if isinstance(tree, list) else tuple(items)
    if isinstance(tree, dict):
        return {key: emptied(item, device) for key, item in tree.items()}  # type: ignore[return-value]
    return tree  # type: ignore[return-value]


def take_first_configuration() -> None:
    """Let autotuners find all configurations equally fast, so that the first counts: nothing can be timed here."""
    from triton.runtime.autotuner import Autotuner

    keep_no_tuning()
    Autotuner._bench = lambda self, *args, config, **meta: [0.0, 0.0, 0.0]


def take_turns() -> None:
    """Let autotuners find another configuration the fastest for each of their keys, beginning with the first one.

    On a GPU any of them may be taken, so each must be right. A forward that is compiled and one that is run take the
    same ones.
    """
    from triton.runtime.autotuner import Autotuner

    keep_no_tuning()

    def times(self: Autotuner, *args: object, config: object, **meta: object) -> list[float]:
        chosen = self.configs[len(self.cache) % len(self.configs)]
        return [0.0 if config is chosen else 1.0] * 3

    Autotuner._bench = times  # type: ignore[method-assign]


def keep_no_tuning() -> None:
    """Let autotuners that would keep their findings on disk (`cache_results`) find them anew: here is no disk."""
    from triton.runtime.autotuner import Autotuner

    Autotuner.check_disk_cache = _found_anew  # type: ignore[method-assign]


def _found_anew(tuner: object, key: object, configs: object, benchmark: Callable[[], None]) -> bool:
    benchmark()
    return False


_watching: list[Launches] = []


def watch_interpreter() -> Launches:
    """Record what interpreted kernels load, store and multiply, and check every access; once in a process and all that
    it forks, so that a zygote does it for its runners."""
    from tritonsmith.verify.interpreter import interpret

    if not _watching:
        _watching.append(Launches())
        interpret.install(_watching[0])
    return _watching[0]
