"""What the judge makes of a runner that was refused memory."""

import pytest

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.conversation import Conversation, RunnerFailed
from tritonsmith.verify.pool import Verifier

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
