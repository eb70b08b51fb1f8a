"""Launches of Triton before 3.7 that need no C compiler.

Triton 3.6 writes a program in C for each list of argument types, and compiles it in each process: 0.25 s, a third of
what a kernel of middling size takes to be compiled itself. Plain arguments (tensors on the GPU, numbers) are handed to
the driver from here; for anything else, and for what the driver refuses, Triton's own launcher is made and called.
"""

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tritonsmith.verify.process.cuda_driver import library

_INTEGERS = {
    "i1": ctypes.c_int8, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u1": ctypes.c_uint8, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
}  # fmt: skip
_TENSORS = (torch.Tensor, torch.nn.Parameter)
_MOST = (1 << 31) - 1
_WARP = 32

Slot = Any
"""A number of `ctypes`, whose classes have no public base."""


@functools.cache
def _launch() -> Callable[..., int]:
    return library()["cuLaunchKernel"]


class Launcher:
    """Stands for Triton's `CudaLauncher`, in a process of one thread: each launch has its numbers in the same places,
    from where the driver copies them. Python puts them there, which takes the host longer than Triton's own; how much
    is not measured."""

    def __init__(self, own: Callable[..., Callable[..., object]], src: Any, metadata: Any) -> None:  # noqa: ANN401
        """`own` makes Triton's, of the same arguments."""
        self._theirs = functools.cache(lambda: own(src, metadata))
        self._slots = slots([*src.signature.values()]) if _is_plain(metadata) else None
        self._addresses: object = None
        if self._slots is not None:
            scratch = [ctypes.c_void_p(), ctypes.c_void_p()]
            self._held = [*(slot for slot in self._slots if slot is not None), *scratch]
            self._addresses = (ctypes.c_void_p * len(self._held))(*map(ctypes.addressof, self._held))

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: int,
        packed: tuple[int, int, int],
        metadata: object,
        enter: Callable[[object], object] | None,
        leave: Callable[[object], object] | None,
        *arguments: object,
    ) -> None:
        """Launch, with the hooks that Triton calls before and after."""
        grid = (x, y, z)
        if self._slots is None or not _is_a_grid(grid) or not filled(self._slots, arguments):
            self._theirs()(*grid, stream, function, packed, metadata, enter, leave, *arguments)
            return
        if enter is not None:
            enter(metadata)
        if x * y * z and self._refused(grid, stream, function, packed):
            self._theirs()(*grid, stream, function, packed, metadata, None, None, *arguments)
        if leave is not None:
            leave(metadata)

    def _refused(self, grid: tuple[int, int, int], stream: int, function: int, packed: tuple[int, int, int]) -> bool:
        warps, _, shared = packed
        where = ctypes.c_void_p(stream)
        block = (_WARP * warps, 1, 1)
        return bool(_launch()(ctypes.c_void_p(function), *grid, *block, shared, where, self._addresses, None))


def slots(signature: Sequence[object]) -> list[Slot | None] | None:
    """A number of C's for each argument of a signature, None for one that is no parameter of the compiled kernel; None
    for a signature of which some is neither a pointer nor a number."""
    found: list[Slot | None] = []
    for kind in signature:
        if not isinstance(kind, str):
            return None
        if kind == "constexpr":
            found.append(None)
        elif kind.startswith("*"):
            found.append(ctypes.c_void_p())
        elif kind in _INTEGERS:
            found.append(_INTEGERS[kind]())
        elif kind in ("fp32", "f32"):
            found.append(ctypes.c_float())
        else:
            return None
    return found


def filled(into: Sequence[Slot | None], arguments: Sequence[object]) -> bool:
    """Write a launch's arguments into their slots; whether all of them are plain, and fit."""
    if len(into) != len(arguments):
        return False
    for slot, value in zip(into, arguments, strict=True):
        if slot is None:
            continue
        if isinstance(slot, ctypes.c_void_p):
            if type(value) not in _TENSORS or not value.is_cuda:  # type: ignore[attr-defined]
                return False
            slot.value = value.data_ptr()  # type: ignore[attr-defined]
        elif isinstance(slot, ctypes.c_float):
            if type(value) not in (int, float):
                return False
            slot.value = float(value)  # type: ignore[arg-type]
        else:
            if type(value) not in (int, bool):
                return False
            slot.value = value
            if slot.value != value:
                return False
    return True


def _is_plain(metadata: Any) -> bool:  # noqa: ANN401
    """Whether a kernel is launched without clusters, cooperation, early starts, and memory of the launcher's own."""
    extras = "launch_cooperative_grid", "launch_pdl", "global_scratch_size", "profile_scratch_size", "tensordesc_meta"
    return getattr(metadata, "num_ctas", 1) == 1 and not any(getattr(metadata, name, None) for name in extras)


def _is_a_grid(grid: Sequence[object]) -> bool:
    return all(type(size) is int and 0 <= size <= _MOST for size in grid)
