"""Numbers by which a candidate counts its calls: which ones are seen, and what becomes of them."""

import itertools
from types import ModuleType

import pytest
from torch import nn

from tritonsmith.verify.counters import FAR, Counters


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


def test_two_calls_tell_no_step() -> None:
    assert _called(2, _Counting()).rising() == []


@pytest.mark.parametrize("far", FAR)
def test_the_next_call_counts_so_far(far: int) -> None:
    model = _Counting()
    _called(4, model).advance(far)
    assert model.calls + 1 == far and model.state["calls"] + 1 == far and next(model.iterator) + 1 == far
    assert len(model.seen) > 1000 and model.size == 7
