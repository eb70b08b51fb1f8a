"""Self-imitation in GRPO: right answers come back where rows say nothing, and what says something stays as it was."""

from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from test_grpo import make_config, tasks, verifier  # noqa: F401  (fixtures)
from test_telling import batch
from transformers import AutoTokenizer

from tritonsmith.config import GrpoSection
from tritonsmith.evaluate import read
from tritonsmith.train import grpo
from tritonsmith.train.imitation import Imitation, placed
from tritonsmith.types import Record, Task, Verdict


def record(step: int, task: str, sample: int, right: bool) -> Record:
    verdict = Verdict(task=task, device="cpu", target="", policy="strict", correct=right)
    said = f"{task}.{sample}"
    return Record(
        phase="grpo", step=step, task=task, level=1, sample=sample, completion=said, source=None, verdict=verdict
    )


def test_an_answer_comes_back_ever_more_seldom_and_the_latest_first() -> None:
    kept = Imitation(3)
    kept.add(0, [("b", "1"), ("a", "2"), ("b", "3")])
    kept.add(1, [("c", "4")])
    assert kept.due(0) == kept.due(6) == [] and kept.due(3) == [("c", "4")]
    assert kept.due(1) == [("a", "2"), ("b", "1")]
    assert kept.due(2) == [("c", "4"), ("a", "2"), ("b", "1")]
    assert kept.due(4) == [("a", "2"), ("b", "1")] and kept.due(8) == []


def test_a_resumed_run_has_the_same_answers() -> None:
    rows = [record(0, "a", 1, True), record(0, "a", 0, False), record(0, "a", 2, True), record(1, "b", 0, False)]
    live, resumed = Imitation(2), Imitation(2)
    for step in (0, 1):
        known = sorted((row for row in rows if row.step == step), key=lambda row: row.sample)
        live.add(step, [(row.task, row.completion) for row in known if row.verdict.correct])
    resumed.recall(reversed(rows))
    assert [live.due(step) for step in range(4)] == [resumed.due(step) for step in range(4)]
    assert live.due(1) == [("a", "a.1")]


@pytest.mark.parametrize("by_token", [False, True])
def test_answers_stand_where_they_are_put_and_all_else_stays(by_token: bool) -> None:
    advantages = torch.tensor([1.0, 0.0, -1.0, 0.0])
    made = batch(advantages[:, None] * torch.ones(4, 4) if by_token else advantages)
    made["old_per_token_logps"] = -torch.ones(4, 4)
    found = placed(made, [1, 3], [[91, 92, 93, 94], [95]], [[81], [82, 83, 84, 85, 86]], torch.full((2, 5), -2.0), 7)
    assert found["prompt_ids"].tolist() == [[7, 0, 1, 2], [91, 92, 93, 94], [7, 6, 7, 8], [7, 7, 7, 95]]
    assert found["completion_ids"][[1, 3]].tolist() == [[81, 7, 7, 7, 7], [82, 83, 84, 85, 86]]
    assert found["completion_mask"].sum(1).tolist() == [4, 1, 2, 5] and found["prompt_mask"][2].tolist() == [0, 1, 1, 1]
    assert found["old_per_token_logps"][:, 0].tolist() == [-1, -2, -1, -2]
    highest = found["advantages"].reshape(4, -1)
    assert highest[:, 0].tolist() == [1, 1, -1, 1] and found["num_items_in_batch"] == 40
    if by_token:
        assert highest[1].tolist() == [1, 0, 0, 0, 0]
    for name in ("prompt", "completion"):
        before, after = (one[f"{name}_ids"][[0, 2]][one[f"{name}_mask"][[0, 2]].bool()] for one in (made, found))
        assert before.tolist() == after.tolist()


def test_tokens_of_an_answer_weigh_what_they_are_given() -> None:
    """A plan with a reward of its own weighs `alpha` elsewhere, and weighed 1 here."""
    made = batch(torch.zeros(4, 4))
    weights = torch.tensor([[0.1, 1.0, 1.0, 0.0, 0.0]])
    found = placed(made, [2], [[91]], [[81, 82, 83]], torch.zeros(1, 5), 7, weights)
    assert found["advantages"][2].tolist() == pytest.approx([0.1, 1.0, 1.0, 0.0])


