"""Numbers by which a candidate counts its calls: which ones are seen, and what becomes of them."""

import itertools
from collections.abc import Callable
from types import ModuleType

import pytest
from torch import nn

from tritonsmith.verify.dynamic.counters import FAR, Counters


class _Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.state = {"calls": 0}
        self.iterator = itertools.count()
        self.seen: list[int] = []
        self.size = 7


def _called(times: int, model: _Counting) -> Counters:
    counters = Counters()
    for _ in range(times):
        model.calls += 1
        model.state["calls"] += 1
        next(model.iterator)
        model.seen.append(model.calls)
        counters.look(model, ModuleType("candidate"))
    return counters


def test_what_rises_with_each_call_is_seen() -> None:
    rising = {name for _, name in _called(4, _Counting()).rising()}
    assert {"calls", "iterator", None} <= rising and "size" not in rising


def _closure() -> Callable[[], int]:
    calls = 0

    def tick() -> int:
        nonlocal calls
        calls += 1
        return calls

    return tick


class _Slots:
    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls = 0


def test_numbers_in_closures_defaults_attributes_and_slots_are_seen() -> None:
    module, slots, model = ModuleType(__name__), _Slots(), nn.Module()
    vars(module).update(tick=_closure(), slots=slots, forward=_forward)
    _forward.calls = 0  # type: ignore[attr-defined]
    counters = Counters()
    for _ in range(4):
        module.tick()
        slots.calls += 1
        _forward()
        counters.look(model, module)
    assert {"cell_contents", "calls", 0} <= {name for _, name in counters.rising()}
    counters.advance(FAR[0])
    assert module.tick() == FAR[0] and slots.calls + 1 == FAR[0] and _forward() == (FAR[0], FAR[0])


def _forward(calls: list[int] = [0]) -> tuple[int, int]:  # noqa: B006
    calls[0] += 1
    _forward.calls += 1  # type: ignore[attr-defined]
    return calls[0], _forward.calls  # type: ignore[attr-defined]


def test_two_calls_tell_no_step() -> None:
    assert _called(2, _Counting()).rising() == []


@pytest.mark.parametrize("far", FAR)
def test_the_next_call_counts_so_far(far: int) -> None:
    model = _Counting()
    assert _called(4, model).advance(far) + 4 + 1 == far
    assert model.calls + 1 == far and model.state["calls"] + 1 == far and next(model.iterator) + 1 == far
    assert len(model.seen) > 1000 and model.size == 7
