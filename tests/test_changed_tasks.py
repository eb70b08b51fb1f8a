"""A task whose text has changed since: what was drawn and judged for the old one counts nowhere for the new one."""

from pathlib import Path

import pytest
from judging import DOUBLE

from tritonsmith import reward
from tritonsmith.config import BestOfNConfig, Config, EvalConfig, ModelConfig, RunConfig
from tritonsmith.curriculum import Curriculum
from tritonsmith.errors import UserError
from tritonsmith.evaluate import draw, evaluate, read
from tritonsmith.train import best_of_n
from tritonsmith.train.policy import Drawer
from tritonsmith.train.rewarding import KernelReward
from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier

CHANGED = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("48", "50")})
BESIDE = DOUBLE.model_copy(update={"id": "beside"})
DRAWING = EvalConfig(samples=2, max_new_tokens=4)


@pytest.fixture
def config(tmp_path: Path, tiny_folder: Path) -> Config:
    return Config(
        run=RunConfig(dir=tmp_path),
        model=ModelConfig(id=str(tiny_folder), prompt_style="bare"),
        best_of_n=BestOfNConfig(n=2, keep=1, rounds=1, tasks_per_round=1, max_new_tokens=4),
    )


def _refused(error: pytest.ExceptionInfo[UserError]) -> bool:
    return "before its text changed: go on in a new folder" in str(error.value) and "\n" not in str(error.value)


def test_completions_of_another_text_are_not_judged(config: Config, verifier: Verifier, tmp_path: Path) -> None:
    out, sampler = tmp_path / "eval.jsonl", Drawer(config).of(None)
    draw(sampler, [DOUBLE], DRAWING, out.with_suffix(".completions.jsonl"))
    with pytest.raises(UserError) as caught:
        evaluate(sampler, [CHANGED], verifier, DRAWING, out)
    assert _refused(caught) and not out.exists()


def test_verdicts_on_another_text_are_no_results(config: Config, verifier: Verifier, tmp_path: Path) -> None:
    out, sampler = tmp_path / "eval.jsonl", Drawer(config).of(None)
    evaluate(sampler, [DOUBLE], verifier, DRAWING, out)
    out.with_suffix(".completions.jsonl").unlink()
    with pytest.raises(UserError) as caught:
        evaluate(sampler, [CHANGED], verifier, DRAWING, out)
    assert _refused(caught) and len(read(out)) == 2


def test_a_text_that_is_not_asked_for_may_change(config: Config, verifier: Verifier, tmp_path: Path) -> None:
    out, sampler = tmp_path / "eval.jsonl", Drawer(config).of(None)
    evaluate(sampler, [DOUBLE], verifier, DRAWING, out)
    assert [record.task for record in evaluate(sampler, [BESIDE], verifier, DRAWING, out)] == ["beside"] * 2


@pytest.mark.parametrize("left", ["records.completions.jsonl", "records.jsonl"])
def test_a_round_does_not_go_on_with_another_text(
    config: Config, verifier: Verifier, tmp_path: Path, left: str
) -> None:
    best_of_n.train(config, [DOUBLE], verifier, None)
    for path in (tmp_path / "rl" / "round-00").glob("*.jsonl"):
        if path.name != left:
            path.unlink()
    with pytest.raises(UserError) as caught:
        best_of_n.train(config, [CHANGED], verifier, None)
    assert _refused(caught)


def test_a_reward_is_not_that_of_another_text(config: Config, verifier: Verifier, tmp_path: Path) -> None:
    def rewards(task: Task) -> KernelReward:
        return KernelReward([task], verifier, tmp_path / "records.jsonl", Curriculum(), reward.score)

    said = [{"role": "assistant", "content": "nothing"}]
    rewards(DOUBLE)(prompts=[], completions=[said], task=["double"], trainer_state=None, log_metric=lambda *_: None)
    with pytest.raises(UserError) as caught:
        rewards(CHANGED)
    assert _refused(caught)
