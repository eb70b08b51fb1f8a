"""The judge's clock behind a runner that times itself; the runner is a stand-in, no GPU is needed."""

import time
from types import SimpleNamespace
from typing import cast

from tritonsmith.verify import timing
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.measure import Reference, Turns


def turns(delays: list[float]) -> Turns:
    """The turns of a runner that claims 0.1 ms a trial; turn k takes delays[k] seconds more, the last one for ever."""
    left = list(delays)

    def ask(mode: str, header: dict[str, object]) -> tuple[dict[str, object], None]:
        trials = cast(int, header["trials"])
        time.sleep(1e-4 * trials + (left.pop(0) if len(left) > 1 else left[0]))
        return {"milliseconds": [0.1] * trials}, None

    talk = cast(Conversation, SimpleNamespace(ask=ask))
    return Turns(talk, cast(Reference, SimpleNamespace(host=0.0)), timing.CALIBRATED, 1)


def judged(delays: list[float], first: int = 3) -> str:
    """The rule that is broken after so many turns, and those that are added; empty if none is."""
    side = turns(delays)
    for _ in range(first):
        side.block(10)
    side.make_sure()
    return side.doubt.rule if side.doubt is not None else ""


def test_a_clock_that_is_always_wrong_is_a_lie() -> None:
    assert judged([0.2]) == "clock"


def test_a_host_that_was_busy_for_all_of_three_turns_is_no_lie() -> None:
    assert judged([0.2, 0.2, 0.2, 0.0]) == ""


def test_a_clock_that_was_right_in_most_turns_gets_no_more_of_them() -> None:
    side = turns([0.0, 0.2, 0.0])
    for _ in range(3):
        side.block(10)
    side.make_sure()
    assert side.doubt is None and side._turns == 3
