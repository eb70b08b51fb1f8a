"""Predicts run times from bytes, operations and launches (Williams et al. 2009, "Roofline", section 3).

Time of one operator or launch = max(bytes / bandwidth, flops / peak) + a launch's overhead, each limit taken with the
share of it that such kernels reach (`Efficiency`). The reference is counted by `footprint` at the task's real sizes. A
candidate's traffic is counted at the sizes the interpreter can bear and carried over to the real ones in proportion to
the task's own floor. Not modelled: occupancy, tails, uncoalesced access, what is read again after it left the cache,
work that a candidate saves by knowing its inputs, and the host's time to issue a call, which timing hides.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tritonsmith.types import Interval, Task, Timing
from tritonsmith.verify.reference.footprint import FILLS, L2_BYTES, MOVING, Cost, Footprint, Kind, footprint

__all__ = [
    "HARDWARE", "Cost", "Efficiency", "Footprint", "Hardware", "beside", "floor_seconds", "footprint", "predict",
    "reference_seconds",
]  # fmt: skip

_MOST, _MOST_COPIES = 1 << 60, 1 << 16
_COUNTED = "bytes_loaded", "bytes_stored", "dot_flops", "dot_parts"


@dataclass(frozen=True)
class Hardware:
    """What a GPU can do at best."""

    bandwidth: float
    """Bytes a second that a copy moves."""
    float32: float
    """Operations a second in float32 on the CUDA cores."""
    float16: float
    """Operations a second in float16 or bfloat16 on the tensor cores."""
    launch: float = 3e-6
    """Seconds on the device from one kernel's last byte to the next one's first."""
    l2: float = 1.5
    """Bandwidth of the L2 cache over that of the memory (5.5 to 7 TB/s were read on an H100)."""


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
NAMED = {"H100 80GB HBM3": Hardware(3.0e12, 67e12, 790e12)}
"""GPUs that share their target with another one, by a part of their name: a copy was seen at 3.0 of the data sheet's
3.35 TB/s."""


@dataclass(frozen=True)
class Efficiency:
    """Which share of the bandwidth, or of the peak rate, kernels of a kind reach."""

    bandwidth: Mapping[Kind, float] = field(
        default_factory=lambda: {"reduce": 0.9, "window": 0.7, "scan": 0.4, "depthwise": 0.4}
    )
    """Of the library's kernels; 1 where a kind is not listed."""
    float32: Mapping[Kind, float] = field(default_factory=lambda: {"matmul": 0.75, "convolution": 0.6})
    """Of the library's products on CUDA cores: cuBLAS's sgemm reaches about 50 of an H100's 67 TFLOP/s."""
    float16: Mapping[Kind, float] = field(default_factory=lambda: {"matmul": 0.8, "convolution": 0.6})
    """Of the library's products on tensor cores."""
    dot_float32: float = 0.4
    """Of `tl.dot` with IEEE float32: multiplications and additions on CUDA cores, operands from shared memory."""
    dot_float16: float = 0.6
    """Of `tl.dot` on tensor cores in a kernel that nobody tuned."""
    dot_tf32x3: float = 0.5
    """The same of float32 made of three products in TF32, whose rate is half of float16's: 66 to 73 TFLOP/s for a
    linear layer of 1024 x 8192 x 8192 on one H200, where IEEE's reached 14 to 25 and cuBLAS 51."""


EFFICIENCY = Efficiency()
"""Estimates; `benchmarks/roofline.py` prints what measurements imply for each of them."""


def floor_seconds(real: Footprint, target: str, name: str = "") -> float:
    """The least time that the hardware's limits allow for a task: one launch, every byte once, every operation.

    `name` is the GPU's, where there is one.
    """
    hardware = _hardware(target, name)
    peak = hardware.float16 if real.half else hardware.float32
    return max(real.floor_bytes / hardware.bandwidth, real.flops / peak) + hardware.launch


def reference_seconds(real: Footprint, target: str, efficiency: Efficiency = EFFICIENCY) -> float:
    """Predicted time of a reference, operator by operator."""
    hardware = _hardware(target)
    peak, shares = hardware.float32, efficiency.float32
    if real.half:
        peak, shares = hardware.float16, efficiency.float16
    return sum(
        _seconds(cost, hardware, efficiency.bandwidth.get(cost.kind, 1.0), peak * shares.get(cost.kind, 1.0))
        for cost in real.costs
    )


