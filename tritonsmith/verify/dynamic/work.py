"""What torch did in one `forward` beside the kernels: its traffic and operations, values handed to Python, and
whether it had made the output already.

Copies are glue, but a transpose that `contiguous()` has written needs no kernel: one that only copies it did nothing.
That shows in the values: some tensor that torch made of the inputs alone holds the output, and the output is no input.
What a kernel merely copied counts as the input it was copied from.
Runs beside the candidate, so its records are evidence, not proof. Large tensors are not looked at (`LIMIT`): a task's
tiny sizes tell. Does not judge: see `conduct`.
"""

import contextlib
import itertools
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
import triton
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry
from triton.runtime import autotuner

from tritonsmith import verify
from tritonsmith.tasks.trees import FLOAT8, wide
from tritonsmith.verify.dynamic.brought import brought
from tritonsmith.verify.dynamic.observe import Launches, address, numbers, tensors

LIMIT = 1 << 26
"""Bytes of torch's results that are kept for the comparison with the output."""
_FEW, _MANY = 8, 1 << 16
"""Elements that tell an order from chance, and how many are looked at."""
_HEAD = 1 << 10
"""Elements that are looked at first of a large tensor."""
_NEARLY = 1e-3
"""Share of a tensor's scale by which an output may differ from what torch made and be that all the same."""
_SEVERAL = 8
"""Floats of an input from which on they are data, of which Python is handed a few at most."""
_UNITS, _ROUNDING = 16.0, 1e-5
"""Units, and the share of a tensor's spread at least, by which rounding may change what is a multiple of another."""
_UNIT8 = 0.5
"""The same of 8-bit floats, of which sixteen units are twice the number itself."""
READS = {
    "tolist", "numpy", "apply_", "map_", "map2_", "storage", "untyped_storage", "__repr__", "__str__", "__format__",
    "__array__", "__dlpack__", "__reduce_ex__", "__deepcopy__", "share_memory_",
}  # fmt: skip
"""Methods that give Python the values of a tensor where no operator is seen; printing switches observers off."""
_GATHERS = {"tensor", "as_tensor", "new_tensor", "tensor_split", "hsplit", "vsplit", "dsplit"}
"""Functions that read the tensors in a list, or those that say where to split, and no operator is seen either."""
_TRUSTED = (os.path.dirname(str(verify.__file__)), os.path.dirname(str(triton.__file__)))
_LENT = str(autotuner.__file__)
"""A file of Triton's that goes through what a candidate hands it, which may compute as it is gone through."""
_TORCH = os.path.dirname(str(torch.__file__))
_CONSTANT = ("empty", "zeros", "ones", "full", "new_", "arange", "scalar_tensor", "fill_", "zero_", "rand")
"""How operators begin whose results hold nothing of their arguments."""


def is_constant(operator: str) -> bool:
    """Whether an operator's results hold nothing of its arguments."""
    name = operator.removeprefix("aten.")
    return name.startswith(_CONSTANT) and not name.startswith("fill_.Tensor")


