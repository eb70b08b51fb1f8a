"""What the runner sees of one `forward`: every launch with its traffic, every torch operator.

Runs beside the candidate, so its records are evidence, not proof; the judge weighs them against the
values. The interpreter's memory checks live in `shadow`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.verify import wire

MAX_LAUNCHES = 4096
"""Launches kept one by one; a forward with more is counted but not listed further."""


@dataclass
class Launch:
    """One kernel launch."""

    name: str
    grid: tuple[int, ...]
    bytes_loaded: int = 0
    """Distinct bytes read, each counted once a launch."""
    bytes_stored: int = 0
    dot_flops: int = 0


@dataclass
class Launches:
    """The launches of one forward, in order."""

    seen: list[Launch] = field(default_factory=list)
    count: int = 0
    active: bool = False
    """True while the interpreter copies a launch's arguments: those torch calls are not the candidate's."""
    written: set[int] = field(default_factory=set)
    """Addresses of the storages that kernels wrote to."""
    violations: list[dict[str, object]] = field(default_factory=list)
    """Memory findings of the interpreter: rule, message, line."""
    captured: list[object] = field(default_factory=list)
    """Compiler inputs kept by capture mode."""

    def clear(self) -> None:
        """Forget everything; called before each forward."""
        for part in (self.seen, self.written, self.violations, self.captured):
            part.clear()
        self.count = 0

    def add(self, launch: Launch) -> None:
        """Record a launch."""
        self.count += 1
        if len(self.seen) < MAX_LAUNCHES:
            self.seen.append(launch)

    def report(self) -> list[dict[str, object]]:
        """The launches as plain data."""
        return [asdict(launch) for launch in self.seen]


class Operators(TorchDispatchMode):
    """Records each aten operator of a forward and follows where the kernels' results flow."""

    def __init__(self, launches: Launches) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._launches = launches
        self._alive: list[torch.Tensor] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if self._launches.active:
            return result
        self.counts[str(func)] += 1
        produced = list(tensors(result))
        if ".empty" in str(func) or "new_empty" in str(func):
            for tensor in produced:
                poison(tensor)
        # A freed buffer's address may be handed out again; holding on to each one keeps addresses unique.
        self._alive.extend(produced)
        written = self._launches.written
        if any(address(t) in written for t in tensors((args, kwargs or {}))):
            written.update(address(t) for t in produced)
            if "copy_" in str(func) and isinstance(args[0], torch.Tensor):
                written.add(address(args[0]))
        return result

    def outputs_touched(self, output: object) -> bool:
        """Whether every output holds memory that a kernel wrote, or a view or copy of it."""
        found = [t for t in tensors(output) if t.numel()]
        return bool(found) and all(address(t) in self._launches.written for t in found)


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


def address(tensor: torch.Tensor) -> int:
    """Where the tensor's storage begins."""
    return tensor.untyped_storage().data_ptr()


def plain(output: object) -> wire.Tree:
    """The output with plain tensors only; raises TypeError for a tensor subclass or a foreign object."""
    if isinstance(output, torch.Tensor):
        if type(output) not in (torch.Tensor, torch.nn.Parameter):
            raise TypeError(f"forward returned a {type(output).__name__}, not a torch.Tensor")
        return output.detach()
    if isinstance(output, (list, tuple)):
        return (
            type(output)([plain(item) for item in output])
            if type(output) in (list, tuple)
            else tuple(map(plain, output))
        )
    if isinstance(output, Mapping):
        return {str(key): plain(item) for key, item in output.items()}
    if output is None or isinstance(output, (bool, int, float, str)):
        return output
    raise TypeError(f"forward returned a {type(output).__name__}")


def to_device(tree: wire.Tree, device: str) -> Sequence[object]:
    """The inputs on the runner's device; strides are kept."""
    if isinstance(tree, torch.Tensor):
        return tree.to(device)  # type: ignore[return-value]
    if isinstance(tree, (list, tuple)):
        return type(tree)([to_device(item, device) for item in tree])  # type: ignore[arg-type]
    if isinstance(tree, dict):
        return {key: to_device(item, device) for key, item in tree.items()}  # type: ignore[return-value]
    return tree  # type: ignore[return-value]


def take_first_configuration() -> None:
    """Let autotuners find all configurations equally fast, so that the first counts: nothing can be timed here."""
    from triton.runtime.autotuner import Autotuner

    Autotuner._bench = lambda self, *args, config, **meta: [0.0, 0.0, 0.0]


def watch_interpreter(launches: Launches) -> None:
    """Record what interpreted kernels load, store and multiply, and check every access."""
    from tritonsmith.verify import shadow

    shadow.install(launches)


def watch_cuda(launches: Launches) -> None:
    """Record each launch on the GPU; every tensor it is given counts as written."""
    from triton.runtime.jit import JITFunction

    original = JITFunction.run

    def run(self: JITFunction, *args: object, grid: object, warmup: bool, **kwargs: object) -> object:
        given = list(tensors((args, kwargs)))
        launches.written.update(address(t) for t in given)
        launches.add(Launch(self.__name__, tuple(grid) if isinstance(grid, (tuple, list)) else ()))
        return original(self, *args, grid=grid, warmup=warmup, **kwargs)

    JITFunction.run = run  # type: ignore[method-assign]
