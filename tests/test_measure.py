"""The judge's clock behind a runner that times itself; the runner is a stand-in, no GPU is needed."""

from types import SimpleNamespace
from typing import cast

import pytest

from tritonsmith.verify import measure, timing
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.measure import Reference, Turns, _borne_out


class Clock:
    """A clock that goes as it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        """As `time.perf_counter`."""
        return self.now


CLOCK = Clock()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the judge go by it, whatever else the machine does meanwhile."""
    monkeypatch.setattr(measure, "time", CLOCK)


class Counting:
    """A reference whose turn k takes k ms a trial."""

    host, recorded, repeats = 0.0, False, 1

    def __init__(self) -> None:
        self.turns = 0

    def block(self, trials: int) -> list[float]:
        """As `Reference.block`."""
        self.turns += 1
        return [float(self.turns)] * trials


class Session:
    """A runner that takes 0.1 ms a trial, and in turn k delays[k] seconds more, the last one for ever; it claims the
    first of the times `told`, where there are any left, or what it takes."""

    def __init__(self, delays: list[float], told: list[float] | None = None) -> None:
        self._delays, self._told = list(delays), list(told or [])
        self.reference = cast(Reference, Counting())
        talk = cast(Conversation, SimpleNamespace(ask=self._ask))
        self.turns = Turns(talk, self.reference, timing.CALIBRATED, 1, 1)

    def _ask(self, mode: str, header: dict[str, object]) -> tuple[dict[str, object], None]:
        trials = cast(int, header["trials"])
        CLOCK.now += 1.1e-4 * trials + (self._delays.pop(0) if len(self._delays) > 1 else self._delays[0])
        return {"milliseconds": [self._told.pop(0) if self._told else 0.1] * trials}, None

    def taken(self, first: int = 5) -> tuple[list[list[float]], list[list[float]]]:
        """What is left of so many turns, and of those that are taken in their place."""
        theirs = [self.reference.block(10) for _ in range(first)]
        ours = [self.turns.block(10) for _ in range(first)]
        return _borne_out(self.reference, self.turns, timing.CALIBRATED, theirs, ours)

    @property
    def refused(self) -> str:
        """The rule that is broken; empty if none is."""
        return self.turns.doubt.rule if self.turns.doubt is not None else ""


@pytest.mark.parametrize("right", [0, 2])
def test_a_clock_that_is_wrong_in_nearly_all_turns_is_a_lie(right: int) -> None:
    session = Session([0.0] * right + [0.1])
    session.taken()
    assert session.refused == "clock" and len(session.turns.prompt) == 15


@pytest.mark.parametrize(("late", "counted"), [(5, 5), (8, 5), (11, 4), (12, 3)])
def test_a_host_that_was_busy_in_most_turns_is_no_lie(late: int, counted: int) -> None:
    session = Session([0.1] * late + [0.0])
    theirs, ours = session.taken()
    assert session.refused == "" and len(session.turns.prompt) == late + counted == len(theirs) + late
    assert [block[0] for block in theirs] == [late + number for number in range(1, counted + 1)]
    assert ours == [[0.1] * len(block) for block in theirs]


def test_another_turn_is_taken_in_place_of_one_that_was_late() -> None:
    session = Session([0.0, 0.1, 0.0])
    theirs, _ = session.taken()
    assert session.refused == "" and [block[0] for block in theirs] == [1, 3, 4, 5, 6]


def test_a_kernel_so_long_that_it_has_two_turns_gets_no_third() -> None:
    session = Session([0.0])
    theirs, _ = session.taken(2)
    assert session.refused == "" and len(theirs) == len(session.turns.prompt) == 2


def test_turns_that_a_clock_lies_in_do_not_count() -> None:
    session = Session([0.1, 0.1, 0.0], told=[0.001, 0.001])
    _, ours = session.taken()
    assert session.refused == "" and {time for block in ours for time in block} == {0.1}


def test_sides_take_turns_in_going_first_where_turns_are_added() -> None:
    session, order = Session([0.1] * 5 + [0.0]), []
    first, second = session.reference.block, session.turns.block

    def noted(name: str, trials: int) -> list[float]:
        order.append(name)
        return first(trials) if name == "reference" else second(trials)

    theirs, ours = [first(10) for _ in range(5)], [second(10) for _ in range(5)]
    session.reference.block = lambda trials: noted("reference", trials)  # type: ignore[method-assign]
    session.turns.block = lambda trials: noted("candidate", trials)  # type: ignore[method-assign]
    _borne_out(session.reference, session.turns, timing.CALIBRATED, theirs, ours)
    assert order[:4] == ["candidate", "reference", "reference", "candidate"]


def test_a_runner_that_gives_no_times_is_asked_no_more() -> None:
    session = Session([0.0])
    session.turns.block(10)
    session.turns._talk = cast(Conversation, SimpleNamespace(ask=lambda mode, header: ({"milliseconds": [0.1]}, None)))
    session.taken(1)
    assert session.refused == "protocol" and len(session.turns.prompt) == 2


def test_a_slow_candidate_of_a_short_reference_tells_no_lie() -> None:
    """Trials of such a reference have two calls, and three that are not timed, which take the candidate longer."""

    def ask(mode: str, header: dict[str, object]) -> tuple[dict[str, object], None]:
        trials = cast(int, header["trials"])
        CLOCK.now += 5 * 20.1e-3 * trials
        return {"milliseconds": [20.0] * trials}, None

    talk = cast(Conversation, SimpleNamespace(ask=ask))
    side = Turns(talk, cast(Reference, Counting()), timing.CALIBRATED, 2, 5)
    side.block(2)
    assert side.prompt == [True]