class Work(contextlib.AbstractContextManager["Work"]):
    """Watches one forward; `given` are the inputs and weights, `limit` the bytes that are kept for the comparison."""

    def __init__(self, launches: Launches, given: Iterable[object], limit: int = LIMIT) -> None:
        self.bytes = self.flops = self.values = self.rounded = self.moved = self.overwritten = 0
        self._launches, self._given = launches, [t for t in tensors(list(given)) if t.numel()]
        self._known = {address(t) for t in self._given}
        self._taken: Counter[int] = Counter()
        """By the address of a storage that was given the bytes that Python was handed of it."""
        self._filled: set[int] = set()
        """Addresses of the storages that hold copies of something."""
        self._kept: list[torch.Tensor] = []
        self._alike: list[torch.Tensor] = []
        """What torch moved of that a kernel had made in the order of what it was given: see `_moved`."""
        self._fresh: set[int] = set()
        """Addresses of the storages that this forward allocated."""
        self._room = limit
        self._looks = limit > 0
        """Whether values mean something: where launches are compiled and not run, memory holds anything."""
        self._modes = contextlib.ExitStack()

    def __enter__(self) -> "Work":
        self._modes.enter_context(_Operators(self))
        self._modes.enter_context(_Reads(self))
        return self

    def __exit__(self, *error: object) -> None:
        self._modes.close()

    def report(self, output: object) -> dict[str, object]:
        """The record as plain data.

        `made` is None where torch's results were too large to keep; `nearly` is whether each output that is no input
        resembles one of them, `rearranged` whether it holds the values of one at other places; `old` are the places of
        outputs in memory that is older than the forward, `rounded` counts the fractions that casts to integers lost,
        `moved` the elements that torch brought to other places, `overwritten` those that held something in whose place
        it put a constant, `handed` is the largest share of an input's floats that Python was given, `lowered` is
        whether integers were found from float32 values that a kernel rounded.
        """
        every, handed = [t.detach() for t in tensors(output)], self._handed()
        old = [place for place, t in enumerate(every) if t.numel() and address(t) not in self._fresh]
        found = self._brought([t for t in every if t.numel()])
        rest = [t for t in found if not self._is_given(t)]
        told = [*numbers(output)] if not found else []
        made = bool(rest or told) and all(map(self._made, rest)) and all(map(self._told, told))
        return {
            "bytes": self.bytes,
            "flops": self.flops,
            "values": self.values,
            "made": made or (None if self._room < 0 else False),
            "nearly": bool(rest) and all(any(resembles(t, piece) for piece in self._kept) for t in rest),
            "rearranged": bool(rest) and all(any(rearranges(t, piece) for piece in self._kept) for t in rest),
            "rounded": self.rounded,
            "moved": self.moved,
            "overwritten": self.overwritten,
            "handed": handed,
            "peeked": self._launches.peeked,
            "lowered": self._launches.lowered and self._exact(found),
            "old": old,
        }

    def _brought(self, outputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """Outputs, and with them what they are held against, on the host if all that is small; no operator is watched
        any more."""
        held = (outputs, self._given, self._kept, self._alike)
        every = iter(brought(*itertools.chain(*held)))
        outputs, self._given, self._kept, self._alike = ([*itertools.islice(every, len(one))] for one in held)
        return outputs

    def _handed(self) -> float:
        several = (t for t in self._given if t.is_floating_point() and t.numel() >= _SEVERAL)
        return max((self._taken[address(t)] / (t.numel() * t.element_size()) for t in several), default=0.0)

    def _hand(self, given: Iterable[torch.Tensor]) -> None:
        for tensor in given:
            self._taken[address(tensor)] += tensor.numel() * tensor.element_size()

    def _overwrites(self, target: torch.Tensor) -> int:
        """How many elements of a part of some memory hold something that is more than a constant.

        Memory that is filled whole is used anew.
        """
        start, size = address(target), target.element_size()
        fresh = self._launches.fresh.get(start)
        whole = target.untyped_storage().nbytes() if fresh is None else fresh.size
        holds = start in self._known or start in self._filled or start in self._launches.written
        if not holds or target.numel() * size >= whole or target.layout != torch.strided:
            return 0
        if fresh is not None:
            with self._launches.unseen(), torch._C.DisableTorchFunction():
                return int((~fresh.bare(target)).sum())
        if (unwritten := self._launches.unwritten.get(start)) is None:
            return target.numel()
        stride, offset = tuple(step * size for step in target.stride()), target.storage_offset() * size
        with self._launches.unseen(), torch._C.DisableTorchFunction():
            bare = torch.from_numpy(unwritten).as_strided(target.shape, stride, offset)
            return int((~bare).sum())

    def _is_one_number(self, source: object) -> bool:
        """Whether what is copied is the same number everywhere, and nothing that the forward was given."""
        if not (self._looks and isinstance(source, torch.Tensor) and source.numel()) or address(source) in self._known:
            return False
        with self._launches.unseen(), torch._C.DisableTorchFunction():
            return bool((source == source.flatten()[0]).all())

    def _exact(self, outputs: Sequence[torch.Tensor]) -> bool:
        """Whether places or truths are asked of float32 values: rounding these changes seldom one, and then wholly."""
        kinds = {t.dtype for t in (*self._given, *outputs) if t.is_floating_point()}
        return kinds == {torch.float32} and any(not t.is_floating_point() for t in outputs)

    def _is_given(self, output: torch.Tensor) -> bool:
        """Whether an output holds the values of an input, as they lie."""
        return any(_equal(output.flatten(), other.detach().flatten()) for other in self._given)

    def _made(self, output: torch.Tensor) -> bool:
        """Whether an output is one of torch's results, or some of them side by side."""
        pieces = [piece.to(output.device) for piece in self._kept if piece.dtype == output.dtype]
        flat = [piece.flatten() for piece in pieces]
        whole = _tiled(output.flatten(), flat, 0) or any(_tiled(output, pieces, dim) for dim in range(output.dim()))
        return whole or self._moved(output)

    def _told(self, number: float) -> bool:
        """Whether a number of Python's is one that torch made; a fraction may be so nearly."""
        single = [float(piece) for piece in self._kept if piece.numel() == 1 and not piece.is_complex()]
        near = _NEARLY if isinstance(number, float) else 0.0
        return any(math.isclose(number, other, rel_tol=near) for other in single)

    def _moved(self, output: torch.Tensor) -> bool:
        """Whether all values of an output are inputs' that torch brought to their places, whatever kernels did to them
        on the way and undid afterwards: a change of signs, say."""
        if self._ordered(output) or not any(_orders(output, piece) for piece in self._alike):
            return False
        values = [wide(t.detach()).flatten() for t in self._given if t.dtype == output.dtype]
        return bool(values) and bool(torch.isin(wide(output), torch.cat(values).to(output.device)).all())

    def _ordered(self, tensor: torch.Tensor) -> bool:
        """Whether what a kernel wrote rises, or falls, with something of the same sizes that it was given."""
        return any(_orders(tensor, other) for other in self._given)

    def read(self, name: str, args: Sequence[object], named: Mapping[str, object]) -> None:
        """Note a function called on tensors, if it reads them."""
        if self._launches.active:
            return
        if name in READS and not _trusted():
            given = list(tensors(list(args[:1])))
            count = sum(t.numel() for t in given)
            self.values += count
            self._launches.peeked |= any(address(t) in self._launches.written for t in given)
            self._hand(given)
            self._launches.hand(count)
        elif name in _GATHERS and (given := [*args, *named.values()]):
            own = given[1:] if isinstance(given[0], torch.Tensor) else given
            self.values += sum(t.numel() for t in tensors(own))

    def ran(
        self, func: object, args: Sequence[object], named: Mapping[str, object], call: Callable[[], object]
    ) -> object:
        """Run an operator and note what it did."""
        self._launches.look((args, named))
        if self._launches.active:
            return call()
        name = str(func).removeprefix("aten.").split(".")[0]
        mutable = bool(getattr(getattr(func, "_schema", None), "is_mutable", False))
        # What is copied over is no source of a copy.
        read = [t for t in tensors((args[1:] if name == "copy_" else args, named)) if t.numel()]
        copies = [t for t in read if address(t) in self._launches.written and address(t) not in self._known]
        with self._launches.unseen():
            ours = bool(read) and all(map(self._copied, copies))
            alike = bool(copies) and not ours and all(map(self._ordered, copies))
            # Who looks at an output, as Triton and the runner do, has made nothing of it: it is a kernel's cast.
            looks = name == "detach" and ours and all(self._copied(t, self._given) for t in copies)
        before = {address(t) for t in tensors((args, named))}
        if name == "_local_scalar_dense":
            self._hand(read)
        target = args[0] if args and name in ("fill_", "zero_", "copy_") else None
        if isinstance(target, torch.Tensor) and (count := self._overwrites(target)):
            self.overwritten += count if name != "copy_" or self._is_one_number(args[1]) else 0
        result = call()
        produced = [t for t in tensors(result) if t.numel()]
        if self._looks and name in ("_to_copy", "copy_"):
            with self._launches.unseen():
                self.rounded += sum(_changed(source, t) for source in read[:1] for t in produced[:1])
        # `torch.tensor` allocates where no operator is seen, and lifts what it made.
        self._fresh |= {address(t) for t in produced} - (set() if name.startswith("lift") else before)
        views = not (mutable or any(address(t) not in before for t in produced))
        if alike:
            self._alike += produced
        if name.startswith("empty") or (views and (looks or not (ours and copies))):
            return result
        constant = is_constant(str(func))
        if read and not constant:
            self._filled |= {address(t) for t in produced}
        moved = [*([] if constant else read), *produced] if not views else []
        self.bytes += sum(t.numel() * t.element_size() for t in moved)
        formula = flop_registry.get(getattr(func, "_overloadpacket", None))
        self.flops += int(formula(*args, **named, out_val=result)) if formula else 0
        if read and not constant:
            with self._launches.unseen():
                sources = read if name != "copy_" else [*tensors(args[1])]
                self.moved += sum(t.numel() for t in produced if not self._in_order(t, sources))
        if ours and not constant:
            with self._launches.unseen():
                self._keep(produced)
        return result

    def _copied(self, tensor: torch.Tensor, of: Sequence[torch.Tensor] | None = None) -> bool:
        """Whether what a kernel wrote is what it was given, or what torch had made of that; or is one `of` others."""
        if self._room < 0 or tensor.untyped_storage().nbytes() > LIMIT:
            return False
        flat = tensor.detach().flatten()
        others = (*self._given, *self._kept) if of is None else of
        known = [t.detach().flatten() for t in others if t.numel() == flat.numel()]
        return any(_equal(flat, same) for other in known for same in _read_as(other, flat.dtype))

    def _in_order(self, tensor: torch.Tensor, sources: Sequence[torch.Tensor]) -> bool:
        """Whether memory holds what was given, or a source's memory, in the same order: a copy, a cast."""
        if not self._looks or tensor.numel() < _FEW or tensor.untyped_storage().nbytes() > LIMIT:
            return True
        found = _whole(tensor)
        known = [t.detach().flatten() for t in self._given] + [_whole(t) for t in sources if t.dtype != torch.bool]
        return any(t.numel() == found.numel() and _equal(t.to(found.dtype), found) for t in known)

    def _keep(self, produced: Sequence[torch.Tensor]) -> None:
        """Remember the values, as the tensor shows them and as they lie in its whole storage."""
        for tensor in produced:
            size = tensor.untyped_storage().nbytes()
            self._room -= tensor.numel() * tensor.element_size() + size
            if self._room < 0:
                self._kept.clear()
                return
            self._kept += [tensor.detach().clone(), _whole(tensor).clone()]


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor's whole storage."""
    storage = tensor.untyped_storage()
    return tensor.new_empty(0).set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))


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


