"""What the judge makes of a runner that was refused memory, and of the time that one takes."""

import time

import pytest

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.conversation import Conversation, RunnerFailed
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import queued

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
