"""Kernels that are run under shadow, all programs at once and one after the other: what each leaves, as JSON.

    TRITON_INTERPRET=1 python tests/at_once.py

A process of its own, for the interpreter is changed for good. `test_batched` compares.
"""

import hashlib
import json
from collections.abc import Callable

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.interpreter import batched, interpret, recorded
from tritonsmith.verify.interpreter.shadow import Shadow

LAUNCHES = Launches()
SHADOWS: list[Shadow] = []
PLAYED: list[int] = []
"""One for each program that was done again alone."""


@triton.jit
def double(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n, other=1.0) * 2.0, mask=o < n)


@triton.jit
def softmax(x, y, n, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + c, e / tl.sum(e, axis=0), mask=c < n)


@triton.jit
def looped(x, y, n, B: tl.constexpr):
    row, total = tl.program_id(0), tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        c = start + tl.arange(0, B)
        total += libdevice.tanh(tl.load(x + row * n + c, mask=c < n, other=0.0))
    tl.store(y + row, tl.sum(total, axis=0) / n)


@triton.jit
def places(x, y, n, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + c, mask=c < n, other=-1e9)
    tl.store(y + row, tl.argmax(v, axis=0))


@triton.jit
def product(a, b, c, M, N, K, B: tl.constexpr):
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(left, tl.trans(tl.trans(right)), input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], tl.maximum(acc, 0.0), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def running(x, y, n, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    tl.store(y + row * n + c, tl.cumsum(tl.load(x + row * n + c, mask=c < n, other=0.0), axis=0), mask=c < n)


@triton.jit
def constants(x, y, n, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    total = tl.sum(c, axis=0) + libdevice.tanh(tl.max(c, axis=0) * 0.5) + tl.sum(tl.cumsum(c, axis=0), axis=0)
    tl.store(y + row * n + c, tl.zeros((B,), tl.float32) + total, mask=c < n)


@triton.jit
def columns(x, y, n, m, B: tl.constexpr):
    r, c = tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    inside = (r[:, None] < n) & (c[None, :] < m)
    v = tl.load(x + r[:, None] * m + c[None, :], mask=inside, other=0.0)
    half = tl.sum(v.to(tl.float16), axis=0).to(tl.float32)
    tl.store(y + c, tl.where(c % 2 == 0, half, tl.min(v, axis=0)), mask=c < m)


@triton.jit
def in_place(x, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + o, mask=o < n)
    tl.store(x + o, v + 1.0, mask=o < n)
    tl.store(x + o, tl.load(x + o, mask=o < n) * 2.0, mask=o < n)


@triton.jit
def neighbour(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n), mask=o < n)
    tl.store(y + o, tl.load(y + o + 1, mask=o + 1 < n, other=0.0), mask=o < n)


@triton.jit
def same_place(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y, tl.sum(tl.load(x + o, mask=o < n, other=0.0), axis=0))


@triton.jit
def same_value(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n), mask=o < n)
    tl.store(y, tl.load(x))


@triton.jit
def outside(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o + 1), mask=o < n)


@triton.jit
def bare(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n) + tl.load(y + o, mask=o < n), mask=o < n)


@triton.jit
def crossing(x, y, n, B: tl.constexpr):
    o, r = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(0) * B + B - 1 - tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n), mask=o < n)
    tl.store(y + o, tl.load(y + r, mask=r < n), mask=o < n)


@triton.jit
def added(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y, tl.sum(tl.load(x + o, mask=o < n, other=0.0), axis=0))


