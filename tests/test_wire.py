"""Frames between judge and runner carry every value faithfully and believe nothing."""

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
import torch
from safetensors.torch import save

from tritonsmith.verify.process import wire

HEAD = struct.Struct("!QQ")


@pytest.fixture
def channel() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def _travel(channel: tuple[socket.socket, socket.socket], tree: wire.Tree) -> wire.Tree:
    writer = threading.Thread(target=wire.send, args=(channel[0], {"do": "x"}, tree))
    writer.start()
    header, back = wire.receive(channel[1], time.monotonic() + 10)
    writer.join()
    assert header == {"do": "x"}
    return back


def _raw(channel: tuple[socket.socket, socket.socket], text: bytes, blob: bytes = b"") -> None:
    channel[0].sendall(HEAD.pack(len(text), len(blob)) + text + blob)


@pytest.mark.parametrize(
    "tree",
    [
        None,
        True,
        3,
        -1.5,
        "text ä 😀",
        torch.float16,
        [1, [2.0, (None, "x")]],
        {"a": [1], "b": {"c": ()}},
        float("inf"),
    ],
)
def test_plain_values_come_back_equal(channel: tuple[socket.socket, socket.socket], tree: wire.Tree) -> None:
    assert _travel(channel, tree) == tree


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool],
)
def test_tensors_come_back_equal(channel: tuple[socket.socket, socket.socket], dtype: torch.dtype) -> None:
    tensor = (torch.arange(12) % 2).reshape(3, 4).to(dtype)
    back = _travel(channel, tensor)
    assert isinstance(back, torch.Tensor) and back.dtype == dtype and torch.equal(back, tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12.0).reshape(3, 4).t(),
        torch.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
        torch.arange(3.0)[:, None].expand(3, 4),
        torch.arange(12.0)[::2],
        torch.tensor(3.0),
        torch.empty(0, 4),
    ],
    ids=["transposed", "channels last", "expanded", "sliced", "scalar", "empty"],
)
def test_layout_is_kept(channel: tuple[socket.socket, socket.socket], tensor: torch.Tensor) -> None:
    back = _travel(channel, tensor)
    assert isinstance(back, torch.Tensor) and torch.equal(back, tensor)
    assert back.shape == tensor.shape and back.stride() == tensor.stride()


def test_overlapping_windows_keep_their_values(channel: tuple[socket.socket, socket.socket]) -> None:
    windows = torch.arange(10.0).unfold(0, 4, 1)
    back = _travel(channel, windows)
    assert isinstance(back, torch.Tensor) and torch.equal(back, windows)


def test_nan_survives(channel: tuple[socket.socket, socket.socket]) -> None:
    back = _travel(channel, float("nan"))
    assert isinstance(back, float) and back != back


def test_foreign_object_is_refused(channel: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(TypeError, match="object"):
        wire.send(channel[0], {}, [object()])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "header",
    [
        b"not json",
        b"[]",
        b"3",
        b"\xff\xfe",
        b'{"tree": 3}',
        b'{"tree": {}}',
        b'{"tree": {"pickle": "x"}}',
        b'{"tree": {"tensor": "7", "stride": []}}',
        b'{"tree": {"list": 3}}',
        b'{"tree": {"dict": [1]}}',
        b'{"tree": {"value": []}}',
        b'{"tree": {"dtype": "save"}}',
        b'{"tree": {"dtype": "no_such_type"}}',
        b'{"tree": ' + b'{"list": [' * 5000 + b"]}" * 5000 + b"}",
    ],
    ids=lambda header: header[:40].decode(errors="replace"),
)
def test_malformed_header_is_a_wire_error(channel: tuple[socket.socket, socket.socket], header: bytes) -> None:
    _raw(channel, header)
    with pytest.raises(wire.WireError):
        wire.receive(channel[1], time.monotonic() + 5)


