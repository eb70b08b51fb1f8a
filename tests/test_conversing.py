"""Turns of GRPO: what failed is answered and drawn again, each turn is worth what it led to, none but those taken
count."""

import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch
from test_grpo import make_config
from trl.trainer.grpo_trainer import GRPOTrainer

from tritonsmith import credit, reward
from tritonsmith.config import Config, ConfigError
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import read
from tritonsmith.gains import Given
from tritonsmith.train import grpo
from tritonsmith.train.generate import Sampler
from tritonsmith.train.rewarding import BITS, KernelReward
from tritonsmith.train.rollout import Rollout
from tritonsmith.train.stage import Stage
from tritonsmith.types import Candidate, Finding, Interval, Record, StageResult, Task, Timing, Verdict

TASKS = [Task(id=f"t{i}", level=1 + i % 2, source=f"# task {i}\nimport torch") for i in range(4)]


def verdict(task: str, sample: int = 0, correct: bool = False, speedup: float | None = None) -> Verdict:
    interval = None if speedup is None else Interval(median=speedup, low=speedup, high=speedup)
    timing = None if interval is None else Timing(kind="predicted", reference_ms=1, candidate_ms=1, speedup=interval)
    return Verdict(
        task=task, sample=sample, device="cpu", target="", policy="strict", valid=True, correct=correct, stage="tiny",
        findings=[] if correct else [Finding(rule="mask", message="no mask", line=7)], speedup=interval, timing=timing,
        stages=[StageResult(name="ast", ok=correct, seconds=0.0)],
    )  # fmt: skip


def by_text(completion: str | None) -> bool:
    """Two of three completions are wrong."""
    return zlib.crc32((completion or "").encode()) % 3 == 0


def code(text: str) -> str:
    """A completion: what has the same code has the same verdict."""
    return f"```python\n{text}\n```"


def rounded(score: float) -> float:
    """As scores are, so that equal ones of a group add up without rounding."""
    return round(score * 2**BITS) / 2**BITS


class Referee:
    """Judges by the completion's letters, at once; keeps what it judged."""

    def __init__(self, right: Callable[[str | None], bool] = by_text) -> None:
        self.right = right
        self.judged: list[str | None] = []

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        verdicts = []
        for index, (task, candidate) in enumerate(jobs):
            self.judged.append(candidate.completion)
            verdicts.append(verdict(task.id, candidate.sample, self.right(candidate.completion)))
            if on_verdict is not None:
                on_verdict(index, verdicts[-1])
        return verdicts


class Broken(Referee):
    """Fails at all but the first batch."""

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        given = list(jobs)
        if self.judged and given:
            raise OSError("no space")
        return super().verify_many(given, on_verdict)


# -- what a turn is worth


def test_a_turn_is_worth_what_it_led_to_as_if_the_last_answer_were_given_again() -> None:
    rows = [0.0, 0.5, 1.0, 0.7, None, None]
    assert credit.returns(rows, 3) == pytest.approx([0.36, 0.9, 1.0, 0.7 * 1.56, None, None])


def test_one_turn_is_worth_its_reward() -> None:
    rows = [0.3, None, -10.0, 1 / 3]
    assert credit.returns(rows, 1) == rows


@pytest.mark.parametrize("scheme", ["staged", "binary", "frontend", "midend", "hierarchical", "uniform"])
def test_nothing_is_worth_more_than_to_be_right_at_once(scheme: str) -> None:
    def worth(*steps: Verdict) -> float:
        scores = [reward.score(one, scheme) for one in steps]
        return credit.returns([*scores, *[None] * (4 - len(scores))], 4)[0] or 0.0

    wrong, right = verdict("t"), verdict("t", correct=True)
    at_once = worth(right)
    assert all(worth(*[wrong] * n, right) < at_once for n in range(1, 4)) and worth(*[wrong] * 4) < at_once
    # Nor is it to hold back what is fast.
    assert worth(right, verdict("t", correct=True, speedup=1.5)) <= worth(verdict("t", correct=True, speedup=1.5))


