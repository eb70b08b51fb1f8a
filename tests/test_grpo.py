"""GRPO: the reward keeps records and judges once, the sampler keeps groups, checkpoints keep the curriculum."""

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Literal

import pytest
import torch
from safetensors.torch import load_file
from transformers import get_scheduler
from trl.trainer.utils import RepeatSampler

from tritonsmith import reward
from tritonsmith.config import Config, ConfigError, GrpoSection, ModelConfig, RunConfig, VerifyConfig
from tritonsmith.curriculum import Curriculum
from tritonsmith.data.lower.convert import convert
from tritonsmith.data.pair import Pair
from tritonsmith.evaluate import read
from tritonsmith.extract import Extraction
from tritonsmith.prompts import render_completion
from tritonsmith.tasks import graphs
from tritonsmith.train import grpo, rewarding, trainer
from tritonsmith.train.learner import hasten
from tritonsmith.train.order import CurriculumSampler, Reshuffled
from tritonsmith.train.rewarding import KernelReward, short
from tritonsmith.types import Candidate, Finding, Task, Verdict
from tritonsmith.verify.pool import Verifier


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(VerifyConfig(device="cpu", timing=False)) as own:
        yield own


def lowered(task: Task) -> Pair:
    answer = convert(task)
    assert isinstance(answer, Pair)
    return answer


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    simple = graphs.generate(2, seed=0, depth=(1, 1), families=["pointwise"])
    return simple + graphs.generate(2, seed=0, depth=(2, 2), families=["pointwise"])


class State:
    global_step = 7


def call(function: KernelReward, tasks: list[Task], texts: list[str]) -> tuple[list[float], dict[str, float]]:
    logged: dict[str, float] = {}
    scores = function(
        prompts=[],
        completions=[[{"role": "assistant", "content": text}] for text in texts],
        completion_ids=[],
        task=[task.id for task in tasks],
        level=[task.level for task in tasks],
        trainer_state=State(),
        log_metric=lambda name, value: logged.__setitem__(name, value),
    )
    return scores, logged


def test_reward_scores_records_and_judges_each_source_once(
    tmp_path: Path, tasks: list[Task], verifier: Verifier
) -> None:
    answer = lowered(tasks[0])
    right = render_completion(answer.plan, answer.source)
    path, curriculum = tmp_path / "records.jsonl", Curriculum()
    judged: list[int] = []

    class Counted:
        def verify_many(self, jobs: list, on_verdict: object = None) -> list:
            jobs = list(jobs)
            judged.append(len(jobs))
            return verifier.verify_many(jobs, on_verdict)

    function = KernelReward(tasks, Counted(), path, curriculum, reward.score)
    scores, logged = call(function, [tasks[0]] * 3, [right, "nothing", right])
    assert scores[0] == scores[2] >= 0.7 and scores[1] == 0.0
    assert logged["correct"] == pytest.approx(2 / 3) == curriculum.accuracy[1]
    records = read(path)
    assert {(record.phase, record.step, record.sample) for record in records} == {("grpo", 7, i) for i in range(3)}

    resumed = KernelReward(tasks, Counted(), path, Curriculum(), reward.score)
    assert call(resumed, [tasks[0]] * 3, [right, "nothing", right])[0] == scores
    assert judged == [3, 0] and read(path) == records


def test_a_failure_of_the_machines_is_not_remembered(tmp_path: Path, tasks: list[Task]) -> None:
    """A source whose verdict was a timeout had that reward for good."""
    found = Verdict(task=tasks[0].id, device="cpu", target="", policy="strict")
    late = found.model_copy(update={"findings": [Finding(rule="timeout", message="late")]})
    function = KernelReward(tasks, None, tmp_path / "records.jsonl", Curriculum(), reward.score)  # type: ignore[arg-type]
    candidate = Candidate(task=tasks[0].id, source="x = 1", completion="x = 1")
    function.settle(candidate, late, step=1)
    assert function.known(candidate, 1, turn=1) == late and function.known(candidate, 2, turn=1) is None
    function.settle(candidate, found, step=2)
    assert function.known(candidate, 3, turn=1) == found


def test_equal_scores_add_up_without_rounding() -> None:
    """TRL's mean of eight times 0.7 was not 0.7, and so groups that say nothing were learnt from."""
    for score in (0.7, 0.3, 1.0, -10.0, 3.37):
        row = torch.full((8,), short(score))
        assert row.mean() == row[0] == pytest.approx(score, rel=1e-5)
        assert not (row - row.mean()).any()


