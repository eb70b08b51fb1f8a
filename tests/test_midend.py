"""The mid-end's stage: which kernels it is given, how it is asked, and a whole run from frontend to mid-end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import tiny_model, tiny_tokenizer
from records import right

from tritonsmith import config as configuration
from tritonsmith import jsonl
from tritonsmith.config import Config, ConfigError, VerifyConfig
from tritonsmith.evaluate import read
from tritonsmith.gains import Given, gains
from tritonsmith.prompts import midend_messages
from tritonsmith.tasks import graphs
from tritonsmith.train import midend, run
from tritonsmith.train.optimizing import as_trained
from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(VerifyConfig(device="cpu")) as own:
        yield own


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return graphs.generate(3, seed=0, depth=(1, 1), families=["pointwise"])


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with positions for a module and its kernel, a token a byte."""
    folder = tmp_path_factory.mktemp("roomy")
    tiny_model(positions=8192).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def make_config(folder: Path, *overrides: str) -> Config:
    return configuration.load(None, [f"run.dir={folder}", "model.prompt_style=bare", "verify.device=cpu", *overrides])


def store(path: Path, *records: object) -> None:
    for record in records:
        jsonl.append(path, record.model_dump_json())  # type: ignore[attr-defined]


def test_what_the_frontend_stored_is_given_the_fastest_first_and_the_lowerings_where_it_has_none(
    tmp_path: Path, tasks: list[Task], verifier: Verifier
) -> None:
    one, two = tasks[0].id, tasks[1].id
    store(tmp_path / "rl" / "round-00" / "records.jsonl", right(one, 0, "a = 1", speed=1.1), right("other", 0, "o = 1"))
    store(tmp_path / "rl" / "round-00" / "records.turn2.jsonl", right(one, 1, "b = 1", 2, speed=1.7))
    store(tmp_path / "grpo" / "records.jsonl", right(one, 0, "c = 1", speed=1.4), right(two, 0, "a  =  1", speed=1.2))
    (tmp_path / "rl" / "round-00" / "records.completions.jsonl").write_text('{"task": "t", "completion": "text"}\n')
    config = make_config(tmp_path)
    givens = midend.training(config, tasks, verifier)
    assert [(given.task.id, given.kernel) for given in givens[:3]] == [
        (f"{one}@0", "b = 1"),
        (f"{one}@1", "c = 1"),
        (f"{two}@0", "a  =  1"),
    ]
    assert len(givens) == 4 and givens[3].task.source == tasks[2].source and "@triton.jit" in givens[3].kernel
    assert givens[3].verdict.correct and givens[3].verdict.kernels[0].occupancy


def test_the_tasks_stay_as_they_are_when_the_frontend_stores_more(
    tmp_path: Path, tasks: list[Task], verifier: Verifier
) -> None:
    config = make_config(tmp_path, "midend.kernels=lowering")
    before = midend.training(config, tasks[:1], verifier)
    store(tmp_path / "grpo" / "records.jsonl", right(tasks[0].id, 0, "a = 1"))
    assert midend.training(config, tasks[:1], verifier) == before


def test_kernels_of_another_place_are_judged_once_more(tmp_path: Path, tasks: list[Task], verifier: Verifier) -> None:
    given = midend.training(make_config(tmp_path / "one", "midend.kernels=lowering"), tasks[:1], verifier)[0]
    elsewhere = tmp_path / "elsewhere.jsonl"
    store(elsewhere, right(tasks[0].id, 0, given.kernel, speed=99.0), right(tasks[0].id, 1, "wrong = 1", speed=98.0))
    config = make_config(tmp_path / "two", f"midend.kernels={elsewhere}")
    (again,) = midend.training(config, tasks[:1], verifier)
    assert again.kernel.strip() == given.kernel.strip() and again.verdict.speedup == given.verdict.speedup
    assert not (tmp_path / "two" / "midend" / "kernels.partial").exists()
    with pytest.raises(ConfigError, match=r"midend\.kernels"):
        midend.training(make_config(tmp_path / "three", "midend.kernels=nowhere"), tasks, verifier)


def test_its_settings_are_its_own(tmp_path: Path) -> None:
    config = make_config(tmp_path, "reward.scheme=frontend", "grpo.steps=9", "midend.sft.lr=0.5", "midend.data=suite")
    own = midend.settings(config)
    assert (own.reward.scheme, own.run.dir, own.grpo.steps) == ("midend", tmp_path / "midend", 9)
    assert (own.sft.lr, own.sft.data, config.sft.data) == (0.5, "suite", Config().sft.data)
    assert config.midend.sft is not None and config.midend.sft.data == Config().sft.data
    with pytest.raises(ConfigError, match="speed"):
        midend.settings(make_config(tmp_path, "verify.timing=false"))
    with pytest.raises(ConfigError, match="is not read"):  # which was so, and not said
        midend.settings(make_config(tmp_path, "midend.sft.data=rows.jsonl", "midend.data=suite"))


