"""Advantages over tokens: the plan's by speed, the code's by correctness, and that training uses them."""

from pathlib import Path

import pytest
import torch
from test_grpo import make_config, tasks, verifier  # noqa: F401  (fixtures)
from transformers import PreTrainedTokenizerFast

from tritonsmith import reward
from tritonsmith.config import ConfigError, ModelConfig
from tritonsmith.curriculum import Curriculum
from tritonsmith.prompts import render_completion
from tritonsmith.train import grpo, models
from tritonsmith.train.advantages import Assign
from tritonsmith.train.rewarding import KernelReward
from tritonsmith.types import Finding, Interval, Task, Timing, Verdict
from tritonsmith.verify.pool import Verifier


def verdict(correct: bool, speedup: float | None = None) -> Verdict:
    interval = Interval(median=speedup, low=speedup, high=speedup) if speedup is not None else None
    timing = (
        Timing(kind="predicted", reference_ms=1.0, candidate_ms=1.0, speedup=interval) if interval is not None else None
    )
    return Verdict(
        task="t", device="cpu", target="sm_90", policy="strict", valid=correct, correct=correct, stage="full",
        speedup=interval, timing=timing,
    )  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    loaded = models.load(ModelConfig(id="nano"))[1]
    assert isinstance(loaded, PreTrainedTokenizerFast)
    return loaded


def assign(
    tokenizer: PreTrainedTokenizerFast, folder: Path, verdicts: list[Verdict], scheme: str, method: str
) -> Assign:
    """Advantages of completions that were scored with these verdicts."""
    scored = KernelReward([], verifier=None, records=folder / "none", curriculum=Curriculum(), score=reward.score)  # type: ignore[arg-type]
    scored.last, scored.sources = verdicts, [f"x = {i}" for i in range(len(verdicts))]
    return Assign(scored, tokenizer, len(verdicts), method, scheme, 0.1, 1.0, 1)  # type: ignore[arg-type]


