"""Frames between judge and runner: a JSON header and a safetensors blob, never a pickle.

Both sides use it, so it trusts nothing it reads: sizes are bounded before they are allocated, and
whatever does not fit raises `WireError`, which the judge turns into a finding.
"""

import json
import math
import re
import select
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

Tree: TypeAlias = (
    "bool | int | float | str | torch.dtype | torch.Tensor | list[Tree] | tuple[Tree, ...] | dict[str, Tree] | None"
)
"""What forward may take and give: scalars and tensors in lists, tuples and dicts."""

_HEAD = struct.Struct("!QQ")
MAX_HEADER = 8 << 20
"""Longest JSON header in bytes; PTX of a few kernels fits."""
_AS_BYTES = {
    "complex128": torch.complex128,
    "complex32": torch.complex32,
    "float8_e8m0fnu": torch.float8_e8m0fnu,
}
"""By name the types that safetensors does not carry."""
_SURROGATE = re.compile(rb"\\u[dD]")
_AT_ONCE = 1 << 20
"""Bytes up to which a frame is written, and read, in one piece: each one would wake the other side."""


class WireError(Exception):
    """The other side sent something that is no frame, or closed the channel."""


class Closed(WireError):
    """The other side has hung up."""


class WireTimeout(WireError):
    """The other side did not answer before the deadline."""


Place: TypeAlias = "Mapping[str, object]"
"""Plain data that says where a tensor's memory is found; see `ipc`."""


def form(tensor: torch.Tensor) -> Place:
    """A tensor's dtype, shape and strides."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"dtype": dtype, "shape": list(tensor.shape), "stride": list(tensor.stride())}


def pack(tree: Tree, tensors: dict[str, torch.Tensor], locate: Callable[[torch.Tensor], Place] | None = None) -> object:
    """Describe a tree as JSON; tensors go to `tensors` under a running number.

    A tensor on a GPU, or without data, is described by `locate` instead, and does not travel. Raises TypeError for a
    leaf that no frame can carry.
    """
    if isinstance(tree, torch.Tensor) and (tree.is_cuda or tree.is_meta) and locate is not None:
        return {"place": dict(locate(tree))}
    if isinstance(tree, torch.Tensor):
        name = str(len(tensors))
        raw = str(tree.dtype).removeprefix("torch.") in _AS_BYTES
        tensors[name] = _bytes(tree) if raw else tree
        return {"tensor": name, "stride": list(tree.stride())} | (dict(form(tree)) if raw else {})
    if isinstance(tree, torch.dtype):
        return {"dtype": str(tree).removeprefix("torch.")}
    if isinstance(tree, (list, tuple)):
        kind = "list" if isinstance(tree, list) else "tuple"
        return {kind: [pack(item, tensors, locate) for item in tree]}
    if isinstance(tree, Mapping):
        return {"dict": [[str(key), pack(item, tensors, locate)] for key, item in tree.items()]}
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return {"value": tree}
    raise TypeError(f"a {type(tree).__name__} is no tensor, number, string, list, tuple or dict")


def unpack(
    node: object, tensors: Mapping[str, torch.Tensor], find: Callable[[Place], torch.Tensor] | None = None
) -> Tree:
    """The inverse of `pack`, with `find` for what it located; raises WireError for anything `pack` does not write."""
    if not isinstance(node, dict) or not node:
        raise WireError("malformed tree")
    kind, body = next(iter(node.items()))
    try:
        if kind == "place" and find is not None and isinstance(body, dict):
            return find(body)
        if kind == "tensor":
            dense = _from_bytes(tensors[body], node) if "dtype" in node else tensors[body]
            return _restride(dense, node["stride"])
        if kind == "dtype" and isinstance(dtype := getattr(torch, body), torch.dtype):
            return dtype
        if kind == "list":
            return [unpack(item, tensors, find) for item in body]
        if kind == "tuple":
            return tuple(unpack(item, tensors, find) for item in body)
        if kind == "dict":
            return {str(key): unpack(item, tensors, find) for key, item in body}
        if kind == "value" and (body is None or isinstance(body, (bool, int, float, str))):
            return body
    except torch.OutOfMemoryError:
        raise  # of who looks, for the copy: it says nothing of what was sent
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, RuntimeError) as error:
        raise WireError("malformed tree") from error
    raise WireError("malformed tree")


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().cpu().resolve_conj().contiguous().reshape(-1).view(torch.uint8)


def _from_bytes(raw: torch.Tensor, node: Mapping[str, object]) -> torch.Tensor:
    """The tensor of a form; raises KeyError or RuntimeError where bytes are none of such a one."""
    kind, shape = _AS_BYTES[str(node["dtype"])], node["shape"]
    if not isinstance(shape, list) or raw.dtype != torch.uint8:
        raise TypeError("no bytes of a tensor")
    return raw.view(kind).reshape(shape)


def _restride(dense: torch.Tensor, stride: list[int]) -> torch.Tensor:
    """Lay the values out with the strides they had; a layout that no memory can hold stays dense."""
    if list(dense.stride()) == stride or dense.numel() == 0:
        return dense
    reach = 1 + sum((size - 1) * step for size, step in zip(dense.shape, stride, strict=True))
    if reach > 4 * dense.numel() or min(stride) < 0:
        return dense
    # Elements that share memory, as an expanded tensor's do, hold the same value: write once, read by strides.
    once = tuple(slice(0, 1) if step == 0 else slice(None) for step in stride)
    try:
        memory = torch.empty(reach, dtype=dense.dtype)
        laid = memory.as_strided(dense[once].shape, stride)
        laid.copy_(dense[once])
        return memory.as_strided(dense.shape, stride)
    except RuntimeError:
        return dense


def encode(
    header: Mapping[str, object], tree: Tree = None, locate: Callable[[torch.Tensor], Place] | None = None
) -> list[bytes]:
    """One frame, in the parts that it is written in; the tree travels under the header's key `tree`."""
    tensors: dict[str, torch.Tensor] = {}
    node = pack(tree, tensors, locate)
    text = json.dumps({**header, "tree": node}).encode()
    dense = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    blob = save(dense) if dense else b""
    return [_HEAD.pack(len(text), len(blob)), text, blob]


