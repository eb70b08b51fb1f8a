"""Theoretical occupancy: which share of a multiprocessor's warps a kernel can keep resident, by what its blocks need.

Pure. What is resident may still wait; how busy a kernel keeps a GPU is not here.
"""

from dataclasses import dataclass

WARP = 32
SUBPARTITIONS = 4
"""Register files of a multiprocessor, each of which serves its own warps."""
REGISTER_UNIT = 256
"""Registers that a warp is given at a time."""
SHARED_UNIT = 128
"""Bytes of shared memory that a block is given at a time."""
SHARED_SYSTEM = 1024
"""Bytes of shared memory that CUDA takes for itself in each block, from compute capability 8.0 on."""


@dataclass(frozen=True)
class Multiprocessor:
    """What is resident on one multiprocessor at most."""

    warps: int
    blocks: int
    shared: int
    """Bytes of shared memory."""
    registers: int = 65536


MULTIPROCESSORS = {
    "sm_80": Multiprocessor(warps=64, blocks=32, shared=164 << 10),
    "sm_86": Multiprocessor(warps=48, blocks=16, shared=100 << 10),
    "sm_87": Multiprocessor(warps=48, blocks=16, shared=164 << 10),
    "sm_89": Multiprocessor(warps=48, blocks=24, shared=100 << 10),
    "sm_90": Multiprocessor(warps=64, blocks=32, shared=228 << 10),
    "sm_100": Multiprocessor(warps=64, blocks=32, shared=228 << 10),
}
"""CUDA C++ Programming Guide, Compute Capabilities, "Technical Specifications per Compute Capability"."""


def occupancy(target: str, registers: int | None, shared: int, warps: int | None) -> float | None:
    """The share of a multiprocessor's warps that are resident, 0 to 1.

    `registers` a thread, `shared` bytes a block, `warps` a block. 0 where not even one block fits; None for a target
    that is not known, or where a number is. The rules are those of CUDA's occupancy calculator (`cuda_occupancy.h`).
    """
    one = MULTIPROCESSORS.get(target)
    if one is None or registers is None or warps is None or warps < 1:
        return None
    a_warp = _rounded(max(registers, 1) * WARP, REGISTER_UNIT)
    by_registers = one.registers // SUBPARTITIONS // a_warp * SUBPARTITIONS // warps
    by_shared = one.shared // _rounded(shared + SHARED_SYSTEM, SHARED_UNIT)
    blocks = min(one.blocks, one.warps // warps, by_registers, by_shared)
    return blocks * warps / one.warps


def _rounded(number: int, unit: int) -> int:
    return -(-number // unit) * unit