def test_a_process_that_goes_on_in_the_third_epoch_has_its_order() -> None:
    def order() -> Reshuffled:
        return Reshuffled(RepeatSampler(range(12), mini_repeat_count=2, batch_size=3, seed=5))

    live, resumed, epochs = order(), order(), []
    for epoch in range(3):
        live.set_epoch(epoch)
        epochs.append(list(live))
    resumed.set_epoch(2)
    assert list(resumed) == epochs[2] != epochs[0] != epochs[1] and len(resumed) == len(epochs[2])
    assert epochs[0] == list(RepeatSampler(range(12), mini_repeat_count=2, batch_size=3, seed=5))


def test_sampler_keeps_the_order_of_repeat_sampler() -> None:
    sampler = CurriculumSampler([1] * 9 + [2] * 3, Curriculum(), batch=3, repeat=4, again=2, seed=0)
    order = list(sampler)
    assert len(order) == len(sampler) == 4 * 3 * 4 * 2
    for start in range(0, len(order), 24):
        batch = order[start : start + 24]
        assert batch[:12] == batch[12:]
        assert [len(list(group)) for _, group in groupby(batch[:12])] == [4, 4, 4]
        assert len(set(batch)) == 3


def test_sampler_follows_the_curriculum_as_it_moves() -> None:
    curriculum = Curriculum(p_min=0.0, p_max=1.0)
    sampler = CurriculumSampler([1] * 8 + [2] * 8, curriculum, batch=4, repeat=1, again=1, seed=0)
    batches = iter(sampler)
    assert all(next(batches) < 8 for _ in range(4))
    curriculum.observe(1, 1.0)
    assert all(next(batches) >= 8 for _ in range(4))


def test_sampler_goes_on_with_the_batches_that_were_read_ahead() -> None:
    def sampler(seed: int) -> CurriculumSampler:
        return CurriculumSampler([1] * 8 + [2] * 8, Curriculum(), batch=2, repeat=1, again=1, seed=seed)

    first = sampler(0)
    order = iter(first)
    batches = [[next(order), next(order)] for _ in range(4)]
    second = sampler(1)
    second.go_to(json.loads(json.dumps(first.place())))
    resumed = iter(second)
    assert [[next(resumed), next(resumed)] for _ in range(4)] == batches
    assert [next(resumed) for _ in range(4)] == [next(order) for _ in range(4)]


def test_sampler_replays_nothing_of_an_epoch_that_has_ended() -> None:
    sampler = CurriculumSampler([1] * 4, Curriculum(), batch=2, repeat=1, again=1, seed=0)
    assert len(list(sampler)) == 4 and sampler.place()["drawn"] == []


def make_config(folder: Path, tiny: Path, curriculum: bool = True, **fields: object) -> Config:
    settings = {"num_generations": 2, "batch": 2, "max_prompt": 4096, "max_completion": 8, "steps": 4, "save_steps": 2}
    config = Config(
        run=RunConfig(dir=folder),
        model=ModelConfig(id=str(tiny), prompt_style="bare"),
        grpo=GrpoSection.model_validate({**settings, "lr": 1e-3, **fields}),
    )
    config.extensions.curriculum = curriculum
    config.lora.enabled = False
    return config


