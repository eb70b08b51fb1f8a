"""What the judge makes of a runner that was refused memory, and of the time that one takes."""

import os
import signal
import socket
import time
from typing import cast

import pytest
import torch

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.conversation import Conversation, RunnerFailed, _apart
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import queued, wire
from tritonsmith.verify.process.stable import Stable
from tritonsmith.verify.process.zygote import Runner

BUSY = "END = 6_000_000\nwhile END > 0:\n    END -= 1\n"
ENDLESS = "while True:\n    pass\n"
GREEDY = "import torch\n\nHOARD = torch.empty(1 << 42)\n"


def _refused(verifier: Verifier, scarce: bool) -> Conversation:
    talk = Conversation(VerifyConfig(), 30.0, verifier._zygotes, None, None, lambda: scarce)
    with pytest.raises(RunnerFailed) as failed:
        talk.load("interpret", GREEDY, "sm_90")
    talk.close()
    assert failed.value.finding.rule == "memory"
    return talk


def test_memory_that_others_may_have_taken_is_noted(verifier: Verifier) -> None:
    assert _refused(verifier, scarce=True).wanting


def test_memory_that_there_was_enough_of_is_the_candidates_fault(verifier: Verifier) -> None:
    assert not _refused(verifier, scarce=False).wanting


def _load(verifier: Verifier, source: str, timeout: float) -> None:
    talk = Conversation(VerifyConfig(), timeout, verifier._zygotes, None, None)
    try:
        talk.load("interpret", source, "sm_90")
    finally:
        talk.close()


class Gone:
    """Warm runners of which the first few are gone by the time they are asked."""

    def __init__(self, gone: int) -> None:
        self.left, self._theirs = gone, list[socket.socket]()

    def take(self) -> Runner:
        ours, theirs = socket.socketpair()
        if self.left > 0:
            theirs.close()
        else:
            wire.send(theirs, {"loaded": True})
        self.left -= 1
        self._theirs.append(theirs)
        return Runner(os.getpid(), ours, None, served=3)

    def end(self, warm: Runner) -> int:
        return -signal.SIGKILL


def test_a_runner_that_died_while_it_waited_says_nothing_of_the_candidate() -> None:
    talk = Conversation(VerifyConfig(device="cpu", isolation="pooled"), 30.0, {}, cast(Stable, Gone(1)), None)
    talk.load("cuda", "x = 1", "sm_90")
    assert talk.has("cuda")


def test_a_candidate_of_which_two_runners_die_is_blamed() -> None:
    talk = Conversation(VerifyConfig(device="cpu", isolation="pooled"), 30.0, {}, cast(Stable, Gone(2)), None)
    with pytest.raises(RunnerFailed, match="closed"):
        talk.load("cuda", "x = 1", "sm_90")


def test_who_does_not_end_runs_out_of_time(verifier: Verifier) -> None:
    with pytest.raises(RunnerFailed, match="no answer within 2 s"):
        _load(verifier, ENDLESS, 2.0)


def test_time_that_others_take_of_the_processors_is_not_the_candidates(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()
    _load(verifier, BUSY, 60.0)
    taken = time.monotonic() - began
    monkeypatch.setattr(queued, "queued", lambda pid: 0.7 * time.monotonic())
    _load(verifier, BUSY, 0.9 * taken)
    with pytest.raises(RunnerFailed, match="no answer"):
        _load(verifier, BUSY, 0.1 * taken)


def test_an_input_that_is_given_twice_is_there_twice() -> None:
    """A runner hands each tensor out once."""
    x, y = torch.arange(3.0), torch.ones(2)
    one, two, (three,) = cast(list[torch.Tensor], _apart([x, x, (y,)]))
    assert one is x and two is not x and torch.equal(two, x) and three is y
