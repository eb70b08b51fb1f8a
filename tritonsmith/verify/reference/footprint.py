"""Counts what a reference moves and computes, operator by operator, on tensors without data.

One entry an operator that torch would run: the bytes it reads and writes, how many of them were touched recently
enough to lie in the L2 cache, its operations, and which kind of library kernel it is. Knows of no device's speed:
`roofline` turns counts into seconds. References that need data to run have no footprint.
"""

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from tritonsmith.tasks.format import TaskModule
from tritonsmith.types import Task
from tritonsmith.verify.dynamic.conduct import GLUE_OPERATORS
from tritonsmith.verify.dynamic.observe import tensors

Kind = Literal["stream", "reduce", "window", "scan", "matmul", "convolution", "depthwise"]

FILLS = {"fill_", "zeros", "zero_", "full", "ones", "zeros_like", "ones_like", "full_like"}
MOVING = FILLS | {
    "clone", "copy_", "_to_copy", "cat", "stack", "constant_pad_nd", "repeat", "flip", "roll", "narrow_copy",
}  # fmt: skip
"""Glue that costs traffic all the same."""
SCANS = {"cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"}
REDUCTIONS = {
    "sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "var", "std", "var_mean", "norm", "prod",
    "linalg_vector_norm", "_softmax", "_log_softmax", "logsumexp", "native_layer_norm", "native_group_norm",
    "native_batch_norm", "nll_loss_forward", "mse_loss", "smooth_l1_loss", "huber_loss", "any", "all",
}  # fmt: skip
WINDOWS = ("avg_pool", "max_pool", "adaptive_", "upsample_", "flip", "roll", "im2col", "col2im", "unfold")
"""Beginnings of the names of operators that work out for each element of the result where to read."""
LOOKUPS = {"embedding", "gather", "index", "index_select", "nll_loss_forward", "nll_loss2d_forward", "take"}
"""Operators that read of their first tensor only what the indices ask for."""
PASSES = {"logsumexp": 5, "mse_loss": 2, "smooth_l1_loss": 2, "huber_loss": 2, "native_group_norm": 1}
"""Passes over the largest input that one operator makes beyond reading it once, from ATen's sources:
`logsumexp` (ReduceOps.cpp) is a maximum, a subtraction, an exponential in place and a sum; a reduced loss (Loss.cpp)
writes its elements, then reads them; a group norm (group_norm_kernel.cu) reads for the moments, then again."""
L2_BYTES = 50e6 * 0.6
"""What stays in an H100's or H200's 50 MB (NVIDIA H100 whitepaper) while other data streams through it: an estimate."""


@dataclass(frozen=True)
class Cost:
    """What one operator or launch needs."""

    bytes: float
    """Bytes read and written."""
    flops: float
    cached: float = 0.0
    """Those of the bytes that the L2 cache answers."""
    kind: Kind = "stream"


@dataclass(frozen=True)
class Footprint:
    """A reference at one size: its operators, and the bytes that no implementation can avoid."""

    costs: tuple[Cost, ...]
    floor_bytes: float
    half: bool = False
    """Whether the result is in a 16-bit type, so that products run on tensor cores."""
    stored: float = 0.0
    """Bytes of the results, part of `floor_bytes`."""
    memory: float = 0.0
    """Bytes of inputs, weights and results, whether they are used or not."""

    @property
    def flops(self) -> float:
        """Operations of the matrix products and convolutions."""
        return sum(cost.flops for cost in self.costs)


def footprint(task: Task) -> Footprint | None:
    """Count the reference on meta tensors; None where it does not run without data."""
    return _footprint(task.source)


