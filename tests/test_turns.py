"""Feedback turns: the verdict is said, what was right is not asked again, a killed conversation goes on."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tritonsmith import credit, turns
from tritonsmith.config import EvalConfig
from tritonsmith.evaluate import read
from tritonsmith.types import Candidate, Finding, StageResult, Task, Verdict

TASKS = [Task(id=f"t{i}", level=1, source=f"# task {i}\nimport torch\n") for i in range(3)]
CONFIG = EvalConfig(samples=2, batch=4)


class Writer:
    """Answers with the number of turns it has seen; keeps what it was asked."""

    prompt_style = "bare"

    def __init__(self) -> None:
        self.asked: list[list[dict[str, str]]] = []

    def sample(
        self,
        messages: Sequence[list[dict[str, str]]],
        n: int,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
        batch: int,
        seed: int,
        on_batch: Callable[[list[tuple[int, int, str]]], None] | None,
    ) -> list[list[str]]:
        self.asked += messages
        turn = [sum(message["role"] == "assistant" for message in chat) for chat in messages]
        return [[f"Plan.\n```python\nturn = {turn[chat]}\n```" for _ in range(n)] for chat in range(len(messages))]


class Referee:
    """Task i is right from turn i on; can be stopped after some verdicts."""

    def __init__(self, limit: int = 1000) -> None:
        self.limit = limit

    def verify_many(
        self, jobs: Sequence[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        verdicts = []
        for index, (task, candidate) in enumerate(jobs):
            if self.limit == 0:
                raise KeyboardInterrupt
            self.limit -= 1
            right = candidate.source is not None and int(candidate.source.split("=")[1]) >= int(task.id[1:])
            verdict = Verdict(
                task=task.id, sample=candidate.sample, device="cpu", target="sm_90", policy="strict", correct=right,
                findings=[] if right else [Finding(rule="mask", message="no mask", line=7)],
                stages=[StageResult(name="ast", ok=right, seconds=0.0)],
            )  # fmt: skip
            verdicts.append(verdict)
            if on_verdict is not None:
                on_verdict(index, verdict)
        return verdicts


def test_only_what_was_wrong_goes_on(tmp_path: Path) -> None:
    found = turns.converse(Writer(), TASKS, Referee(), CONFIG, tmp_path / "e.jsonl", turns=4)
    assert [[(r.task, r.sample) for r in records] for records in found] == [
        [(t.id, s) for t in TASKS for s in range(2)],
        [("t1", 0), ("t1", 1), ("t2", 0), ("t2", 1)],
        [("t2", 0), ("t2", 1)],
    ]


def test_a_turn_is_told_what_the_verifier_said(tmp_path: Path) -> None:
    writer = Writer()
    turns.converse(writer, TASKS, Referee(), CONFIG, tmp_path / "e.jsonl", turns=3)
    last = writer.asked[-1]
    assert [message["role"] for message in last] == ["user", "assistant", "user", "assistant", "user"]
    assert "no mask" in last[2]["content"] and "line 7" in last[2]["content"] and "turn = 1" in last[3]["content"]


def test_the_share_solved_never_falls(tmp_path: Path) -> None:
    found = turns.converse(Writer(), TASKS, Referee(), CONFIG, tmp_path / "e.jsonl", turns=3)
    assert [one.value for one in turns.solved(found)] == pytest.approx([1 / 3, 2 / 3, 1.0])


@pytest.mark.parametrize("limit", [3, 8])
def test_a_killed_conversation_goes_on(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "e.jsonl"
    with pytest.raises(KeyboardInterrupt):
        turns.converse(Writer(), TASKS, Referee(limit), CONFIG, path, turns=3)
    again = Writer()
    found = turns.converse(again, TASKS, Referee(), CONFIG, path, turns=3)
    whole = turns.converse(Writer(), TASKS, Referee(), CONFIG, tmp_path / "whole.jsonl", turns=3)
    assert [[(r.task, r.completion) for r in one] for one in found] == [
        [(r.task, r.completion) for r in one] for one in whole
    ]
    assert len(read(tmp_path / "e.turn2.jsonl")) == 4
    assert all(len(chat) > 1 for chat in again.asked)  # nothing of the first turn was drawn again


def test_no_turn_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a turn or more"):
        turns.converse(Writer(), TASKS, Referee(), CONFIG, tmp_path / "e.jsonl", turns=0)


def test_a_turns_worth_counts_what_it_led_to() -> None:
    assert credit.discounted([0.0, 0.3, 1.0]) == pytest.approx([0.28, 0.7, 1.0])
    assert credit.discounted([]) == []