def test_slow_answers_lead_to_another_turn() -> None:
    stage = Stage(
        "bare", given={"g": Given(task=TASKS[0], kernel="g", verdict=verdict("g", correct=True, speedup=1.5))}
    )
    assert not stage.settled(verdict("t")) and stage.settled(verdict("t", correct=True))
    assert stage.settled(verdict("t", correct=True, speedup=1.0))
    assert not stage.settled(verdict("t", correct=True, speedup=0.8))
    assert not stage.settled(verdict("g", correct=True, speedup=1.4))
    assert stage.settled(verdict("g", correct=True, speedup=1.6))


# -- the reward of rows that are turns


def scored(folder: Path, referee: Referee, curriculum: Curriculum, turns: int = 2) -> KernelReward:
    made = KernelReward(TASKS, referee, folder / "records.jsonl", curriculum, reward.score)
    made.turns = turns
    return made


def test_rows_of_a_conversation_are_numbered_recorded_and_scored_together(tmp_path: Path) -> None:
    wrong, right = code("wrong"), code("right")
    curriculum, referee = Curriculum(), Referee(lambda text: text == right)
    function = scored(tmp_path, referee, curriculum)
    names = ["t0"] * 4
    batch = function.begin(names, 5)
    batch.add(0, wrong)
    batch.add(2, right)
    assert {place: one.correct for place, one in batch.heard().items()} == {0: False, 2: True}
    batch.add(1, right)
    batch.close()
    function.due, logged = batch, []
    scores = function([], [], names, None, lambda name, value: logged.append((name, value)))
    assert scores == pytest.approx([*map(rounded, (0.5 + 0.4 * 0.7, 0.7, 0.7 * 1.4)), None])
    records = [(one.step, one.sample, one.turn, one.verdict.correct) for one in read(tmp_path / "records.jsonl")]
    assert records == [(5, 0, 1, False), (5, 1, 1, True), (5, 0, 2, True)]
    assert referee.judged == [wrong, right]  # the same code again has its verdict already
    assert curriculum.accuracy == {1: 0.5}  # first turns
    mean = {name: [value for other, value in logged if other == name] for name, _ in logged}
    assert mean["correct"] == [0.5] and mean["turn1/taken"] == [1, 1] and mean["turn2/taken"] == [1, 0]
    assert mean["turn1/correct"] == [0, 1] and mean["turn2/correct"] == [1] and mean["correct_at_last"] == [1, 1]
    assert function.unjudged == {3}


def test_a_resumed_conversation_is_told_its_own_verdict(tmp_path: Path) -> None:
    """Two completions with the same code may have been timed differently."""
    answer = code("x = 1")
    path = tmp_path / "records.jsonl"
    for sample, speed in ((0, 0.5), (1, 0.9)):
        own = verdict("t0", sample, True, speed)
        record = Record(
            phase="grpo", step=3, task="t0", level=1, sample=sample, completion=answer, source="x = 1\n", verdict=own
        )
        path.open("a").write(record.model_dump_json() + "\n")
    batch = scored(tmp_path, Referee(), Curriculum()).begin(["t0"] * 4, 3)
    batch.add(0, answer)
    batch.add(2, answer)
    assert [one.speedup.median for one in batch.heard().values() if one.speedup] == [0.5, 0.9]
    batch.stop()


def test_what_the_verifier_fails_at_in_a_later_turn_is_left_out(tmp_path: Path) -> None:
    function = scored(tmp_path, Broken(lambda text: False), Curriculum())
    batch = function.begin(["t0"] * 4, 0)
    for place in (0, 2):
        batch.add(place, code(str(place)))
    assert len(batch.heard()) == 2
    batch.add(1, code("1"))
    function.due = batch
    assert function([], [], ["t0"] * 4, None, lambda *_: None) == pytest.approx(
        [rounded(0.7), None, rounded(0.7), None]
    )