@pytest.mark.parametrize("updates, iterations", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("curriculum", [True, False])
def test_killed_while_saving_resumes_without_losing_a_verdict(
    tmp_path: Path,
    tiny_folder: Path,
    tasks: list[Task],
    verifier: Verifier,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    curriculum: bool,
    ahead: bool,
    updates: int,
    iterations: int,
) -> None:
    config = make_config(tmp_path, tiny_folder, curriculum, ahead=ahead, updates=updates, iterations=iterations)
    learnt = updates * iterations
    mark = trainer.MarkWhole.on_save

    def killed(self: object, args: object, state: object, control: object, **rest: object) -> None:
        if state.global_step == 4 * learnt:
            raise KeyboardInterrupt
        mark(self, args, state, control, **rest)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(trainer.MarkWhole, "on_save", killed)
        grpo.train(config, tasks, verifier, None)
    path = tmp_path / "grpo" / "records.jsonl"
    before = path.read_bytes()
    assert len(read(path)) == 8
    with caplog.at_level(logging.INFO):
        folder = grpo.train(config, tasks, verifier, None)
    assert f"checkpoint-{2 * learnt}" in caplog.text
    assert path.read_bytes() == before
    assert json.loads((folder / "trainer_state.json").read_text())["global_step"] == 4 * learnt
    assert list((tmp_path / "tensorboard" / "grpo").glob("events.*"))


def test_trains_the_weights_with_lora_and_keeps_the_base(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(tmp_path, tiny_folder, steps=2)
    config.lora.enabled = True
    # A random model is never right: rewards that differ within a group let the gradient be seen.
    values = iter([0.0, 1.0] * 4)
    monkeypatch.setattr(reward, "score", lambda *_: next(values))
    folder = grpo.train(config, tasks, verifier, None)
    adapter = load_file(folder / "adapter_model.safetensors")
    assert any(torch.count_nonzero(weight) for name, weight in adapter.items() if "lora_B" in name)


def test_prompts_longer_than_max_prompt_are_an_error_when_none_is_left(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier
) -> None:
    with pytest.raises(ConfigError, match="max_prompt"):
        grpo.train(make_config(tmp_path, tiny_folder, max_prompt=3), tasks, verifier, None)


def test_a_step_of_more_tasks_than_there_are_is_a_config_error(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier
) -> None:
    with pytest.raises(ConfigError, match="5 distinct tasks"):
        grpo.train(make_config(tmp_path, tiny_folder, batch=10), tasks, verifier, None)


def test_numbers_that_do_not_fit_together_are_a_config_error(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier
) -> None:
    with pytest.raises(ConfigError, match="grpo"):
        grpo.train(make_config(tmp_path, tiny_folder, batch=3), tasks, verifier, None)
    with pytest.raises(ConfigError, match="updates = 3"):
        grpo.train(make_config(tmp_path, tiny_folder, updates=3), tasks, verifier, None)


def test_ahead_trains_on_what_was_drawn_a_step_before(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(tmp_path, tiny_folder, ahead=True, save_steps=10)
    values = iter([0.0, 1.0] * 8)
    monkeypatch.setattr(reward, "score", lambda *_: next(values))
    seen: list[dict[str, torch.Tensor]] = []
    ratios: list[float] = []
    compute = grpo.CurriculumTrainer._compute_loss

    def watched(self: grpo.CurriculumTrainer, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        seen.append(inputs)
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
        width = inputs["completion_ids"].shape[1]
        with torch.no_grad():
            now = self._get_per_token_logps_and_entropies(model, ids, mask, width)[0]
        ratios.append(float(((now - inputs["old_per_token_logps"]) * inputs["completion_mask"]).abs().max()))
        return compute(self, model, inputs)

    monkeypatch.setattr(grpo.CurriculumTrainer, "_compute_loss", watched)
    grpo.train(config, tasks, verifier, None)
    drawn: dict[int, list[str]] = {}
    for record in read(tmp_path / "grpo" / "records.jsonl"):
        drawn.setdefault(record.step, []).append(record.completion)
    assert sorted(drawn) == [0, 1, 2, 3]
    # The first batch is on the policy that is trained; the second time, and all others, a step behind.
    assert ratios[0] < 1e-5 < min(ratios[1:])
    tokens = [sorted(row.tolist() for row in one["completion_ids"]) for one in seen]
    assert tokens[0] == tokens[1] != tokens[2] != tokens[3]
    assert len((tmp_path / "grpo" / "steps.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize("iterations", [1, 2])
def test_a_steps_completions_are_learnt_in_several_updates_and_gone_over_again(
    tmp_path: Path,
    tiny_folder: Path,
    tasks: list[Task],
    verifier: Verifier,
    monkeypatch: pytest.MonkeyPatch,
    iterations: int,
) -> None:
    seen: list[list[str]] = []
    compute = grpo.CurriculumTrainer._compute_loss

    def watched(self: grpo.CurriculumTrainer, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        seen.append([str(row.tolist()) for row in inputs["completion_ids"]])
        return compute(self, model, inputs)

    monkeypatch.setattr(grpo.CurriculumTrainer, "_compute_loss", watched)
    config = make_config(tmp_path, tiny_folder, steps=2, batch=4, updates=2, iterations=iterations)
    folder = grpo.train(config, tasks, verifier, None)
    drawn = read(tmp_path / "grpo" / "records.jsonl")
    assert [record.step for record in drawn] == [0] * 4 + [1] * 4
    first, second = seen[: 2 * iterations], seen[2 * iterations :]
    assert [len(rows) for rows in seen] == [2] * 4 * iterations
    assert first == first[:2] * iterations and second == second[:2] * iterations and first[:2] != second[:2]
    assert json.loads((folder / "trainer_state.json").read_text())["global_step"] == 4 * iterations
    closed = [json.loads(line) for line in (tmp_path / "grpo" / "steps.jsonl").read_text().splitlines()]
    assert [row["step"] for row in closed] == [1, 2] and all(row["entropy"] > 0 for row in closed)


def test_what_could_not_be_judged_trains_nothing(tmp_path: Path, tiny_folder: Path, tasks: list[Task]) -> None:
    class Broken:
        def verify_many(self, jobs: Iterable, on_verdict: Callable) -> list:
            for index, (task, _) in enumerate(jobs):
                if index == 1:
                    raise RuntimeError("broken")
                on_verdict(index, Verdict(task=task.id, device="cpu", target="", policy="strict", correct=True))
            return []

    function = KernelReward(tasks, Broken(), tmp_path / "records.jsonl", Curriculum(), reward.score)
    scores, logged = call(function, [tasks[0]] * 2, ["one", "```python\ntwo\n```"])
    assert scores[0] is not None and scores[1] is None and logged["correct"] == 1.0
    assert len(read(tmp_path / "records.jsonl")) == 1 and not function.last[1].correct


def test_a_budget_ends_the_training_early(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier
) -> None:
    folder = grpo.train(make_config(tmp_path, tiny_folder), tasks, verifier, None, minutes=1e-6)
    assert json.loads((folder / "trainer_state.json").read_text())["global_step"] == 1


def test_loading_is_of_the_budget(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in best-of-N: what is asked of sixty thousand tasks takes a minute."""
    began, load = [], trainer.load

    def noted(*args: object, **options: object) -> object:
        began.append(time.time())
        return load(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(trainer, "load", noted)
    grpo.train(make_config(tmp_path, tiny_folder), tasks, verifier, None, minutes=1e-6)
    path = tmp_path / "grpo" / "steps.jsonl"
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["seconds"] >= path.stat().st_mtime - began[0] - 0.1


def test_a_rate_falls_by_the_minutes_where_they_are_over_first() -> None:
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / 10)
    due = iter([0.0, 5.5, 3.0])
    hasten(scheduler, lambda: next(due))
    rates = []
    for _ in range(3):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    assert rates == pytest.approx([0.9, 0.5, 0.7])


@pytest.mark.parametrize(("schedule", "after"), [("linear", 5 / 6), ("constant", 1.0)])
def test_a_rate_comes_up_step_by_step_however_fast_the_minutes_go(
    schedule: Literal["linear", "constant"], after: float
) -> None:
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    own = GrpoSection(schedule=schedule, warmup=4)
    scheduler = get_scheduler(grpo._schedule(own), optimizer, num_warmup_steps=own.warmup, num_training_steps=10)
    assert isinstance(scheduler, torch.optim.lr_scheduler.LambdaLR)
    hasten(scheduler, lambda: 5.0, own.warmup)
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(4):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    assert rates == pytest.approx([0.0, 0.25, 0.5, 0.75, after])


class FirstLetter:
    """Finds right what begins with a capital letter or a sign before it: a third of what untrained models write."""

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None]
    ) -> list[Verdict]:
        found = []
        for index, (task, candidate) in enumerate(jobs):
            right = (candidate.source or "~")[0] < "a"
            found.append(Verdict(task=task.id, device="cpu", target="", policy="strict", correct=right))
            on_verdict(index, found[-1])
        return found


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo"])
def test_what_is_rewarded_becomes_more_likely(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, ahead: bool, loss: str
) -> None:
    monkeypatch.setattr(rewarding, "extract", lambda text: Extraction(text, "", None, None))
    tasks = [Task(id=name, level=1, source=f"{name} = 1") for name in "ab"]  # a short prompt, so that steps are short
    fields = {"num_generations": 8, "batch": 16, "max_completion": 2, "steps": 25, "save_steps": 100, "lr": 2e-2}
    config = make_config(tmp_path, tiny_folder, curriculum=False, ahead=ahead, loss=loss, **fields)
    grpo.train(config, tasks, FirstLetter(), None)
    # By step: a batch that is drawn ahead may have its first verdicts before the last ones of the batch before.
    records = sorted(read(tmp_path / "grpo" / "records.jsonl"), key=lambda record: record.step)
    shares = [
        fmean(record.verdict.correct for record in some) for _, some in groupby(records, lambda record: record.step)
    ]
    assert fmean(shares[-3:]) > fmean(shares[:3]) + 0.25, shares


def test_advantages_are_divided_as_the_loss_has_it_unless_said_otherwise() -> None:
    scales = [grpo._scale(GrpoSection(loss=loss)) for loss in ("dapo", "dr_grpo")]
    assert scales == ["group", "none"] and grpo._scale(GrpoSection(loss="dapo", scale="none")) == "none"
