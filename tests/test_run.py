"""A whole run: the dry run does every step, a killed run resumes, a changed one is refused, nothing leaks."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tritonsmith import config as configuration
from tritonsmith.config import Config, ConfigError
from tritonsmith.evaluate import read
from tritonsmith.train import ranks, run
from tritonsmith.train.dry import few
from tritonsmith.verify import measure

CONFIGS = sorted((Path(__file__).parent.parent / "configs").glob("*.toml"))


def make_config(folder: Path, tiny: Path, *overrides: str) -> Config:
    """A run of seconds on the tiny model."""
    given = [
        f"run.dir={folder}",
        f"model.id={tiny}",
        "model.prompt_style=bare",
        "lora.enabled=false",
        "tasks.train=graphs:4:seed=1:depth=1-2:families=pointwise",
        "tasks.heldout=graphs:2:seed=2:depth=1-2:split=heldout:families=pointwise",
        "sft.data=graphs:4:seed=3:depth=1-2:families=pointwise",
        "sft.max_length=8192",
        "sft.save_steps=1",
        "best_of_n.n=3",
        "best_of_n.rounds=2",
        "best_of_n.tasks_per_round=2",
        "best_of_n.max_new_tokens=40",
        "best_of_n.replay=4",
        "eval.samples=2",
        "eval.max_new_tokens=40",
        "eval.ks=[1,2]",
        "verify.device=cpu",
        "verify.timing=false",
    ]
    return configuration.load(None, [*given, *overrides])


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_config_is_valid(path: Path) -> None:
    loaded = configuration.load(path)
    assert loaded.run.dir == Path("runs") / path.stem


def test_dry_run_does_every_step_and_leaves_the_real_run_to_begin(tmp_path: Path) -> None:
    steps = 'run.steps=["sft","best_of_n","grpo","eval","report"]'
    config = configuration.load(CONFIGS[0].parent / "demo.toml", [f"run.dir={tmp_path}", steps, "verify.timing=false"])
    started = time.monotonic()
    folder = run.run(config, dry_run=True)
    assert time.monotonic() - started < 300  # two minutes at most, where nothing else runs
    for name in ("sft/model", "rl/model", "grpo/model", "eval/rl.jsonl", "report.html", "resolved.toml"):
        assert (folder / name).exists(), name
    assert configuration.load(tmp_path / "resolved.toml") == config
    changed = config.model_copy(deep=True)
    changed.best_of_n.n = 4
    run._same_as_before(changed)


def test_a_dry_run_draws_few_graphs() -> None:
    spec = "graphs:4000:seed=1:depth=1-12, graphs:2:seed=900,suite:level1,here/graphs:900"
    assert few(spec) == "graphs:4:seed=1:depth=1-12, graphs:2:seed=900,suite:level1,here/graphs:900"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_a_dry_run_fits_any_number_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    config = configuration.load(CONFIGS[0].parent / "demo.toml", [f"run.dir={tmp_path}", "sft.batch=1"])
    config.run.steps = ["sft", "best_of_n", "grpo", "midend_sft", "midend_best_of_n", "midend_grpo"]
    config.grpo.updates = 4
    monkeypatch.setattr(ranks, "count", lambda: count)
    small = run.dry(config)
    run._check_shares(small)
    own = small.grpo
    assert own.batch == own.num_generations and own.batch % count == 0


def test_rows_that_cannot_be_shared_are_refused_before_any_work_but_for_what_is_done(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(tmp_path, tiny_folder, "sft.batch=3", "best_of_n.batch=4", 'run.steps=["sft","best_of_n"]')
    monkeypatch.setattr(ranks, "count", lambda: 4)
    with pytest.raises(ConfigError, match="sft: a step has batch x accumulation = 3 x 1 rows"):
        run._check_shares(config)
    (tmp_path / "sft" / "model").mkdir(parents=True)
    run._check_shares(config)


def test_a_run_begun_with_other_settings_is_refused_by_name(tmp_path: Path, tiny_folder: Path) -> None:
    config = make_config(tmp_path, tiny_folder)
    config.save(tmp_path / "resolved.toml")
    (tmp_path / "sft").mkdir()
    other_steps = config.model_copy(deep=True)
    other_steps.run.steps = ["eval"]
    run._same_as_before(other_steps)
    with pytest.raises(ConfigError, match=r"best_of_n.n = 3, not 5"):
        run.run(make_config(tmp_path, tiny_folder, "best_of_n.n=5"))


def test_heldout_tasks_among_the_training_tasks_are_refused(tmp_path: Path, tiny_folder: Path) -> None:
    same = "tasks.heldout=graphs:2:seed=1:depth=1-2:families=pointwise"
    with pytest.raises(ConfigError, match=r"tasks.train"):
        run.run(make_config(tmp_path, tiny_folder, same))
    leaked = "sft.data=graphs:2:seed=2:depth=1-2:split=heldout:families=pointwise"
    with pytest.raises(ConfigError, match=r"sft.data"):
        run.run(make_config(tmp_path / "sft", tiny_folder, leaked))


def test_as_many_workers_as_before_are_not_asked_for(tmp_path: Path, tiny_folder: Path) -> None:
    make_config(tmp_path, tiny_folder, "verify.workers=1").save(tmp_path / "resolved.toml")
    (tmp_path / "sft").mkdir()
    run._same_as_before(make_config(tmp_path, tiny_folder, "verify.workers=2"))


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, tiny_folder: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"run.dir"):
        run.run(make_config(tmp_path / "file" / "run", tiny_folder))


def test_two_processes_cannot_work_in_one_run(tmp_path: Path) -> None:
    with run.locked(tmp_path), pytest.raises(ConfigError, match="another process"), run.locked(tmp_path):
        pass


def test_without_training_the_base_model_is_evaluated(tmp_path: Path, tiny_folder: Path) -> None:
    run.run(make_config(tmp_path, tiny_folder, 'run.steps=["eval"]'))
    assert len(read(tmp_path / "eval" / "base.jsonl")) == 4


@pytest.mark.slow
def test_killed_at_any_point_a_run_resumes_without_a_lost_or_doubled_verdict(tmp_path: Path, tiny_folder: Path) -> None:
    config = make_config(tmp_path / "run", tiny_folder)
    config.save(tmp_path / "config.toml")
    code = (
        "from pathlib import Path; from tritonsmith import config; from tritonsmith.train import run\n"
        f"if __name__ == '__main__': run.run(config.load(Path({str(tmp_path / 'config.toml')!r})))"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    judged: dict[Path, bytes] = {}
    for mark in ("sft/checkpoints/checkpoint-1", "rl/round-00/records.jsonl", "rl/round-01/model", "eval/sft.jsonl"):
        process = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "OMP_NUM_THREADS": "1"})
        while process.poll() is None and not (tmp_path / "run" / mark).exists():
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for path, before in judged.items():
            assert path.read_bytes().startswith(before)
        judged = {path: path.read_bytes() for path in (tmp_path / "run").rglob("records.jsonl")}
    subprocess.run([sys.executable, str(script)], check=True)
    for name, count in {"rl/round-00/records": 6, "rl/round-01/records": 6, "eval/sft": 4, "eval/rl": 4}.items():
        records = read(tmp_path / "run" / f"{name}.jsonl")
        assert len(records) == count
        assert set(Counter((record.task, record.sample) for record in records).values()) == {1}


def test_a_server_is_not_asked_to_go_on_with_an_answer(tmp_path: Path) -> None:
    given = ["endpoint.url=http://localhost:1/v1", "eval.turns=2", "eval.retry=redraw", f"run.dir={tmp_path / 'run'}"]
    with pytest.raises(ConfigError, match="needs a model of this process"):
        run.evaluate_model(configuration.load(None, given))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"run.steps": ["sft", "eval"]}, False),
        ({"run.steps": ["grpo"]}, False),
        ({"run.steps": ["midend_grpo"], "grpo.ahead": True}, True),
        ({"run.steps": ["best_of_n"], "best_of_n.ahead": True}, True),
        ({"run.steps": ["best_of_n"], "sft.engine": "compiled"}, True),
        ({"run.steps": ["eval"], "grpo.ahead": True}, False),
    ],
)
def test_who_trains_beside_the_judges_has_them_in_another_process(changes: dict[str, object], wanted: bool) -> None:
    given = [f"{name}={json.dumps(value)}" for name, value in changes.items()]
    assert run._overlaps(configuration.load(None, given)) is wanted


def test_what_trains_is_named_in_the_order_in_which_it_starts_from_each_other() -> None:
    with pytest.raises(ConfigError, match="what trains goes in the order sft, best_of_n, grpo"):
        configuration.load(None, ['run.steps=["grpo", "best_of_n"]'])


def test_a_curriculum_over_one_level_is_said_to_choose_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = {
        "run.dir": str(tmp_path),
        "run.steps": "[]",
        "tasks.train": "suite:level2",
        "extensions.curriculum": "true",
    }
    with caplog.at_level(logging.WARNING):
        run.run(configuration.load(None, [f"{name}={value}" for name, value in given.items()]))
    assert "nothing to choose" in caplog.text


def test_shipped_configs_time_as_their_documents_do() -> None:
    presets = {
        name: measure.preset(found.verify, found.extensions)
        for name in ("tritonrl-a", "two-stage")
        if (found := configuration.load(CONFIGS[0].parent / f"{name}.toml"))
    }
    assert (presets["tritonrl-a"].warmups, presets["tritonrl-a"].trials) == (10, 50)
    assert (presets["two-stage"].warmups, presets["two-stage"].trials) == (10, 100)
