"""Runners on the CPU that serve several candidates: who left one as it was is followed by another, others are not."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from judging import DOUBLE, FORWARD, KERNEL, another, double, judge

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Verdict
from tritonsmith.verify.conversation import RunnerFailed
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import idle

RIGHT = double(FORWARD)
WRONG = double(kernel=KERNEL.replace("2.0", "3.0"))
RAISES = double(FORWARD.replace("return out", "return other"))


@pytest.fixture
def pooled(verifier: Verifier) -> Iterator[Judge]:
    settings = VerifyConfig(device="cpu", timing=False, isolation="pooled")
    found = another(verifier, settings, ExtensionsConfig(multi_input=False))
    yield found
    found.close()


def verdict(pooled: Judge, source: str) -> Verdict:
    return judge(pooled, DOUBLE, source)


def waiting(pooled: Judge) -> dict[str, int]:
    """By mode the process that waits, where one does."""
    assert pooled._idle is not None
    return {mode: some[0].pid for mode, some in pooled._idle._waiting.items() if some}


def test_a_right_candidate_s_runners_serve_the_next_one(pooled: Judge) -> None:
    assert verdict(pooled, RIGHT).correct
    first = waiting(pooled)
    assert first.keys() == {"capture", "interpret"}
    assert verdict(pooled, RIGHT.replace("2.0", "2.0 ")).correct
    assert waiting(pooled) == first


def test_a_wrong_one_s_serve_on_and_the_next_verdict_is_its_own(pooled: Judge) -> None:
    found = verdict(pooled, WRONG)
    assert not found.correct
    first = waiting(pooled)
    assert first.keys() == {"capture", "interpret"}
    assert verdict(pooled, RIGHT).correct and not verdict(pooled, WRONG).correct
    assert waiting(pooled) == first


def test_one_that_raises_leaves_the_runner_that_captures(pooled: Judge) -> None:
    assert not verdict(pooled, RAISES).correct
    assert waiting(pooled).keys() == {"capture"}
    assert verdict(pooled, RIGHT).correct


@pytest.mark.parametrize("mode", ["capture", "interpret"])
def test_one_that_changes_its_process_is_followed_by_nobody(pooled: Judge, mode: str) -> None:
    """Past the static rules, which would have refused it."""
    talk = pooled.conversation()
    talk.load(mode, "import torch\ntorch.relu = torch.sigmoid\n", "sm_90")
    talk.leave(mode)
    assert not waiting(pooled)


def test_one_that_left_it_as_it_was_is_followed_by_another(pooled: Judge) -> None:
    talk = pooled.conversation()
    talk.load("capture", "import torch\n", "sm_90")
    talk.leave("capture")
    assert waiting(pooled).keys() == {"capture"}


def test_a_runner_that_died_while_it_waited_is_nobody_s_fault(pooled: Judge) -> None:
    assert verdict(pooled, RIGHT).correct
    first = waiting(pooled)
    for pid in first.values():
        os.kill(pid, signal.SIGKILL)
    assert verdict(pooled, RIGHT).correct
    assert waiting(pooled).keys() == first.keys() and not set(waiting(pooled).values()) & set(first.values())


def test_who_ends_its_process_is_found_out_in_one_of_its_own(pooled: Judge) -> None:
    assert verdict(pooled, RIGHT).correct
    talk = pooled.conversation()
    with pytest.raises(RunnerFailed, match="ended its process"):
        talk.load("capture", "import os\nos._exit(0)\n", "sm_90")
    talk.close()
    assert "capture" not in waiting(pooled)


def test_a_runner_is_replaced_after_so_many(pooled: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "MOST", 2)
    verdict(pooled, RIGHT)
    assert waiting(pooled)
    verdict(pooled, WRONG)
    assert not waiting(pooled)


def test_those_that_wait_end_with_their_judge(pooled: Judge) -> None:
    assert verdict(pooled, RIGHT).correct
    pids = waiting(pooled).values()
    pooled.close()
    assert len(pids) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_by_default_each_candidate_has_processes_of_its_own(verifier: Verifier) -> None:
    judge = another(verifier, VerifyConfig(device="cpu"))
    assert judge._idle is None
    judge.close()


def test_a_runner_that_comes_back_to_a_closed_judge_is_ended(pooled: Judge) -> None:
    # Candidates still under way when the judges were renewed left their runners to nobody.
    assert pooled._idle is not None and verdict(pooled, RIGHT).correct
    runner = pooled._idle.take("interpret")
    assert runner is not None
    pooled._idle.close()
    pooled._idle.give_back("interpret", runner)
    assert waiting(pooled) == {} and runner.channel.fileno() == -1