# -- training


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random model writes no code, and what has none is judged once for a task: let all that it writes be code."""
    monkeypatch.setattr(grpo.CurriculumTrainer, "_text", lambda _, ids: code(repr(ids)))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, torch.Tensor]]:
    """What the loss is computed of, a part of a step each, and what it comes to."""
    found: list[dict[str, torch.Tensor]] = []
    compute = grpo.CurriculumTrainer._compute_loss

    def watched(self: grpo.CurriculumTrainer, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        loss = compute(self, model, inputs)
        keep = inputs["tool_mask"].any(dim=1)
        rows = {name: one[keep] if one.ndim else one for name, one in inputs.items()}
        # The mean over a part's rows that were taken, of which the step's loss is the mean weighted by their number.
        own = torch.zeros(()) if not keep.any() else GRPOTrainer._compute_loss(self, model, rows)
        found.append({**inputs, "loss": loss.detach(), "own": own.detach() * self.current_gradient_accumulation_steps})
        return loss

    monkeypatch.setattr(grpo.CurriculumTrainer, "_compute_loss", watched)
    return found


def run(folder: Path, tiny: Path, referee: Referee, **fields: object) -> tuple[Config, list[Record]]:
    """Two steps of four conversations of two tasks; each with three turns at most."""
    settings = {"turns": 3, "batch": 4, "steps": 2, "temperature": 1.0, **fields}
    config = make_config(folder, tiny, **settings)
    grpo.train(config, TASKS, referee, None)
    return config, read(folder / "grpo" / "records.jsonl")


@pytest.mark.parametrize("ahead", [False, True])
def test_what_failed_goes_on_and_what_was_right_does_not(tmp_path: Path, tiny_folder: Path, ahead: bool) -> None:
    _, records = run(tmp_path, tiny_folder, Referee(), ahead=ahead)
    turns = {(one.step, one.task, one.sample, one.turn): one for one in records}
    assert len(turns) == len(records)
    firsts = [key for key in turns if key[3] == 1]
    assert len(firsts) == 8 and {key[2] for key in firsts} == {0, 1}
    for (step, task, sample, turn), one in turns.items():
        assert ((step, task, sample, turn + 1) in turns) == (turn < 3 and not one.verdict.correct)
    assert {one.verdict.correct for one in records} == {True, False}


def test_slots_draw_the_same_turns(tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later turns have fewer rows than there are slots, and longer ones."""
    found = []
    for in_slots in (False, True):
        monkeypatch.setattr(Sampler, "_has_slots", lambda _, own=in_slots: own)
        _, records = run(tmp_path / str(in_slots), tiny_folder, Referee(), max_completion=40, lr=1e-6)
        found.append({(one.step, one.task, one.sample, one.turn): one.completion for one in records})
    assert found[0] == found[1] and max(turn for *_, turn in found[0]) == 3


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo"])
def test_turns_that_were_not_taken_are_not_trained_on(
    tmp_path: Path, tiny_folder: Path, seen: list[dict[str, torch.Tensor]], loss: str
) -> None:
    _, records = run(tmp_path, tiny_folder, Referee(), loss=loss, steps=1)
    taken = sum(int(one["tool_mask"].any(dim=1).sum()) for one in seen)
    rows = sum(len(one["tool_mask"]) for one in seen)
    assert taken == len(records) < rows == 12 and len(seen) == 3
    for one in seen:
        assert not one["advantages"][~one["tool_mask"].any(dim=1)].any()
    tokens = sum(int(one["tool_mask"].sum()) for one in seen)
    if loss == "dapo":
        assert {int(one["num_items_in_batch"]) for one in seen} == {tokens}
        return
    counts = [int(one["tool_mask"].any(dim=1).sum()) for one in seen]
    expected = sum(count * one["own"] for count, one in zip(counts, seen, strict=True)) / taken
    assert sum(one["loss"] for one in seen) == pytest.approx(float(expected), rel=1e-4, abs=1e-7)


def test_a_group_is_all_turns_of_a_tasks_conversations(
    tmp_path: Path, tiny_folder: Path, seen: list[dict[str, torch.Tensor]]
) -> None:
    _, records = run(tmp_path, tiny_folder, Referee(), steps=1)
    found = []
    for task in {one.task for one in records}:
        rows: list[float | None] = []
        for sample in range(2):
            own = [one.verdict for one in records if (one.task, one.sample) == (task, sample)]
            rows += [*(reward.score(one) for one in own), *[None] * (3 - len(own))]
        worth = [one for one in credit.returns(rows, 3) if one is not None]
        found += [one - sum(worth) / len(worth) for one in worth]
    given = [one["advantages"][one["tool_mask"].any(dim=1)] for one in seen]
    assert sorted(torch.cat(given).tolist()) == pytest.approx(sorted(found), abs=1e-6)


