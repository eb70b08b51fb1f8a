"""What a kernel names is looked at again whenever it may be another."""

from types import FunctionType

import pytest
import triton
import triton.language as tl

from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.launches import arguments


class Works:
    """An argument with code of its own."""

    def __index__(self) -> int:
        return 1


WIDTH = tl.constexpr(8)
HELPER = tl.constexpr(4)


@triton.jit
def helper(x):
    return x + HELPER


@triton.jit
def waiting(x_ptr):
    tl.extra.cuda.gdc_wait()
    tl.store(x_ptr + tl.arange(0, WIDTH), helper(0.0))


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, WIDTH), helper(0.0))


def _found(launches: Launches) -> list[object]:
    arguments.check_globals(launches, "kernel", kernel)
    return [row["rule"] for row in launches.violations]


def test_what_is_in_order_stays_settled() -> None:
    launches = Launches()
    assert _found(launches) == [] and _found(launches) == []
    assert list(launches.settled) == [id(kernel)]


@pytest.mark.parametrize("name", ["WIDTH", "HELPER"])  # the kernel's own, and its device function's
def test_a_constant_that_becomes_another_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    launches = Launches()
    assert _found(launches) == []
    monkeypatch.setitem(kernel.fn.__globals__, name, tl.constexpr(Works()))
    assert _found(launches) == ["argument"]


def test_a_value_that_a_constant_is_given_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = Launches()
    assert _found(launches) == []
    monkeypatch.setattr(WIDTH, "value", Works())
    assert _found(launches) == ["argument"]


def test_a_function_that_becomes_a_kernels_part_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = Launches()

    def other() -> object:
        return BAD  # noqa: F821

    plain = FunctionType(other.__code__, kernel.fn.__globals__)
    monkeypatch.setitem(kernel.fn.__globals__, "BAD", tl.constexpr(Works()))
    monkeypatch.setitem(kernel.fn.__globals__, "HELPER", plain)
    assert _found(launches) == [] and launches.settled
    plain.fn = plain  # type: ignore[attr-defined]
    assert _found(launches) == ["argument"]


def test_an_object_of_a_kind_that_is_not_known_is_never_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = Launches()
    monkeypatch.setitem(kernel.fn.__globals__, "HELPER", Works())
    assert _found(launches) == [] and not launches.settled


def test_another_body_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = Launches()
    assert _found(launches) == []

    def other(x_ptr: object) -> object:
        return BAD  # noqa: F821

    monkeypatch.setitem(kernel.fn.__globals__, "BAD", tl.constexpr(Works()))
    monkeypatch.setattr(kernel.fn, "__code__", other.__code__)
    assert _found(launches) == ["argument"]


def test_what_is_wrong_is_told_each_time() -> None:
    launches = Launches()
    WIDTH.value, before = Works(), WIDTH.value
    try:
        assert _found(launches) == ["argument"] and _found(launches) == ["argument"] * 2
        assert not launches.settled
    finally:
        WIDTH.value = before


@pytest.mark.parametrize(("function", "options", "wanted"), [
    (kernel, {"launch_pdl": True}, ["race"]),
    (kernel, {"launch_pdl": False}, []),
    (kernel, {}, []),
    (waiting, {"launch_pdl": True}, []),
])  # fmt: skip
def test_who_may_begin_before_others_have_ended_must_wait(
    function: object, options: dict[str, object], wanted: list[str]
) -> None:
    launches = Launches()
    arguments.check_waits(launches, "kernel", function, options)
    assert [row["rule"] for row in launches.violations] == wanted