def _changed(source: torch.Tensor, cast: torch.Tensor) -> int:
    """How many values a cast to integers or truths changed; memory nothing wrote holds NaN."""
    if cast.is_floating_point() or cast.is_complex() or source.is_complex():
        return 0
    if not source.is_floating_point():  # a narrower integer holds the remainder
        return int(((source != cast.to(source.dtype)) & (source != _poison(source.dtype))).sum())
    source = wide(source)
    if not source.isfinite().any():
        return 0
    whole = (source == 0) | (source == 1) if cast.dtype == torch.bool else source == source.trunc()
    return int((source.isfinite() & ~whole).sum())


def _poison(kind: torch.dtype) -> int:
    """What integers nothing wrote hold."""
    return 2 if kind == torch.bool else torch.iinfo(kind).max


def _read_as(tensor: torch.Tensor, kind: torch.dtype) -> Iterator[torch.Tensor]:
    """A flat tensor as a kernel may have copied it into one of another type: its numbers, or its bits."""
    if tensor.dtype == kind or (tensor.is_floating_point() and kind.is_floating_point):
        yield tensor.to(kind)
    elif tensor.element_size() == kind.itemsize:
        yield tensor.contiguous().view(kind)


def _orders(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether small tensors of floats rise or fall together, place by place, and rest only together."""
    if one.numel() != other.numel() or not _FEW <= one.numel() <= _MANY or not one.is_floating_point():
        return False
    if not other.is_floating_point() or one.device != other.device:
        return False
    one, other = (wide(t.detach()).flatten() for t in (one, other))
    order = other.argsort()
    steps, beside = (t[order].diff() for t in (one, other))
    return bool(((steps > 0) == (beside > 0)).all() or ((steps < 0) == (beside > 0)).all()) and bool((steps != 0).any())


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """The same shape and values; NaN equals NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.is_cuda and one.dim() == 1 and one.numel() > _HEAD and not _equal(*brought(one[:_HEAD], other[:_HEAD])):
        return False  # what is another tensor is so from its first values on, which are asked about on the host
    other = other.to(one.device)
    return bool(((one == other) | ((one != one) & (other != other))).all())


def resembles(output: torch.Tensor, piece: torch.Tensor) -> bool:
    """Whether an output is nearly another tensor of its sizes, or that one times a number, plus a number."""
    if output.shape != piece.shape or output.numel() < _FEW or not output.is_floating_point():
        return False
    if not piece.is_floating_point():
        return False
    one, other = (t.detach().double().flatten() for t in (output, piece.to(output.device)))
    if not bool(one.isfinite().all() & other.isfinite().all()):
        return False
    if float((one - other).square().mean()) <= (_NEARLY**2) * float(one.square().mean()):
        return True
    one, other = one - one.mean(), other - other.mean()
    spread, shared = other.square().sum(), (one * other).sum()
    if float(spread) == 0.0 or float(one.square().sum()) == 0.0:
        return False
    rest = one - shared / spread * other
    units = _UNIT8 if output.dtype in FLOAT8 else _UNITS
    rounding = units * torch.finfo(output.dtype).eps
    return float(rest.square().sum()) <= max(rounding, _ROUNDING) ** 2 * float(one.square().sum())


def rearranges(output: torch.Tensor, piece: torch.Tensor) -> bool:
    """Whether an output holds exactly the values of another tensor, in another order."""
    if output.numel() != piece.numel() or output.dtype != piece.dtype or not output.is_floating_point():
        return False
    one, other = (wide(t.detach()).flatten() for t in (output, piece.to(output.device)))
    if torch.equal(one, other):
        return False
    if any(map(torch.ne, one.aminmax(), other.aminmax())):  # nearly all: sorting takes several times the memory
        return False
    one, other = one.sort().values, other.sort().values
    return torch.equal(one, other) and one.unique_consecutive().numel() >= _FEW


def _trusted() -> bool:
    """Whether it is an observer of this package, or a launcher of Triton's, that asks: they look at storages, too."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith((_TORCH, __file__)):
        frame = frame.f_back  # type: ignore[assignment]
    name = frame.f_code.co_filename if frame is not None else ""
    return name.startswith(_TRUSTED) and name != _LENT


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
        self._work.read(getattr(func, "__name__", ""), args, kwargs or {})
        return func(*args, **(kwargs or {}))
