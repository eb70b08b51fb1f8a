"""Predicts run times from bytes, operations and launches (Williams et al. 2009, "Roofline", section 3).

Time of one operator or launch = max(bytes / bandwidth, flops / peak) + a launch's overhead. The reference is
counted operator by operator at the task's real sizes, on tensors without data. A candidate's traffic is
counted at the sizes the interpreter can bear and carried over to the real ones in proportion to the task's
own inputs, outputs and operations. Caches, occupancy and tail effects are not modelled: it is a prediction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from tritonsmith.tasks.format import TaskModule
from tritonsmith.types import Interval, Task, Timing
from tritonsmith.verify.observe import tensors
from tritonsmith.verify.policy import GLUE_OPERATORS

MOVING = {
    "clone",
    "copy_",
    "_to_copy",
    "cat",
    "stack",
    "constant_pad_nd",
    "repeat",
    "fill_",
    "zeros",
    "zero_",
    "full",
    "ones",
}
"""Glue that costs traffic all the same."""
_MOST, _MOST_COPIES = 1 << 60, 1 << 16


@dataclass(frozen=True)
class Hardware:
    """What a GPU can do at best."""

    bandwidth: float
    """Bytes a second."""
    float32: float
    """Operations a second in float32 on the CUDA cores."""
    float16: float
    """Operations a second in float16 or bfloat16 on the tensor cores."""
    launch: float = 3e-6
    """Seconds from one kernel's end to the next one's start."""


HARDWARE = {
    "sm_90": Hardware(4.3e12, 67e12, 790e12),
    "sm_80": Hardware(1.55e12, 19.5e12, 312e12),
    "sm_86": Hardware(0.6e12, 31e12, 125e12),
    "sm_89": Hardware(0.86e12, 91e12, 242e12),
    "sm_100": Hardware(8.0e12, 75e12, 2250e12),
    "gfx942": Hardware(5.3e12, 163e12, 1307e12),
}
"""H200: copy bandwidth and bf16 rate measured on one H200; float32 and the other GPUs by their data sheets
(A100-40GB, A10G, L4-class Ada, B200, MI300X)."""


@dataclass(frozen=True)
class Cost:
    """What one operator or launch needs."""

    bytes: float
    flops: float


@dataclass(frozen=True)
class Footprint:
    """A reference at one size: its operators, and the bytes that no implementation can avoid."""

    costs: tuple[Cost, ...]
    floor_bytes: float

    @property
    def flops(self) -> float:
        """Operations of the matrix products and convolutions."""
        return sum(cost.flops for cost in self.costs)


def footprint(task: Task) -> Footprint | None:
    """Count the reference on meta tensors; None where it does not run without data."""
    try:
        module = TaskModule.of(task)
        with torch.device("meta"):
            inputs, model = module.inputs(0, "meta"), module.model(0, "meta")
            with torch.no_grad(), _Counting() as counting:
                output = model(*inputs)
    except Exception:  # data-dependent forwards fail on meta tensors in the user's code
        return None
    floor = sum(map(_bytes, [*tensors(inputs), *model.parameters(), *tensors(output)]))
    return Footprint(tuple(counting.costs), float(floor))


class _Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.costs: list[Cost] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        result = func(*args, **named)
        name = str(func).removeprefix("aten.").split(".")[0]
        if name in MOVING or name not in GLUE_OPERATORS:
            moved = sum(map(_bytes, [*tensors((args, named)), *tensors(result)]))
            formula = flop_registry.get(getattr(func, "_overloadpacket", None))
            flops = float(formula(*args, **named, out_val=result)) if formula else 0.0
            self.costs.append(Cost(float(moved), flops))
        return result


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def predict(
    launches: Sequence[Mapping[str, object]],
    operators: Mapping[str, object],
    small: Footprint,
    real: Footprint,
    target: str,
    half: bool = False,
) -> Timing:
    """Predicted times of reference and candidate at the real sizes.

    `launches` (rows with bytes_loaded, bytes_stored, dot_flops) were counted at the small sizes.
    """
    hardware = HARDWARE.get(target, HARDWARE["sm_90"])
    peak = hardware.float16 if half else hardware.float32
    grow_bytes = real.floor_bytes / max(small.floor_bytes, 1.0)
    dots = sum(_number(row, "dot_flops") for row in launches)
    # Tiles padded at small sizes are full at real ones: the candidate is charged the reference's operations.
    mine = [
        Cost(
            grow_bytes * (_number(row, "bytes_loaded") + _number(row, "bytes_stored")),
            real.flops * _number(row, "dot_flops") / dots if dots else 0.0,
        )
        for row in launches
    ]
    # Copies that the candidate leaves to torch cost at least one pass over the smallest possible traffic.
    moving = (name for name in operators if name.removeprefix("aten.").split(".")[0] in MOVING)
    copies = min(int(sum(_number(operators, name) for name in moving)), _MOST_COPIES)
    mine += [Cost(real.floor_bytes / 2, 0.0)] * copies
    reference, candidate = (_seconds(costs, hardware, peak) for costs in (real.costs, mine))
    least = Cost(real.floor_bytes, real.flops)
    speedup = reference / candidate if candidate else 0.0
    return Timing(
        kind="predicted",
        reference_ms=1e3 * reference,
        candidate_ms=1e3 * candidate,
        speedup=Interval(median=speedup, low=speedup, high=speedup),
        bytes_moved=int(sum(cost.bytes for cost in mine)),
        flops=int(real.flops),
        roofline_share=min(1.0, _seconds([least], hardware, peak) / candidate) if candidate else None,
    )


def _seconds(costs: Sequence[Cost], hardware: Hardware, peak: float) -> float:
    return sum(max(cost.bytes / hardware.bandwidth, cost.flops / peak) + hardware.launch for cost in costs)


def _number(row: Mapping[str, object], key: str) -> float:
    """A count that a runner gave: never negative, never infinite."""
    value = row.get(key, 0)
    return float(min(max(value, 0), _MOST)) if isinstance(value, (int, float)) and value == value else 0.0
