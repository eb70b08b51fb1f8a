"""What torch did in one `forward` beside the kernels: its traffic and operations, values handed to Python, and
whether it had made the output already.

Copies are glue, but a transpose that `contiguous()` has written needs no kernel: one that only copies it did nothing.
That shows in the values: some tensor that torch made of the inputs alone holds the output, and the output is no input.
Runs beside the candidate, so its records are evidence, not proof. Large tensors are not looked at (`LIMIT`): a task's
tiny sizes tell. Does not judge: see `policy`.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
import triton
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from tritonsmith.verify.observe import Launches, address, tensors

LIMIT = 1 << 26
"""Bytes of torch's results that are kept for the comparison with the output."""
READS = {
    "tolist", "numpy", "apply_", "map_", "map2_", "storage", "untyped_storage", "__repr__", "__str__", "__format__",
    "__array__", "__dlpack__", "__reduce_ex__", "__deepcopy__", "share_memory_",
}  # fmt: skip
"""Methods that give Python the values of a tensor where no operator is seen; printing switches observers off."""
_TRUSTED = (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(str(triton.__file__)))
_TORCH = os.path.dirname(str(torch.__file__))
_CONSTANT = ("empty", "zeros", "ones", "full", "new_", "arange", "scalar_tensor", "fill_", "zero_", "rand")
"""How operators begin whose results hold nothing of their arguments."""


class Work(contextlib.AbstractContextManager["Work"]):
    """Watches one forward; `given` are the inputs and weights, `limit` the bytes that are kept for the comparison."""

    def __init__(self, launches: Launches, given: Iterable[object], limit: int = LIMIT) -> None:
        self.bytes = self.flops = self.values = 0
        self._launches, self._given = launches, [t for t in tensors(list(given)) if t.numel()]
        self._known = {address(t) for t in self._given}
        self._kept: list[torch.Tensor] = []
        self._room = limit
        self._modes = contextlib.ExitStack()

    def __enter__(self) -> "Work":
        self._modes.enter_context(_Operators(self))
        self._modes.enter_context(_Reads(self))
        return self

    def __exit__(self, *error: object) -> None:
        self._modes.close()

    def report(self, output: object) -> dict[str, object]:
        """The record as plain data; `made` is None where torch's results were too large to keep."""
        found = [t.detach() for t in tensors(output) if t.numel()]
        made = bool(found) and all(self._made(t) for t in found)
        return {
            "bytes": self.bytes,
            "flops": self.flops,
            "values": self.values,
            "made": made or (None if self._room < 0 else False),
        }

    def _made(self, output: torch.Tensor) -> bool:
        """Whether an output is one of torch's results, or some of them side by side, and no input."""
        if any(_equal(output.flatten(), other.detach().flatten()) for other in self._given):
            return False
        pieces = [piece.to(output.device) for piece in self._kept if piece.dtype == output.dtype]
        flat = [piece.flatten() for piece in pieces]
        return _tiled(output.flatten(), flat, 0) or any(_tiled(output, pieces, dim) for dim in range(output.dim()))

    def read(self, name: str, args: Sequence[object]) -> None:
        """Note a function called on tensors, if it reads them."""
        if name in READS and not self._launches.active and not _trusted():
            self.values += sum(t.numel() for t in tensors(list(args[:1])))

    def ran(
        self, func: object, args: Sequence[object], named: Mapping[str, object], call: Callable[[], object]
    ) -> object:
        """Run an operator and note what it did."""
        if self._launches.active:
            return call()
        name = str(func).removeprefix("aten.").split(".")[0]
        mutable = bool(getattr(getattr(func, "_schema", None), "is_mutable", False))
        # What is copied over is no source of a copy.
        read = [t for t in tensors((args[1:] if name == "copy_" else args, named)) if t.numel()]
        ours = bool(read) and all(address(t) in self._known or address(t) not in self._launches.written for t in read)
        before = {address(t) for t in tensors((args, named))}
        result = call()
        produced = [t for t in tensors(result) if t.numel()]
        if name.startswith("empty") or not (mutable or any(address(t) not in before for t in produced)):
            return result
        constant = name.startswith(_CONSTANT)
        self.bytes += sum(t.numel() * t.element_size() for t in [*([] if constant else read), *produced])
        formula = flop_registry.get(getattr(func, "_overloadpacket", None))
        self.flops += int(formula(*args, **named, out_val=result)) if formula else 0
        if ours and not constant:
            with _unseen(self._launches):
                self._keep(produced)
        return result

    def _keep(self, produced: Sequence[torch.Tensor]) -> None:
        """Remember the values, as the tensor shows them and as they lie in its whole storage."""
        for tensor in produced:
            size = tensor.untyped_storage().nbytes()
            self._room -= tensor.numel() * tensor.element_size() + size
            if self._room < 0:
                self._kept.clear()
                return
            whole = tensor.new_empty(0).set_(tensor.untyped_storage(), 0, (size // tensor.element_size(),), (1,))
            self._kept += [tensor.detach().clone(), whole.clone()]


def _tiled(output: torch.Tensor, pieces: Sequence[torch.Tensor], dim: int) -> bool:
    """Whether pieces, one after the other along a dimension, are the output."""
    start, size = 0, output.shape[dim]
    while start < size:
        for piece in pieces:
            length = piece.shape[dim] if piece.dim() == output.dim() else 0
            if 0 < length <= size - start and _equal(output.narrow(dim, start, length), piece):
                start += length
                break
        else:
            return False
    return True


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """The same shape and values; NaN equals NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    other = other.to(one.device)
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _trusted() -> bool:
    """Whether it is an observer of this package, or a launcher of Triton's, that asks: they look at storages, too."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith((_TORCH, __file__)):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and frame.f_code.co_filename.startswith(_TRUSTED)


@contextlib.contextmanager
def _unseen(launches: Launches) -> Iterator[None]:
    """Let observers of this process pass over what is done here."""
    before, launches.active = launches.active, True
    try:
        yield
    finally:
        launches.active = before


class _Operators(TorchDispatchMode):
    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        return self._work.ran(func, args, named, lambda: func(*args, **named))


class _Reads(TorchFunctionMode):
    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        self._work.read(getattr(func, "__name__", ""), args)
        return func(*args, **(kwargs or {}))
