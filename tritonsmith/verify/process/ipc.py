"""GPU memory of a runner as the judge sees it: CUDA's inter-process handles, through the driver's C API.

A runner exports its own buffers and the judge opens them, never the other way round: an opened handle shows
the whole allocation around it, and the judge's allocations hold the truth. Does not synchronise: whoever
writes waits for the device before telling the other side.
"""

import ctypes
import functools
from collections.abc import Mapping, Sequence

import torch

from tritonsmith.verify.process.wire import WireError, form


class _Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


_LAZY_PEER_ACCESS = 1


def export(tensor: torch.Tensor) -> dict[str, object]:
    """Where a CUDA tensor's elements lie, for another process: plain data for `Windows.view` and `shown`."""
    handle, offset = _Handle(), 0
    if tensor.numel():
        base, offset = _allocation(tensor.data_ptr())
        _check(_driver().cuIpcGetMemHandle(ctypes.byref(handle), ctypes.c_uint64(base)), "cuIpcGetMemHandle")
    return {
        "handle": bytes(handle.bytes).hex(),
        "offset": offset,
        "conjugate": tensor.is_conj(),
        "negative": tensor.is_neg(),
        **form(tensor),
    }


def shown(memory: torch.Tensor, place: Mapping[str, object]) -> torch.Tensor:
    """Memory as the exported tensor shows it: `x.conj()`, and the imaginary part of that, lie there as `x` does."""
    if place.get("conjugate") is True:
        memory = memory.conj()
    return torch.neg(memory) if place.get("negative") is True else memory


class Windows:
    """The buffers of one runner, opened once each; for the judge."""

    def __init__(self) -> None:
        self._opened: dict[str, int] = {}

    def view(self, place: Mapping[str, object]) -> torch.Tensor:
        """The runner's memory itself, as a tensor; raises WireError for a place that is not in it."""
        try:
            handle, offset = str(place["handle"]), int(str(place["offset"]))
            dtype = getattr(torch, str(place["dtype"]))
            shape, stride = _sizes(place["shape"]), _sizes(place["stride"])
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise WireError("a place of no known form") from error
        if not isinstance(dtype, torch.dtype) or len(shape) != len(stride):
            raise WireError("a place of no known form")
        reach = extent(shape, stride) * dtype.itemsize
        if reach == 0:
            return torch.empty_strided(shape, stride, dtype=dtype, device="cuda")
        base = self._open(handle)
        size = _size(base)
        if offset < 0 or offset % dtype.itemsize or offset + reach > size:
            raise WireError("a place outside its allocation")
        raw = torch.as_tensor(_Raw(base + offset, reach), device="cuda")
        return raw.view(dtype).as_strided(shape, stride)

    def close(self) -> None:
        """Unmap everything once this thread's stream has done what it was given; views are invalid from here on."""
        if self._opened:
            _enter()
            torch.cuda.current_stream().synchronize()
        for pointer in self._opened.values():
            _driver().cuIpcCloseMemHandle(ctypes.c_uint64(pointer))
        self._opened.clear()

    def _open(self, text: str) -> int:
        if (known := self._opened.get(text)) is not None:
            return known
        try:
            handle = _Handle.from_buffer_copy(bytes.fromhex(text))
        except ValueError as error:
            raise WireError("a handle of no known form") from error
        _enter()
        pointer = ctypes.c_uint64()
        status = _driver().cuIpcOpenMemHandle_v2(ctypes.byref(pointer), handle, _LAZY_PEER_ACCESS)
        if status != 0:
            raise WireError(f"a handle that cannot be opened (CUDA error {status})")
        self._opened[text] = pointer.value or 0
        return self._opened[text]


class _Raw:
    """Bytes on the device, in the form that `torch.as_tensor` takes without a copy."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (pointer, False), "version": 3}


def extent(shape: Sequence[int], stride: Sequence[int]) -> int:
    """Elements from a strided tensor's first to its last, both counted; 0 for an empty one."""
    if any(size == 0 for size in shape):
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def _sizes(value: object) -> list[int]:
    if not isinstance(value, list) or not all(type(item) is int and 0 <= item < 1 << 48 for item in value):
        raise ValueError("sizes are whole numbers")
    return list(value)


def _allocation(pointer: int) -> tuple[int, int]:
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    status = _driver().cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(pointer))
    _check(status, "cuMemGetAddressRange")
    return base.value or 0, pointer - (base.value or 0)


def _size(base: int) -> int:
    start, size = ctypes.c_uint64(), ctypes.c_size_t()
    status = _driver().cuMemGetAddressRange_v2(ctypes.byref(start), ctypes.byref(size), ctypes.c_uint64(base))
    _check(status, "cuMemGetAddressRange")
    return size.value - (base - (start.value or 0))


def _enter() -> None:
    """Give this thread torch's context: one that has not yet launched anything has none, and torch makes it late."""
    context, device = ctypes.c_void_p(), ctypes.c_int()
    _check(_driver().cuCtxGetCurrent(ctypes.byref(context)), "cuCtxGetCurrent")
    if context.value is None:
        _check(_driver().cuDeviceGet(ctypes.byref(device), torch.cuda.current_device()), "cuDeviceGet")
        _check(_driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
        _check(_driver().cuCtxSetCurrent(context), "cuCtxSetCurrent")


def _check(status: int, call: str) -> None:
    if status != 0:
        raise RuntimeError(f"{call} failed with CUDA error {status}")


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")
