"""A candidate's side of its timing: which calls are recorded."""

from types import SimpleNamespace
from typing import cast

import pytest
import torch

from tritonsmith.verify import cuda_graph
from tritonsmith.verify.dynamic.cuda import plain
from tritonsmith.verify.process import clocked
from tritonsmith.verify.process.session import Session


def _session(numbers: list[int]) -> Session:
    """One whose candidate tells its kernel the next of the numbers at each call."""
    watch = SimpleNamespace(said=None)

    def model(_: object) -> int:
        if watch.said is not None:
            watch.said.append(("kernel", numbers.pop(0)))
        return 1

    recording = SimpleNamespace(estimate=lambda: 0.5)
    stopwatch = SimpleNamespace(record=lambda calls: recording)
    return cast(
        Session,
        SimpleNamespace(stopwatch=stopwatch, watch=watch, held=[[0], [1]], outputs=[], model=model, recorded=None),
    )


def test_calls_that_tell_their_kernels_the_same_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graph, "waits", lambda calls: False)
    session = _session([7, 7])
    assert clocked.record(session, {}, None)[0] == {"milliseconds": 0.5}
    assert session.recorded is not None and session.watch is not None and session.watch.said is None


def test_calls_that_tell_their_kernels_another_number_each_time_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graph, "waits", lambda calls: False)
    session = _session([7, 8])
    assert clocked.record(session, {}, None)[0] == {"milliseconds": None} and session.recorded is None


def test_tensors_are_not_among_what_a_kernel_is_told() -> None:
    assert plain([torch.zeros(2), 3, (torch.ones(2), 4.0, ("a", None)), True, print]) == [3, 4.0, "a", True]


def test_a_round_is_told_before_and_after_it_holds_new_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are those of each round, though what is recorded writes all of them to the same memory."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    held, output = [[torch.zeros(1)], [torch.zeros(1)]], torch.zeros(1)

    last: dict[int, float] = {}
    waits: list[list[int]] = []

    def ended(numbers: list[int]) -> list[float]:
        waits.append([*numbers])
        return [last[number] for number in numbers]

    def begin(number: int) -> None:
        output.copy_(held[number][0])
        last[number] = float(held[number][0])

    recorded = SimpleNamespace(begin=begin, ended=ended), [output] * 2
    session = cast(Session, SimpleNamespace(recorded=recorded, held=held, outputs=[]))
    contents = [[torch.full((1,), 5.0)], [torch.full((1,), 6.0)]]
    header = {"rounds": [[1, 0], [0, 1], [1, 1]], "times": [1, 2], "outputs": True}
    seen, outputs = clocked.renew(session, header, contents)
    assert seen == {"milliseconds": [[[0.0], [5.0, 5.0]], [[0.0], [6.0, 6.0]], [[5.0], [6.0, 6.0]]]}
    assert cast(list[torch.Tensor], outputs) == [torch.tensor([value]) for value in (5.0, 6.0, 6.0)]
    # Sets 1 and 0 go side by side, once before and twice after; the third round is of a set that had its turn.
    assert waits == [[1, 0]] * 3 + [[1]] * 3