@triton.jit
def misaligned(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    at = (x + 4 * o + tl.where(tl.program_id(0) == 3, 1, 0)).to(tl.pointer_type(tl.float32))
    tl.store(y + o, tl.load(at, mask=o < n - 1, other=0.0), mask=o < n)


def _x(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _row(kernel: triton.JITFunction, out: str = "x") -> Callable[[], torch.Tensor]:
    def launch() -> torch.Tensor:
        x = _x(9, 13)
        rows = {"rows": torch.zeros(9), "places": torch.zeros(9, dtype=torch.int32)}
        y = rows.get(out, torch.zeros_like(x))
        kernel[(9,)](x, y, 13, B=16)
        return y

    return launch


def _flat(kernel: triton.JITFunction, fresh: bool = False) -> Callable[[], torch.Tensor]:
    def launch() -> torch.Tensor:
        x = _x(77)
        y = torch.zeros(77)
        if fresh:
            LAUNCHES.unwritten[y.untyped_storage().data_ptr()] = torch.ones(4 * 77, dtype=torch.bool).numpy()
        kernel[(10,)](x, y, 77, B=8)
        return y

    return launch


def _product() -> torch.Tensor:
    a, b, c = _x(37, 20), _x(20, 50), torch.zeros(37, 50)
    product[(3, 4)](a, b, c, 37, 50, 20, B=16)
    return c


def _columns() -> torch.Tensor:
    x, y = _x(11, 70), torch.zeros(70)
    columns[(5,)](x, y, 11, 70, B=16)
    return y


def _misaligned() -> torch.Tensor:
    x, y = torch.zeros(4 * 77, dtype=torch.int8), torch.zeros(77)
    misaligned[(10,)](x, y, 77, B=8)
    return y


def _in_place() -> torch.Tensor:
    x = _x(77)
    in_place[(10,)](x, 77, B=8)
    return x


AT_ONCE = {
    "double": _flat(double), "softmax": _row(softmax), "looped": _row(looped, "rows"),
    "places": _row(places, "places"), "product": _product, "running": _row(running),
    "constants": _row(constants), "columns": _columns,
    "in place": _in_place, "fresh": _flat(double, fresh=True),
}  # fmt: skip
"""Launches whose programs keep apart."""
ONE_BY_ONE = {
    "neighbour": _flat(neighbour), "same place": _flat(same_place), "same value": _flat(same_value),
    "outside": _flat(outside), "bare": _flat(bare, fresh=True), "crossing": _flat(crossing), "added": _flat(added),
    "misaligned": _misaligned,
}  # fmt: skip
"""Launches of which something must be told that only one program after the other tells, or of unknown operations."""


def _told(launch: Callable[[], torch.Tensor]) -> dict[str, object]:
    """What a launch leaves: values, findings, what is known of memory, and how many programs were done alone."""
    LAUNCHES.clear()
    SHADOWS.clear()
    PLAYED.clear()
    out = launch()
    (shadow,), (seen,) = SHADOWS, LAUNCHES.seen
    marks = hashlib.sha256()
    for region in shadow._regions.values():
        for kept in (region.writer, region.reader, region.unwritten):
            marks.update(b"" if kept is None else kept.tobytes())
        marks.update(str((region.name, region.width, region.is_read, region.is_written)).encode())
    return {
        "values": out.double().flatten().tolist(),
        "findings": [{key: str(value) for key, value in row.items()} for row in LAUNCHES.violations],
        "traffic": [seen.bytes_loaded, seen.bytes_stored, seen.dot_flops, seen.dot_parts, len(LAUNCHES.written)],
        "marks": marks.hexdigest(),
        "alone": len(PLAYED),
    }


def main() -> None:
    """Run each launch both ways, and print."""
    interpret.install(LAUNCHES)
    made, play, plan, elements = Shadow.__init__, recorded.Recorder.play, batched.Several.plan, batched._ELEMENTS

    def init(self: Shadow, *args: object, **named: object) -> None:
        made(self, *args, **named)  # type: ignore[arg-type]
        SHADOWS.append(self)

    def counted(self: recorded.Recorder) -> None:
        PLAYED.append(1)
        play(self)

    Shadow.__init__, recorded.Recorder.play = init, counted  # type: ignore[method-assign]
    found = {}
    for name, launch in (AT_ONCE | ONE_BY_ONE).items():
        batched.Several.plan, batched._ELEMENTS = plan, elements  # type: ignore[method-assign]
        told = {"together": _told(launch)}
        batched._ELEMENTS = 64
        told["some at a time"] = _told(launch)
        batched.Several.plan = lambda self, steps: None  # type: ignore[method-assign, assignment]
        found[name] = {**told, "after": _told(launch)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
