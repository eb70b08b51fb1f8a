"""The share of a forward's work that its Triton kernels do, as KernelBench's hybrid candidates make it a question.

Work is the roofline's time: the longer of traffic over bandwidth and operations over the peak rate (Williams et al.
2009, section 3), summed over the kernels on one side and torch's operators on the other; launch overheads and views
count nothing. Under `strict` what is left for torch is glue. Measures no time: see `timing`.
"""

from collections.abc import Mapping

from tritonsmith.verify.roofline import HARDWARE

_MOST = 1 << 60


def triton_share(seen: Mapping[str, object], target: str, task_flops: float | None = None) -> float | None:
    """From 0 (torch did it all) to 1; None where nothing was recorded.

    `seen` is a runner's answer. `task_flops` are the reference's matrix operations, where they are known: what torch
    did not do of them is the kernels', no more, whatever they multiply besides, and all where a device does not count.
    """
    launches, work = seen.get("launches"), seen.get("work")
    if not isinstance(launches, list) or not isinstance(work, Mapping):
        return None
    hardware = HARDWARE.get(target, HARDWARE["sm_90"])
    rows = [row for row in launches if isinstance(row, Mapping)]
    flops = sum(_number(row, "dot_flops") for row in rows)
    if task_flops is not None:
        left = max(0.0, task_flops - _number(work, "flops"))
        flops = min(flops, left) if flops else left
    moved = sum(_number(row, name) for row in rows for name in ("bytes_loaded", "bytes_stored"))
    triton = max(moved / hardware.bandwidth, flops / hardware.float32)
    torch = max(_number(work, "bytes") / hardware.bandwidth, _number(work, "flops") / hardware.float32)
    return round(triton / (triton + torch), 4) if triton + torch else None


def _number(row: Mapping[str, object], key: str) -> float:
    """A count that a runner gave: never negative, never infinite."""
    value = row.get(key, 0)
    return float(min(max(value, 0), _MOST)) if isinstance(value, (int, float)) and value == value else 0.0