def test_gains_count_what_is_clearly_faster_alone(tasks: list[Task]) -> None:
    verdict = right("t@0", 0, "g = 1", speed=1.5).verdict
    givens = [Given(task=tasks[0].model_copy(update={"id": f"t@{i}"}), kernel="", verdict=verdict) for i in (0, 1)]
    answers = [right("t@0", 0, "a = 1", speed=6.0), right("t@1", 0, "b = 1", speed=1.505), right("t@1", 1, "c = 1")]
    found = gains(givens, answers)
    assert found["given"].value == pytest.approx(1.5)
    assert found["best"].value == pytest.approx(3.0) and found["gain"].value == pytest.approx(2.0)


@pytest.mark.slow
def test_one_run_goes_from_frontend_to_midend_and_resumes(tmp_path: Path, roomy: Path) -> None:
    steps, rows = '["midend_sft","midend_best_of_n","midend_grpo","eval"]', tmp_path / "rows.jsonl"
    config = make_config(
        tmp_path, f"run.steps={steps}", f"model.id={roomy}", f"midend.data={rows}",
        "tasks.train=graphs:2:seed=1:depth=1:families=pointwise", "sft.max_length=8192", "best_of_n.n=2",
        "tasks.heldout=graphs:1:seed=2:depth=1:split=heldout:families=pointwise", "best_of_n.rounds=1",
        "best_of_n.max_new_tokens=8", "best_of_n.replay=1", "grpo.steps=1", "grpo.max_prompt=8000",
        "grpo.max_completion=8", "grpo.num_generations=2", "grpo.batch=2", "eval.samples=1", "eval.max_new_tokens=8",
        "eval.ks=[1]", "verify.ir_lines=3", "extensions.curriculum=false",
    )  # fmt: skip
    jsonl.append(rows, json.dumps({"prompt": "a module, a kernel", "completion": "a faster one"}))
    run.run(config)
    folder = tmp_path / "midend"
    adapters = [folder / name / "model" / "adapter_config.json" for name in ("sft", "rl", "grpo")]
    assert all(path.exists() for path in adapters)
    records = read(folder / "rl" / "round-00" / "records.jsonl") + read(folder / "grpo" / "records.jsonl")
    assert records and all("@" in one.task and one.verdict.reward == -10.0 for one in records)
    assert set(json.loads((folder / "eval" / "midend.summary.json").read_text())) == {"given", "best", "gain"}
    before = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    run.run(config)
    assert {path: path.read_bytes() for path in folder.rglob("*.jsonl")} == before


def test_the_agent_is_asked_about_the_kernel_it_is_given(tmp_path: Path, tasks: list[Task], verifier: Verifier) -> None:
    config = make_config(tmp_path, "midend.kernels=lowering")
    givens = midend.training(config, tasks[:1], verifier)
    stage = midend.stage(config, givens)
    assert stage.ask(givens[0].task) == midend_messages(tasks[0], givens[0].kernel, givens[0].verdict)
    assert stage.given[givens[0].task.id] == givens[0]


def test_optimize_shows_an_adapter_as_many_lines_as_it_was_trained_with(tmp_path: Path) -> None:
    adapter = tmp_path / "run" / "midend" / "grpo" / "model"
    adapter.mkdir(parents=True)
    assert as_trained(Config(), adapter).verify.ir_lines == 0 and as_trained(Config(), None) == Config()
    make_config(tmp_path / "run", "verify.ir_lines=5").save(tmp_path / "run" / "resolved.toml")
    assert as_trained(Config(), adapter).verify.ir_lines == 5
    assert as_trained(Config(verify=VerifyConfig(ir_lines=2)), adapter).verify.ir_lines == 2


def test_no_kernel_at_all_is_said_and_leaves_nothing(tmp_path: Path, tasks: list[Task], verifier: Verifier) -> None:
    (tmp_path / "empty").mkdir()
    config = make_config(tmp_path, f"midend.kernels={tmp_path / 'empty'}")
    with pytest.raises(ConfigError, match="no task"):
        midend.training(config, tasks, verifier)
    assert not (tmp_path / "midend" / "kernels.jsonl").exists()


def test_held_out_tasks_without_a_kernel_are_said_to_be_none(
    tmp_path: Path, verifier: Verifier, caplog: pytest.LogCaptureFixture
) -> None:
    odd = Task(id="odd", level=1, source="class Model: pass")  # which the lowering has no answer to
    assert midend.heldout(make_config(tmp_path), [odd], [], verifier) == []
    assert "none of the 1 held-out tasks" in caplog.text