def test_a_turn_is_asked_with_all_that_was_said(
    tmp_path: Path, tiny_folder: Path, seen: list[dict[str, torch.Tensor]]
) -> None:
    _, records = run(tmp_path, tiny_folder, Referee(lambda text: False), steps=1)
    assert len(records) == 12
    lengths = sorted(int(one) for part in seen for one in part["prompt_mask"].sum(dim=1))
    assert lengths[3] < lengths[4] - 100 and lengths[7] < lengths[8] - 100  # a token a byte
    assert all(part["tool_mask"].equal(part["completion_mask"]) for part in seen)
    last = max((row[mask.bool()] for part in seen for row, mask in zip(part["prompt_ids"], part["prompt_mask"],
               strict=True)), key=len)  # fmt: skip
    assert int((last == 2).sum()) == 3 and int((last == 3).sum()) == 3  # so often each of the two speaks


def test_a_conversation_that_is_too_long_ends(tmp_path: Path, tiny_folder: Path) -> None:
    _, records = run(tmp_path, tiny_folder, Referee(lambda text: False), max_prompt=100, steps=1)
    assert [one.turn for one in records] == [1] * 4


@pytest.mark.parametrize("method", ["trl", "grpo", "best_of_n"])
def test_plan_and_code_have_turns_too(
    tmp_path: Path,
    tiny_folder: Path,
    seen: list[dict[str, torch.Tensor]],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    # A random model writes no code, without which best-of-N keeps nothing.
    monkeypatch.setattr(grpo.Assign, "eligible", lambda own: torch.tensor([one.correct for one in own.scored.last]))
    config = make_config(tmp_path, tiny_folder, turns=2, batch=4, steps=1, credit=method)
    config.reward.scheme = "hierarchical"
    grpo.train(config, TASKS, Referee(lambda text: zlib.crc32((text or "").encode()) % 2 == 0), None)
    advantages, masks = (torch.cat([one[name] for one in seen]) for name in ("advantages", "tool_mask"))
    assert advantages.shape == masks.shape and advantages.any() and not advantages[masks == 0].any()


@pytest.mark.parametrize("ahead", [False, True])
def test_a_checkpoint_holds_the_turns_that_were_drawn_ahead(
    tmp_path: Path, tiny_folder: Path, ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in its third step, a run ends as one that was not, and nothing is judged a second time."""
    fields = {"turns": 2, "batch": 4, "steps": 4, "save_steps": 2, "temperature": 1.0, "ahead": ahead}
    grpo.train(make_config(tmp_path / "whole", tiny_folder, **fields), TASKS, Referee(), None)
    config = make_config(tmp_path / "parts", tiny_folder, **fields)
    compute = grpo.CurriculumTrainer._compute_loss

    def stopped(self: grpo.CurriculumTrainer, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        if self.state.global_step == 3:
            raise KeyboardInterrupt
        return compute(self, model, inputs)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(grpo.CurriculumTrainer, "_compute_loss", stopped)
        grpo.train(config, TASKS, Referee(), None)
    grpo.train(config, TASKS, Referee(), None)
    whole, parts = (
        {(r.step, r.task, r.sample, r.turn): r.completion for r in read(tmp_path / name / "grpo" / "records.jsonl")}
        for name in ("whole", "parts")
    )
    assert whole == parts and len(read(tmp_path / "parts" / "grpo" / "records.jsonl")) == len(parts)
    state = json.loads((tmp_path / "parts" / "grpo" / "model" / "trainer_state.json").read_text())
    assert state["global_step"] == 4


def test_a_rollout_without_a_turn_says_what_was_said_last(tmp_path: Path) -> None:
    function = scored(tmp_path, Referee(), Curriculum())
    one = Rollout([{"task": "t0"}] * 4, 0, function.begin(["t0"] * 4, 0), [[5], [], [6], [7]])
    assert one.taken == [True, False, True, True] and one.said() == [[5], [5], [6], [7]]
    one.batch.stop()


def test_a_loss_that_cannot_leave_rows_out_is_a_config_error(tmp_path: Path, tiny_folder: Path) -> None:
    with pytest.raises(ConfigError, match="bnpo"):
        run(tmp_path, tiny_folder, Referee(), loss="bnpo")