def test_imitation_needs_no_reference_and_one_turn() -> None:
    for more in ({"beta": 0.1}, {"beta": 0.0, "turns": 2}):
        with pytest.raises(ValidationError, match="imitate"):
            GrpoSection.model_validate({"imitate": 2, **more})


@pytest.mark.parametrize("blame", ["answer", "line"])
@pytest.mark.parametrize("ahead", [False, True])
def test_what_was_right_is_learnt_again_in_later_batches(
    tmp_path: Path,
    tiny_folder: Path,
    tasks: list[Task],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    ahead: bool,
    blame: str,
) -> None:
    """Every answer of one task is right and none of the others: no group tells anything by itself."""
    one = tasks[0].id

    class Judge:
        def verify_many(self, jobs: list, on_verdict: object = None) -> list:
            found = []
            for place, (task, candidate) in enumerate(jobs):
                own = {"task": task.id, "sample": candidate.sample, "device": "cpu", "target": "", "policy": "strict"}
                found.append(Verdict(**own, valid=True, correct=task.id == one))
                on_verdict(place, found[-1])
            return found

    tokenizer, learnt = AutoTokenizer.from_pretrained(tiny_folder), list[set[str]]()
    compute = grpo.CurriculumTrainer._compute_loss

    def watched(self: grpo.CurriculumTrainer, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        said = [row[mask.bool()] for row, mask in zip(inputs["completion_ids"], inputs["completion_mask"], strict=True)]
        up = inputs["advantages"].reshape(len(said), -1).amax(1) > 0
        learnt.append({tokenizer.decode(ids[:-1]) for ids, pushed in zip(said, up, strict=True) if pushed})
        return compute(self, model, inputs)

    def spelt(self: grpo.CurriculumTrainer, ids: list[int]) -> str:
        """A random model's bytes are no text that its tokenizer would give them back for."""
        return "".join(chr(ord("a") + one % 26) for one in ids[:20])

    monkeypatch.setattr(grpo.CurriculumTrainer, "_compute_loss", watched)
    monkeypatch.setattr(grpo.CurriculumTrainer, "_text", spelt)
    fields = {"batch": 4, "updates": 2, "beta": 0.0, "loss": "dapo", "imitate": 2, "ahead": ahead, "blame": blame}
    config = make_config(tmp_path, tiny_folder, False, steps=4, save_steps=10, max_completion=24, **fields)
    grpo.train(config, tasks[:2], Judge(), None)
    right: dict[int, str] = {}
    for row in sorted(read(tmp_path / "grpo" / "records.jsonl"), key=lambda row: (row.step, row.sample)):
        if row.verdict.correct:
            right.setdefault(row.step, row.completion)
    trained = [max(0, step - 1) for step in range(4)] if ahead else [0, 1, 2, 3]
    for place, step in enumerate(trained):
        again = {right[before] for before in (step - 1, step - 2) if before in right}
        assert learnt[2 * place] | learnt[2 * place + 1] == again
    assert any(learnt)


MODULE = """import torch
from torch import nn

class Model(nn.Module):

    def __init__(self, slope):
        super().__init__()
        self.factor = slope

    def forward(self, x, y):
        return torch.relu(x) * self.factor + y
"""
ANSWER = """```python
class ModelNew(nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.factor = slope

    def forward(self, x, y):
        return launch_pointwise(x, y, self.factor)
```"""


def test_an_answer_comes_back_under_other_names_and_so_does_its_task() -> None:
    chat = [{"role": "user", "content": MODULE}]
    told = [Imitation(2, rename=True).told(chat, ANSWER, f"0/{batch}/a") for batch in range(8)]
    assert len({prompt[0]["content"] for prompt, _ in told}) > 4
    assert told[0] == Imitation(2, rename=True).told(chat, ANSWER, "0/0/a")
    for (prompt,), answer in told:
        argument = prompt["content"].split("def forward(self, ")[1].split(",")[0]
        assert f"launch_pointwise({argument}, " in answer
    assert Imitation(2).told(chat, ANSWER, "0/0/a") == (chat, ANSWER)


def test_what_has_not_the_form_of_a_module_comes_back_as_it_was() -> None:
    chat = [{"role": "user", "content": "Write a kernel."}]
    assert Imitation(2, rename=True).told(chat, "no answer", "0/0/a") == (chat, "no answer")


def test_what_is_renamed_must_come_back() -> None:
    with pytest.raises(ValidationError, match="imitate"):
        GrpoSection.model_validate({"rename": True})
