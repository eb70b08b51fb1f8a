"""kill -9 while completions are drawn, judged, trained on and checkpoints written: a resumed run goes the same way."""

import json
import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import killing
import psutil
import pytest
import torch
from killing import Phase
from safetensors.torch import load_file

from tritonsmith import jsonl
from tritonsmith.config import BestOfNConfig, Config, GrpoSection, ModelConfig, RunConfig, SftConfig, VerifyConfig
from tritonsmith.evaluate import read
from tritonsmith.train.desk import Address, Desk
from tritonsmith.types import Record
from tritonsmith.verify.pool import Verifier

CONTEXT = multiprocessing.get_context("forkserver")
"""Processes that come of one which has imported torch already, and done nothing with it."""
CONTEXT.set_forkserver_preload(["tritonsmith.train.grpo", "tritonsmith.train.best_of_n", "tritonsmith.verify.pool"])


@pytest.fixture(scope="module")
def desk() -> Iterator[Address]:
    """Where runs have candidates judged that need no judges of their own."""
    with Verifier(VerifyConfig(device="cpu", timing=False)) as judge, Desk(judge) as own:
        yield own.address


def run(method: str, config: Config, desk: Address, phase: Phase | None = None) -> None:
    """Run in a process; with a phase it is killed there, and so are all that it started."""
    path = config.run.dir.with_suffix(".toml")
    config.save(path)
    process = CONTEXT.Process(target=killing.main, args=(method, path, phase, desk))
    process.start()
    own, others = psutil.Process(process.pid), set()
    while process.is_alive():
        try:
            others |= set(own.children(recursive=True))
        except psutil.NoSuchProcess:
            break
        process.join(0.05)
    process.join()
    assert process.exitcode == (0 if phase is None else -signal.SIGKILL)
    gone = time.monotonic() + 20
    while any(other.is_running() and other.status() != psutil.STATUS_ZOMBIE for other in others):
        assert time.monotonic() < gone, "a killed run leaves processes behind"
        time.sleep(0.05)


def killed_in_every_phase(method: str, config: Config, desk: Address) -> None:
    """Kill a run four times, then let it end; what was recorded is never touched again."""
    kept: dict[Path, list[Record]] = {}
    for phase in (*killing.PHASES, None):
        run(method, config, desk, phase)
        for path, before in kept.items():
            assert read(path)[: len(before)] == before, (phase, path)
        kept = {path: read(path) for path in config.run.dir.rglob("records*.jsonl") if "completions" not in path.name}


def course(folder: Path) -> dict[Path, dict[object, tuple[object, ...]]]:
    """What was drawn and judged, by file and candidate, none of them twice."""
    found = {}
    for path in folder.rglob("records*.jsonl"):
        if "completions" not in path.name:
            records = read(path)
            keys = Counter((one.step, one.task, one.sample, one.turn) for one in records)
            assert set(keys.values()) == {1}, (path, keys.most_common(2))
            told = [(one.completion, one.source, one.verdict.correct, one.verdict.stage) for one in records]
            found[path.relative_to(folder)] = dict(
                zip([(one.step, one.task, one.sample, one.turn) for one in records], told, strict=True)
            )
    return found


