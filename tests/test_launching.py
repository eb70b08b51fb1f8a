"""Launches without a compiled launcher: what is handed over, what is left to Triton's own, both beside each other."""

import ctypes
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch
import triton
import triton.language as tl

from tritonsmith.verify.process import launching
from tritonsmith.verify.process.launching import Launcher, filled, slots

PLAIN = SimpleNamespace(num_ctas=1, launch_cooperative_grid=False, launch_pdl=False, global_scratch_size=0)


def _values(signature: Sequence[object], arguments: Sequence[object]) -> list[object] | None:
    into = slots(signature)
    if into is None or not filled(into, arguments):
        return None
    return [slot.value for slot in into if slot is not None]


def test_numbers_are_handed_over_as_their_types_say() -> None:
    assert _values(["i32", "constexpr", "i64", "i1", "fp32"], [7, 1024, -(1 << 40), True, 0.5]) == [
        7,
        -(1 << 40),
        1,
        0.5,
    ]
    assert _values(["u64"], [(1 << 64) - 1]) == [(1 << 64) - 1]


@pytest.mark.parametrize(
    ("signature", "arguments"),
    [
        (["i32"], [1 << 31]),
        (["i8"], [200]),
        (["i32"], [1.0]),
        (["fp32"], [torch.tensor(1.0)]),
        (["fp16"], [1.0]),
        ([("i32", "i32")], [(1, 2)]),
        (["tensordesc<fp32[16]>"], [object()]),
        (["*fp32"], [torch.zeros(3)]),
        (["*fp32"], [None]),
        (["i32"], [1, 2]),
    ],
)
def test_anything_else_is_left_to_tritons_own(signature: Sequence[object], arguments: Sequence[object]) -> None:
    assert _values(signature, arguments) is None


@pytest.mark.parametrize("metadata", [{"num_ctas": 2}, {"launch_pdl": True}, {"global_scratch_size": 128}])
def test_a_launch_of_another_kind_is_left_to_tritons_own(metadata: dict[str, object]) -> None:
    calls: list[tuple[object, ...]] = []
    src = SimpleNamespace(signature={"n": "i32"})
    kind = SimpleNamespace(**{**vars(PLAIN), **metadata})
    Launcher(lambda *_: lambda *args: calls.append(args), src, kind)(1, 1, 1, 0, 5, (4, 1, 0), None, None, None, 7)
    assert calls == [(1, 1, 1, 0, 5, (4, 1, 0), None, None, None, 7)]


def test_the_driver_gets_the_grid_the_threads_and_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def launch(function: ctypes.c_void_p, *rest: object) -> int:
        *sizes, shared, stream, addresses, extra = rest
        values = ctypes.cast(addresses[0], ctypes.POINTER(ctypes.c_int32))[0]  # type: ignore[index]
        seen.extend([function.value, sizes, shared, stream.value, values, extra])  # type: ignore[union-attr]
        return 0

    monkeypatch.setattr(launching, "_launch", lambda: launch)
    hooks: list[object] = []
    src = SimpleNamespace(signature={"n": "i32"})
    launcher = Launcher(lambda *_: pytest.fail("Triton's own was made"), src, PLAIN)
    launcher(3, 2, 1, 9, 5, (4, 1, 64), "told", hooks.append, hooks.append, 7)
    assert seen == [5, [3, 2, 1, 128, 1, 1], 64, 9, 7, None] and hooks == ["told", "told"]
    launcher(0, 2, 1, 9, 5, (4, 1, 64), None, None, None, 7)
    assert len(seen) == 6


def test_what_the_driver_refuses_is_tritons_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "_launch", lambda: lambda *_: 700)

    def own(*_: object) -> object:
        raise RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal memory access"):
        Launcher(lambda *_: own, SimpleNamespace(signature={"n": "i32"}), PLAIN)(
            1, 1, 1, 0, 5, (4, 1, 0), *[None] * 3, 7
        )


@triton.jit
def _scaled(x_ptr, y_ptr, n, factor, far, flag, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, tl.where(flag, x * factor + (far >> 40), 0.0), mask=offsets < n)


@pytest.mark.gpu
def test_a_kernel_gets_what_tritons_own_launcher_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from triton.backends.nvidia import driver

    if not hasattr(driver, "make_launcher"):
        pytest.skip("this Triton has one launcher for all")
    own, made = driver.CudaLauncher, []
    for kind in (own, lambda *args: Launcher(lambda *given: made.append(given) or own(*given), *args)):
        monkeypatch.setattr(triton.runtime.driver.active, "launcher_cls", kind)
        _scaled.device_caches.clear()
        x, y = torch.randn(1000, device="cuda"), torch.empty(1000, device="cuda")
        for factor, far, flag in ((0.5, 3 << 40, True), (-1.0, 1 << 41, True), (0.5, 3 << 40, False)):
            _scaled[(4,)](x, y, 1000, factor, far, flag, BLOCK=256)
            assert torch.equal(y, x * factor + (far >> 40) if flag else torch.zeros_like(x))
        with pytest.raises((ValueError, RuntimeError), match=r"cpu tensor|Pointer"):
            _scaled[(4,)](x.cpu(), y, 1000, 2.5, 3 << 40, True, BLOCK=256)
    assert len(made) == 1