def test_plan_and_code_have_advantages_of_their_own(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    """Of two right answers the faster one's plan is better, their code is alike."""
    text = render_completion("Fuse.", "import torch\n\n\nclass ModelNew:\n    pass\n")
    ids = tokenizer.encode(text, add_special_tokens=False)
    made = assign(tokenizer, tmp_path, [verdict(True, 1.0), verdict(True, 2.0)], "hierarchical", "dr_grpo")
    masks = made.masks([ids, ids], len(ids) + 2)
    found = made(made.rewards(), masks, made.eligible())
    plan, code = masks["plan"].bool(), masks["code"].bool()
    assert found[0][plan[0]].tolist() == pytest.approx([-0.05] * int(plan[0].sum()))
    assert found[1][plan[1]].tolist() == pytest.approx([0.05] * int(plan[1].sum()))
    assert found[code].abs().max() == 0 and found[:, len(ids) :].abs().max() == 0


def test_a_wrong_answer_is_pushed_away_in_its_code(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    made = assign(tokenizer, tmp_path, [verdict(True, 1.0), verdict(False)], "hierarchical", "dr_grpo")
    found = made(made.rewards(), made.masks([[5, 6], [5, 6, 7]], 3), made.eligible())
    assert found[1].tolist() == [-0.5] * 3 and found[0].tolist() == [0.5, 0.5, 0.0]


def test_best_of_n_keeps_one_right_answer(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    verdicts = [verdict(False), verdict(True, 1.2), verdict(True, 1.9)]
    made = assign(tokenizer, tmp_path, verdicts, "staged", "best_of_n")
    found = made(made.rewards(), made.masks([[5], [5, 6], [5, 6]], 2), made.eligible())
    assert found.tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


def test_a_wrong_answer_is_pushed_away_in_the_line_that_is_blamed(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    """Of three wrong answers one names a line; of the right one all tokens are pulled up."""
    source = "import torch\n\n\nclass ModelNew:\n    slip = 1\n    pass\n"
    text = render_completion("Fuse.", source)
    ids = tokenizer.encode(text, add_special_tokens=False)
    slip = Finding(rule="exception", message="NameError", line=5)
    wrong = [verdict(False).model_copy(update={"findings": some}) for some in ([slip], [], [])]
    made = assign(tokenizer, tmp_path, [verdict(True, 1.0), *wrong], "binary", "dr_grpo")
    made.blames, made.scored.sources = "line", [source] * 4
    rows = [ids] * 4
    blame = made.blame(rows, len(ids))
    found = made(made.rewards(), made.masks(rows, len(ids)), made.eligible(), blame)
    pushed = found[1] < 0
    text = tokenizer.decode([one for one, down in zip(ids, pushed.tolist(), strict=True) if down])
    assert text.strip() == "slip = 1"  # the blanks around it may be of its neighbours' tokens
    assert found[1][~pushed].abs().max() == 0 and found[2:].abs().max() == 0
    assert found[0].tolist() == pytest.approx([0.75] * len(ids))


def test_where_nothing_is_blamed_only_what_is_better_is_pushed(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    made = assign(tokenizer, tmp_path, [verdict(True, 1.0), verdict(False)], "binary", "dr_grpo")
    made.blames = "nothing"
    rows = [[5, 6], [5, 6, 7]]
    found = made(made.rewards(), made.masks(rows, 3), made.eligible(), made.blame(rows, 3))
    assert found.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    "fields",
    [{"credit": "best_of_n"}, {"credit": "grpo"}, {"blame": "line"}, {"blame": "nothing"}, {"top_entropy": 0.2}, {}],
)
def test_the_trainer_takes_them(
    tmp_path: Path,
    tiny_folder: Path,
    tasks: list[Task],  # noqa: F811
    verifier: Verifier,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, object],
) -> None:
    """The loss sees (B, T); a random model is never right, so the rewards are given."""
    config = make_config(tmp_path, tiny_folder, steps=1, save_steps=1, **fields)
    config.reward.scheme = "hierarchical"
    given = iter([0.0, 1.0] * 4)
    monkeypatch.setattr(reward, "parts", lambda *_: dict.fromkeys(("plan", "code"), next(given)))
    monkeypatch.setattr(grpo.Assign, "eligible", lambda _: torch.tensor([False, True]))
    seen: list[torch.Tensor] = []
    compute = grpo.CurriculumTrainer._compute_loss

    def watched(self: grpo.CurriculumTrainer, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        seen.append(inputs["advantages"])
        return compute(self, model, inputs)

    monkeypatch.setattr(grpo.CurriculumTrainer, "_compute_loss", watched)
    grpo.train(config, tasks, verifier, None)
    (advantages,) = seen
    assert advantages.ndim == 2
    worse, better = sorted(advantages, key=torch.sum)  # TRL shuffles them
    assert (better > 0).any() and (worse <= 0).all()


def test_advantages_are_divided_as_the_scale_says_with_a_blamed_line_too(
    tmp_path: Path, tiny_folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    fields = {"blame": "line", "loss": "dapo"}
    made = [
        grpo._assign(make_config(tmp_path, tiny_folder, scale=scale, **fields), None, tokenizer)  # type: ignore[arg-type]
        for scale in ("auto", "group", "none")
    ]
    assert [one.method for one in made if one is not None] == ["grpo", "grpo", "dr_grpo"]
    with pytest.raises(ConfigError, match="batch"):
        grpo._assign(make_config(tmp_path, tiny_folder, scale="batch", **fields), None, tokenizer)  # type: ignore[arg-type]


def test_a_scale_is_said_to_do_nothing_where_the_credit_is_not_trls(
    tmp_path: Path, tiny_folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    with pytest.raises(ConfigError, match=r"grpo\.scale"):
        grpo._assign(make_config(tmp_path, tiny_folder, credit="dr_grpo", scale="group"), None, tokenizer)
    assert grpo._assign(make_config(tmp_path, tiny_folder, credit="dr_grpo"), None, tokenizer) is not None


def test_a_slow_tokenizer_is_a_config_error(tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(tmp_path, tiny_folder, credit="grpo")
    with pytest.raises(ConfigError, match="fast tokenizer"):
        grpo._assign(config, None, object())  # type: ignore[arg-type]