@pytest.mark.parametrize("stride", [[1], [-4, 1], ["a", 1], [1.5, 1], None, [1 << 62, 1]])
def test_malformed_stride_never_escapes_as_another_error(
    channel: tuple[socket.socket, socket.socket], stride: object
) -> None:
    tensor = torch.arange(12.0).reshape(3, 4)
    text = json.dumps({"tree": {"tensor": "0", "stride": stride}}).encode()
    _raw(channel, text, save({"0": tensor}))
    try:
        _, back = wire.receive(channel[1], time.monotonic() + 5)
    except wire.WireError:
        return
    assert isinstance(back, torch.Tensor) and torch.equal(back, tensor)


def test_malformed_blob_is_a_wire_error(channel: tuple[socket.socket, socket.socket]) -> None:
    _raw(channel, b'{"tree": {"value": 1}}', b"garbage, no safetensors")
    with pytest.raises(wire.WireError):
        wire.receive(channel[1], time.monotonic() + 5)


def test_text_in_too_many_lists_is_no_frame(channel: tuple[socket.socket, socket.socket]) -> None:
    """With a lone surrogate in it, it was gone through without a limit."""
    _raw(channel, b'{"a": ' + b"[" * 900 + b'"\\ud800"' + b"]" * 900 + b"}")
    with pytest.raises(wire.WireError):
        wire.receive(channel[1], time.monotonic() + 5)


def test_lone_surrogates_never_reach_the_judge(channel: tuple[socket.socket, socket.socket]) -> None:
    _raw(channel, b'{"error": {"message": "a\\uD800b"}, "\\udfff": ["\\uD800"], "tree": {"value": "\\ud800"}}')
    header, tree = wire.receive(channel[1], time.monotonic() + 5)
    json.dumps([header, tree], ensure_ascii=False).encode()


def test_sizes_are_bounded_before_anything_is_allocated(channel: tuple[socket.socket, socket.socket]) -> None:
    channel[0].sendall(HEAD.pack(1 << 60, 0))
    with pytest.raises(wire.WireError, match="header"):
        wire.receive(channel[1], time.monotonic() + 5)


def test_more_output_than_expected_is_refused(channel: tuple[socket.socket, socket.socket]) -> None:
    channel[0].sendall(HEAD.pack(2, 1 << 40))
    with pytest.raises(wire.WireError, match="at most 100"):
        wire.receive(channel[1], time.monotonic() + 5, max_blob=100)


def test_silence_ends_at_the_deadline(channel: tuple[socket.socket, socket.socket]) -> None:
    start = time.monotonic()
    with pytest.raises(wire.WireTimeout):
        wire.receive(channel[1], start + 0.2)
    assert time.monotonic() - start < 2


def test_dripping_bytes_do_not_move_the_deadline(channel: tuple[socket.socket, socket.socket]) -> None:
    stop = threading.Event()

    def drip() -> None:
        channel[0].sendall(HEAD.pack(1 << 20, 0))
        while not stop.wait(0.02):
            channel[0].sendall(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    start = time.monotonic()
    with pytest.raises(wire.WireTimeout):
        wire.receive(channel[1], start + 0.3)
    stop.set()
    thread.join()
    assert time.monotonic() - start < 2


def test_closed_channel_is_a_wire_error(channel: tuple[socket.socket, socket.socket]) -> None:
    channel[0].close()
    with pytest.raises(wire.WireError):
        wire.receive(channel[1], time.monotonic() + 5)


def test_a_reader_that_does_not_read_ends_at_the_deadline(channel: tuple[socket.socket, socket.socket]) -> None:
    start = time.monotonic()
    with pytest.raises(wire.WireTimeout):
        wire.send(channel[0], {}, torch.zeros(1 << 20), start + 0.3)
    assert time.monotonic() - start < 2


def test_memory_that_the_judge_lacks_is_not_the_candidates_fault() -> None:
    def no_room(place: wire.Place) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        wire.unpack({"list": [{"place": {"handle": "00"}}]}, {}, no_room)
