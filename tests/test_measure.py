"""The judge's clock behind a runner that times itself; the runner is a stand-in, no GPU is needed."""

import time
from types import SimpleNamespace
from typing import cast

import pytest

from tritonsmith.verify import timing
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.measure import Reference, Turns, _borne_out

REFERENCE = cast(Reference, SimpleNamespace(host=0.0, recorded=False, repeats=1, block=lambda trials: [0.2] * trials))


def turns(delays: list[float], told: list[float] | None = None) -> Turns:
    """The turns of a runner that takes 0.1 ms a trial, and in turn k delays[k] seconds more, the last one for ever; it
    claims the first of the times `told`, where there are any left, or what it takes."""
    left, claims = list(delays), list(told or [])

    def ask(mode: str, header: dict[str, object]) -> tuple[dict[str, object], None]:
        trials = cast(int, header["trials"])
        time.sleep(1e-4 * trials + (left.pop(0) if len(left) > 1 else left[0]))
        return {"milliseconds": [claims.pop(0) if claims else 0.1] * trials}, None

    return Turns(cast(Conversation, SimpleNamespace(ask=ask)), REFERENCE, timing.CALIBRATED, 1, 1)


def taken(side: Turns, first: int = 5) -> tuple[list[list[float]], list[list[float]]]:
    """What is left of so many turns, and of those that are added."""
    theirs, ours = [REFERENCE.block(10) for _ in range(first)], [side.block(10) for _ in range(first)]
    return _borne_out(REFERENCE, side, timing.CALIBRATED, theirs, ours)


def test_a_clock_that_is_always_wrong_is_a_lie() -> None:
    side = turns([0.2])
    taken(side)
    assert side.doubt is not None and side.doubt.rule == "clock"


@pytest.mark.parametrize("late", [5, 8, 12])
def test_a_host_that_was_busy_in_most_turns_is_no_lie(late: int) -> None:
    side = turns([0.2] * late + [0.0])
    theirs, ours = taken(side)
    assert side.doubt is None and len(theirs) == len(ours) == 3 and len(side.prompt) == late + 3


def test_a_clock_that_was_right_in_enough_turns_gets_no_more_of_them() -> None:
    side = turns([0.0, 0.2, 0.0])
    theirs, ours = taken(side)
    assert side.doubt is None and len(side.prompt) == 5 and len(theirs) == len(ours) == 4


def test_turns_that_a_clock_lies_in_do_not_count() -> None:
    side = turns([0.2, 0.2, 0.0, 0.0, 0.0], told=[0.001, 0.001])
    _, ours = taken(side)
    assert side.doubt is None and ours == [[0.1] * 10] * 3


def test_a_runner_that_gives_no_times_is_asked_no_more() -> None:
    side = turns([0.0])
    side.block(10)
    side._talk = cast(Conversation, SimpleNamespace(ask=lambda mode, header: ({"milliseconds": [0.1]}, None)))
    taken(side, 1)
    assert side.doubt is not None and side.doubt.rule == "protocol" and len(side.prompt) == 2


def test_a_slow_candidate_of_a_short_reference_tells_no_lie() -> None:
    """Trials of such a reference have two calls, and three that are not timed, which take the candidate longer."""

    def ask(mode: str, header: dict[str, object]) -> tuple[dict[str, object], None]:
        trials = cast(int, header["trials"])
        time.sleep(5 * 20e-3 * trials)
        return {"milliseconds": [20.0] * trials}, None

    side = Turns(cast(Conversation, SimpleNamespace(ask=ask)), REFERENCE, timing.CALIBRATED, 2, 5)
    side.block(2)
    assert side.prompt == [True]