@functools.lru_cache(1024)  # every candidate for a task asks, several times
def _footprint(source: str) -> Footprint | None:
    task = Task(id="footprint", level=1, source=source)
    try:
        module = TaskModule.of(task)
        with torch.device("meta"):
            inputs, model = module.inputs(0, "meta"), module.model(0, "meta")
            with torch.no_grad(), _Counting() as counting:
                output = model(*inputs)
    except Exception:  # data-dependent forwards fail on meta tensors in the user's code
        return None
    results = list(tensors(output))
    given = [*tensors(inputs), *model.parameters()]
    needed = sum(min(size(t), counting.read.get(_storage(t), 0.0)) for t in given)
    half = bool(results) and all(t.dtype in (torch.float16, torch.bfloat16) for t in results)
    stored = sum(map(size, results))
    return Footprint(tuple(counting.costs), needed + stored, half, stored, sum(map(size, given)) + stored)


def size(tensor: torch.Tensor) -> float:
    """Bytes of memory behind a tensor: what an expanded dimension repeats counts once."""
    elements = 1.0
    for length, stride in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= length if stride else min(length, 1)
    return elements * tensor.element_size()


class _Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.costs: list[Cost] = []
        self.read: dict[int, float] = {}
        """Bytes read of each storage, by any operator."""
        self._recent: OrderedDict[int, float] = OrderedDict()
        self._cached = 0.0
        """Bytes of all of them."""
        self._alive: list[object] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        result = func(*args, **named)
        self._alive.append(result)  # a storage that is freed would lend its address to the next one
        name = str(func).removeprefix("aten.").split(".")[0]
        if name in MOVING or name not in GLUE_OPERATORS:
            formula = flop_registry.get(getattr(func, "_overloadpacket", None))
            flops = float(formula(*args, **named, out_val=result)) if formula else 0.0
            moved, cached = self._moved(name, args, named, result)
            self.costs.append(Cost(moved, flops, cached, _kind(name, args, flops)))
        return result

    def _moved(
        self, name: str, args: Sequence[object], named: Mapping[str, object], result: object
    ) -> tuple[float, float]:
        """Bytes that an operator moves, and how many of those that it reads are in the cache."""
        written = {_span(t): t for t in tensors(result)}
        read = {} if name in FILLS else {_span(t): t for t in tensors((args, named))}
        most, moved, cached = 0.0, 0.0, 0.0
        for place, tensor in enumerate(read.values()):
            looked_up = name in LOOKUPS and place == 0
            amount = min(size(tensor), sum(map(size, written.values()))) if looked_up else size(tensor)
            here = _storage(tensor)
            self.read[here] = self.read.get(here, 0.0) + amount
            cached += min(amount, self._recent.get(here, 0.0))
            moved, most = moved + amount, max(most, amount)
            self._touch(here, amount)
        for tensor in written.values():
            moved += size(tensor)
            self._touch(_storage(tensor), size(tensor))
        return moved + _passes(name, args) * most, cached

    def _touch(self, storage: int, amount: float) -> None:
        """Remember that a storage was used: the cache holds the latest, and nothing of one larger than itself."""
        self._cached -= self._recent.pop(storage, 0.0)
        if amount <= L2_BYTES:
            self._recent[storage] = amount
            self._cached += amount
        while self._cached > L2_BYTES:
            self._cached -= self._recent.popitem(last=False)[1]


def _passes(name: str, args: Sequence[object]) -> int:
    if name == "native_batch_norm":  # (input, weight, bias, mean, variance, training, ...): own moments, one pass more
        return int(len(args) > 5 and args[5] is True)
    return PASSES.get(name, 0)


def _kind(name: str, args: Sequence[object], flops: float) -> Kind:
    if name in SCANS:
        return "scan"
    if name in REDUCTIONS:
        return "reduce"
    if name.removeprefix("_").startswith(WINDOWS):
        return "window"
    if "convolution" in name:
        groups = args[8] if len(args) > 8 else 1
        return "depthwise" if isinstance(groups, int) and groups > 1 and _channels(args) == groups else "convolution"
    return "matmul" if flops else "stream"


def _channels(args: Sequence[object]) -> int:
    first = args[0]
    return first.shape[1] if isinstance(first, torch.Tensor) and first.dim() > 1 else 0


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _span(tensor: torch.Tensor) -> tuple[object, ...]:
    return _storage(tensor), tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
