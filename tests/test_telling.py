"""Rows without an advantage are passed over, and no gradient is another one for it."""

from pathlib import Path

import pytest
import torch
from test_grpo import make_config, tasks, verifier  # noqa: F401  (fixtures)
from trl.trainer.grpo_trainer import GRPOTrainer

from tritonsmith import evaluate, reward
from tritonsmith.train import grpo
from tritonsmith.train.telling import SILENT, Silence, telling
from tritonsmith.types import Task, Verdict
from tritonsmith.verify.pool import Verifier


def batch(advantages: torch.Tensor) -> dict[str, torch.Tensor]:
    """Four rows: prompts of 1, 2, 3 and 1 tokens, answers of 4, 1, 2 and 3."""
    prompt, answer = torch.tensor([1, 2, 3, 1]), torch.tensor([4, 1, 2, 3])
    return {
        "prompt_ids": torch.arange(12).view(4, 3),
        "prompt_mask": (torch.arange(3) >= 3 - prompt[:, None]).long(),
        "completion_ids": torch.arange(16).view(4, 4),
        "completion_mask": (torch.arange(4) < answer[:, None]).long(),
        "advantages": advantages,
        "num_items_in_batch": torch.tensor(40.0),
    }


def test_rows_that_say_nothing_are_left_out_and_the_rest_is_cut_to_its_longest() -> None:
    left, share = telling(batch(torch.tensor([0.0, 1.0, -1.0, 0.0])), "dapo")
    assert left["prompt_ids"].tolist() == [[3, 4, 5], [6, 7, 8]] and left["advantages"].tolist() == [1, -1]
    assert left["completion_ids"].tolist() == [[4, 5], [8, 9]] and share == 1 and left["num_items_in_batch"] == 40
    assert telling(batch(torch.tensor([0.0, 0.0, 0.0, 2.0])), "grpo")[0]["prompt_ids"].tolist() == [[11]]


def test_a_batch_that_says_nothing_keeps_a_row() -> None:
    left, _ = telling(batch(torch.zeros(4, 4)), "grpo")
    assert len(left["advantages"]) == 1 and left["advantages"].shape == (1, 4)


def test_as_many_rows_are_kept_as_another_process_has() -> None:
    left, share = telling(batch(torch.tensor([0.0, 0.0, 0.0, 2.0])), "grpo", least=2)
    assert left["advantages"].tolist() == [0, 2] and left["prompt_ids"].tolist() == [[2], [11]] and share == 0.5
    whole = batch(torch.tensor([0.0, 1.0, 0.0, 0.0]))
    assert telling(whole, "dapo", least=4)[0] is whole


def test_a_batch_of_which_every_row_says_something_is_as_it_was() -> None:
    whole = batch(torch.ones(4))
    assert telling(whole, "grpo")[0] is whole


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo", "bnpo"])
def test_gradients_are_those_of_the_whole_batch(
    tmp_path: Path,
    tiny_folder: Path,
    tasks: list[Task],  # noqa: F811
    verifier: Verifier,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    loss: str,
) -> None:
    one = tasks[0].id
    monkeypatch.setattr(reward, "score", lambda verdict, *_: by_number(verdict, one))
    config = make_config(tmp_path, tiny_folder, steps=1, save_steps=1, batch=8, beta=0.0, loss=loss, scale="none")
    ours, seen = grpo.CurriculumTrainer._compute_loss, []

    def both(self: grpo.CurriculumTrainer, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        found = [torch.autograd.grad(f(self, model, inputs), weights) for f in (GRPOTrainer._compute_loss, ours)]
        seen.append((inputs["advantages"], *found))
        return ours(self, model, inputs)

    monkeypatch.setattr(grpo.CurriculumTrainer, "_compute_loss", both)
    grpo.train(config, tasks, verifier, None)
    ((advantages, whole, left),) = seen
    assert 0 < int((advantages != 0).sum()) < advantages.numel()
    assert any(gradient.abs().max() > 0 for gradient in whole)
    for a, b in zip(whole, left, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("blame", ["answer", "nothing"])
def test_what_is_pushed_up_is_what_was_right_in_whichever_update_it_is(
    tmp_path: Path,
    tiny_folder: Path,
    tasks: list[Task],  # noqa: F811
    verifier: Verifier,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    blame: str,
) -> None:
    """Batches drawn ahead, in parts, in TRL's order: answers, advantages and what they are compared with agree."""
    one, ours = tasks[0].id, grpo.CurriculumTrainer._compute_loss
    monkeypatch.setattr(reward, "score", lambda verdict, *_: by_number(verdict, one))
    fields = {"batch": 8, "num_generations": 4, "updates": 4, "ahead": True, "blame": blame, "max_completion": 24}
    config = make_config(tmp_path, tiny_folder, steps=4, save_steps=10, beta=0.0, loss="dapo", **fields)
    pushed: dict[str, bool] = {}
    moved: list[float] = []

    def watched(self: grpo.CurriculumTrainer, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        ids, mask = (
            torch.cat([inputs[f"{of}_{kind}"] for of in ("prompt", "completion")], 1) for kind in ("ids", "mask")
        )
        with torch.no_grad():
            now = self._get_per_token_logps_and_entropies(model, ids, mask, inputs["completion_ids"].shape[1])[0]
        moved.append(float(((now - inputs["old_per_token_logps"]) * inputs["completion_mask"]).abs().max()))
        highest = inputs["advantages"].reshape(len(ids), -1).amax(1)
        for row, said, most in zip(inputs["completion_ids"], inputs["completion_mask"], highest, strict=True):
            pushed[self._text(row[said.bool()].tolist())] = bool(most > 0)
        return ours(self, model, inputs)

    monkeypatch.setattr(grpo.CurriculumTrainer, "_compute_loss", watched)
    grpo.train(config, tasks, verifier, None)
    records = list(evaluate.read(tmp_path / "grpo" / "records.jsonl"))
    right = {record.completion: bool(by_number(record.verdict, one)) for record in records}
    shared = {text: right[text] for text in pushed}
    assert pushed == shared and 0 < sum(shared.values()) < len(shared)
    assert moved[0] < 1e-4 < max(moved) < 0.5


def by_number(verdict: Verdict, task: str) -> float:
    """Every other answer to one task is right, none to the others."""
    return float(verdict.task == task and verdict.sample % 2 == 1)


def test_a_run_that_learns_nothing_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """On a GPU four fifths of twenty minutes went by so, in a run whose log showed nothing amiss."""
    silence = Silence()
    for rows in (*[0] * (SILENT - 1), 1, *[0] * (SILENT - 1)):
        silence.heard(rows)
    assert not caplog.records
    for _ in range(3 * SILENT):
        silence.heard(0)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"in {SILENT} batches" in caplog.text