def predict(
    launches: Sequence[Mapping[str, object]],
    operators: Mapping[str, object],
    small: Footprint,
    real: Footprint,
    target: str,
    efficiency: Efficiency = EFFICIENCY,
    whole: Sequence[Mapping[str, object]] | None = None,
) -> Timing:
    """Predicted times of reference and candidate at the real sizes.

    `launches` (rows with name and the counts of `_COUNTED`) were counted at the small sizes; `whole` are the
    launches at the real ones, by name, where they are known.
    """
    hardware = _hardware(target)
    in_parts = hardware.float32 * efficiency.dot_float32 / (hardware.float16 / 6 * efficiency.dot_tf32x3)
    mine = _launches(_as_often(launches, whole or ()), operators, small, real, 1.0 if real.half else in_parts)
    rate = hardware.float16 * efficiency.dot_float16 if real.half else hardware.float32 * efficiency.dot_float32
    candidate = sum(_seconds(cost, hardware, 1.0, rate) for cost in mine)
    # Of a view nothing is launched: no kernel is compared with less than a launch.
    reference = max(reference_seconds(real, target, efficiency), hardware.launch)
    speedup = reference / candidate if candidate else 0.0
    return Timing(
        kind="predicted",
        reference_ms=1e3 * reference,
        candidate_ms=1e3 * candidate,
        speedup=Interval(median=speedup, low=speedup, high=speedup),
        bytes_moved=int(sum(cost.bytes for cost in mine)),
        flops=int(real.flops),
        roofline_share=min(1.0, floor_seconds(real, target) / candidate) if candidate else None,
    )


def beside(
    measured: Timing, task: Task, launches: Sequence[Mapping[str, object]], target: str, name: str = ""
) -> Timing:
    """The measured times with the work they were needed for, and the share of the limit of the GPU of this name."""
    real = footprint(task)
    if real is None:
        return measured
    moved = int(sum(_number(row, key) for row in launches for key in ("bytes_loaded", "bytes_stored")))
    floor = floor_seconds(real, target, name)
    share = min(1.0, 1e3 * floor / measured.candidate_ms) if measured.candidate_ms and target in HARDWARE else None
    return measured.model_copy(
        update={
            "bytes_moved": moved or None,
            "flops": int(real.flops),
            "roofline_share": share,
        }
    )


def _as_often(
    rows: Sequence[Mapping[str, object]], whole: Sequence[Mapping[str, object]]
) -> Sequence[Mapping[str, object]]:
    """The counted launches, each kernel as often as it is launched at the real sizes, its traffic divided among them.

    Left alone if other kernels are launched there: nothing was counted of those.
    """
    counted, real = (Counter(str(row.get("name")) for row in side) for side in (rows, whole))
    if counted.keys() != real.keys() or counted == real:
        return rows
    found: list[Mapping[str, object]] = []
    for name in dict.fromkeys(str(row.get("name")) for row in rows):
        mine = [row for row in rows if str(row.get("name")) == name]
        parts = {key: sum(_number(row, key) for row in mine) / real[name] for key in _COUNTED}
        found += [parts] * real[name]
    return found


def _launches(
    rows: Sequence[Mapping[str, object]],
    operators: Mapping[str, object],
    small: Footprint,
    real: Footprint,
    in_parts: float,
) -> list[Cost]:
    """What each launch, and what torch does beside, costs; products `in_parts` so many times what others do."""
    grow = real.floor_bytes / max(small.floor_bytes, 1.0)
    moved = [(grow * _number(row, "bytes_loaded"), grow * _number(row, "bytes_stored")) for row in rows]
    dots = [_number(row, "dot_flops") for row in rows]
    parts = [min(_number(row, "dot_parts"), dot) for row, dot in zip(rows, dots, strict=True)]
    products, whole = sum(dots), real.flops  # of thousands of launches and operators each
    costs, before = [], 0.0
    for (loaded, stored), dot, part in zip(moved, dots, parts, strict=True):
        # Tiles padded at small sizes are full at real ones: the candidate is charged the reference's operations.
        flops = whole * (dot - part + in_parts * part) / products if dot else 0.0
        cached = min(loaded, before) if before <= L2_BYTES else 0.0
        costs.append(Cost(loaded + stored, flops, cached))
        before = stored
    # What the candidate leaves to torch: a copy costs at least one pass over the smallest possible traffic, a fill is
    # of the size of the results, which is what atomic additions need.
    for part, names in ((real.stored, FILLS), (real.floor_bytes / 2, MOVING - FILLS)):
        found = (name for name in operators if name.removeprefix("aten.").split(".")[0] in names)
        count = min(int(sum(_number(operators, name) for name in found)), _MOST_COPIES)
        costs += [Cost(part, 0.0)] * count
    return costs


def _hardware(target: str, name: str = "") -> Hardware:
    named = next((one for part, one in NAMED.items() if part in name), None)
    return named or HARDWARE.get(target, HARDWARE["sm_90"])


def _seconds(cost: Cost, hardware: Hardware, share: float, rate: float) -> float:
    streamed = (cost.bytes - cost.cached * (1.0 - 1.0 / hardware.l2)) / (hardware.bandwidth * share)
    return max(streamed, cost.flops / rate) + hardware.launch


def _number(row: Mapping[str, object], key: str) -> float:
    """A count that a runner gave: never negative, never infinite."""
    value = row.get(key, 0)
    return float(min(max(value, 0), _MOST)) if isinstance(value, (int, float)) and value == value else 0.0