def check_weights(whole: Path, parts: Path) -> None:
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (whole, parts))
    for name, weight in ours.items():
        torch.testing.assert_close(theirs[name], weight, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_grpo_goes_on_as_if_nothing_had_been(tmp_path: Path, tiny_folder: Path, desk: Address) -> None:
    def config(name: str) -> Config:
        made = Config(
            run=RunConfig(dir=tmp_path / name),
            model=ModelConfig(id=str(tiny_folder), prompt_style="bare"),
            grpo=GrpoSection(
                num_generations=2, batch=4, turns=2, max_prompt=4096, max_completion=8, steps=6, save_steps=2, lr=1e-3,
                ahead=True,
            ),
        )  # fmt: skip
        made.lora.enabled = False
        return made

    run("grpo", config("whole"), desk)
    killed_in_every_phase("grpo", config("parts"), desk)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    drawn = course(whole)
    assert drawn == course(parts)
    (records,) = drawn.values()
    assert {step for step, *_ in records} == set(range(6)) and {key[3] for key in records} == {1, 2}
    steps = [{row["step"]: row for row in jsonl.read(folder / killing.COURSE)} for folder in (whole, parts)]
    assert [row["step"] for row in jsonl.read(whole / killing.COURSE)] == list(range(1, 7)) == sorted(steps[1])
    for row in jsonl.read(parts / killing.COURSE):  # steps that were done twice included
        assert row["curriculum"] == steps[0][row["step"]]["curriculum"]
        assert row["weights"] == pytest.approx(steps[0][row["step"]]["weights"], rel=1e-7)
    assert len({row["weights"] for row in steps[0].values()}) == 6
    state = json.loads((parts / "grpo" / "model" / "trainer_state.json").read_text())
    assert state["global_step"] == 6
    check_weights(whole / "grpo" / "model", parts / "grpo" / "model")


@pytest.mark.slow
def test_best_of_n_goes_on_as_if_nothing_had_been(tmp_path: Path, tiny_folder: Path, desk: Address) -> None:
    def config(name: str) -> Config:
        made = Config(
            run=RunConfig(dir=tmp_path / name),
            model=ModelConfig(id=str(tiny_folder), prompt_style="bare"),
            best_of_n=BestOfNConfig(
                n=4, keep=2, turns=2, rounds=2, tasks_per_round=2, epochs=2.0, batch=2, max_new_tokens=8, sample_batch=2
            ),
            sft=SftConfig(max_length=4096, save_steps=1),
        )
        made.lora.enabled = False
        return made

    run("best_of_n", config("whole"), desk)
    killed_in_every_phase("best_of_n", config("parts"), desk)
    whole, parts = tmp_path / "whole" / "rl", tmp_path / "parts" / "rl"
    assert course(whole) == course(parts)
    for number in range(2):
        states = [json.loads((one / f"round-{number:02d}" / "curriculum.json").read_text()) for one in (whole, parts)]
        assert states[0] == states[1]
        rounds = [json.loads((one / f"round-{number:02d}" / "round.json").read_text()) for one in (whole, parts)]
        assert {k: v for k, v in rounds[0].items() if "time" not in k} == {
            k: v for k, v in rounds[1].items() if "time" not in k
        }
    check_weights(whole / "model", parts / "model")


@pytest.mark.slow
def test_nano_is_told_what_the_verifier_said_and_a_killed_run_goes_on(tmp_path: Path, desk: Address) -> None:
    """One task fits what it may write, the other does not, so that its answers are cut short and fail."""
    config = Config(
        run=RunConfig(dir=tmp_path / "run"),
        grpo=GrpoSection(
            num_generations=2, batch=4, turns=2, max_prompt=1200, max_completion=killing.between(), steps=2,
            save_steps=1, lr=1e-5,
        ),
    )  # fmt: skip
    config.lora.enabled = False
    run("nano", config, desk, "training")
    path = tmp_path / "run" / "grpo" / "records.jsonl"
    before = read(path)
    assert {one.step for one in before} == {0, 1}
    run("nano", config, desk)
    records = read(path)
    assert records == before  # what was drawn again is the same, so that no verdict is written a second time
    wrong = [sum(not one.verdict.correct for one in records if (one.step, one.turn) == (step, 1)) for step in (0, 1)]
    first, second = (sum(one.turn == turn for one in records) for turn in (1, 2))
    assert first == 8 and second == sum(wrong) and 0 < sum(wrong) < 8
    state = json.loads((tmp_path / "run" / "grpo" / "model" / "trainer_state.json").read_text())
    logged = [row for row in state["log_history"] if "turn2/taken" in row]
    assert state["global_step"] == 2 and [row["turn2/taken"] for row in logged] == [count / 4 for count in wrong]