def decode(frame: bytes) -> tuple[dict[str, object], Tree]:
    """The inverse of `encode` for a whole frame, such as one in a file; raises WireError for anything else."""
    if len(frame) < _HEAD.size:
        raise WireError("a frame that is too short")
    text_size, blob_size = _HEAD.unpack(frame[: _HEAD.size])
    if len(frame) != _HEAD.size + text_size + blob_size:
        raise WireError("a frame of another length than it says")
    return _read_frame(frame[_HEAD.size : _HEAD.size + text_size], frame[_HEAD.size + text_size :], None)


def send(
    channel: socket.socket,
    header: Mapping[str, object],
    tree: Tree = None,
    deadline: float = math.inf,
    locate: Callable[[torch.Tensor], Place] | None = None,
) -> None:
    """Write one frame before `deadline` (time.monotonic seconds)."""
    parts = encode(header, tree, locate)
    if sum(map(len, parts)) <= _AT_ONCE:
        parts = [b"".join(parts)]
    try:
        for part in parts:
            _set_timeout(channel, deadline)
            channel.sendall(part)  # the timeout is of the whole call, however slowly the other side reads
    except TimeoutError as error:
        raise WireTimeout("no answer in time") from error
    except OSError as error:
        raise Closed("the channel is closed") from error


def comes(channel: socket.socket, seconds: float) -> bool:
    """Whether something is there to be read within so many seconds, be it that the other side has hung up."""
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    return bool(poll.poll(None if seconds == math.inf else 1e3 * seconds))


def receive(
    channel: socket.socket,
    deadline: float = math.inf,
    max_blob: int = 1 << 40,
    find: Callable[[Place], torch.Tensor] | None = None,
) -> tuple[dict[str, object], Tree]:
    """Read one frame before `deadline` (time.monotonic seconds) of at most `max_blob` tensor bytes."""
    text_size, blob_size = _HEAD.unpack(_read(channel, _HEAD.size, deadline))
    if text_size > MAX_HEADER:
        raise WireError(f"a header of {text_size} bytes")
    if blob_size > max_blob:
        raise WireError(f"{blob_size} bytes of output where at most {max_blob} were expected")
    if text_size + blob_size <= _AT_ONCE:
        both = _read(channel, text_size + blob_size, deadline)
        return _read_frame(both[:text_size], both[text_size:], find)
    text, blob = _read(channel, text_size, deadline), _read(channel, blob_size, deadline)
    return _read_frame(text, blob, find)


def _read_frame(
    text: bytes, blob: bytes, find: Callable[[Place], torch.Tensor] | None
) -> tuple[dict[str, object], Tree]:
    try:
        header = json.loads(text)
        tensors = load(blob) if blob else {}
        if _SURROGATE.search(text):
            header = _whole_letters(header)
    except (ValueError, RecursionError, KeyError, SafetensorError) as error:
        raise WireError("a frame that does not parse") from error
    if not isinstance(header, dict):
        raise WireError("a header that is no object")
    return header, unpack(header.pop("tree", {"value": None}), tensors, find)


def _whole_letters(node: object) -> object:
    """The same JSON without lone surrogates, which no UTF-8 file can hold."""
    if isinstance(node, str):
        return node.encode(errors="replace").decode()
    if isinstance(node, list):
        return [_whole_letters(item) for item in node]
    if isinstance(node, dict):
        return {str(_whole_letters(key)): _whole_letters(item) for key, item in node.items()}
    return node


def _set_timeout(channel: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise WireTimeout("no answer in time")
    channel.settimeout(None if left == math.inf else left)


def _read(channel: socket.socket, size: int, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        _set_timeout(channel, deadline)
        try:
            chunk = channel.recv(min(size - len(data), 1 << 20))
        except TimeoutError as error:
            raise WireTimeout("no answer in time") from error
        except OSError as error:
            raise Closed("the channel is closed") from error
        if not chunk:
            raise Closed("the runner ended without an answer")
        data += chunk
    return bytes(data)
