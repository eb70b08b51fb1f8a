"""Several processes do what one does: the same draws, verdicts, records and weights; one resumes what two left."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from multiprocessing import AuthenticationError
from pathlib import Path

import psutil
import pytest
import several
import torch
from safetensors.torch import load_file

from tritonsmith import config as configuration
from tritonsmith import jsonl, reward
from tritonsmith.config import Config, ConfigError
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import read
from tritonsmith.train import ranks, run, trainer
from tritonsmith.train.desk import Desk, Far, Report
from tritonsmith.train.order import LengthOrder
from tritonsmith.train.rewarding import KernelReward
from tritonsmith.train.rollout import Rollout, joined
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import scratch

ROOT = Path(__file__).parent.parent
TASK = Task(id="t", level=1, source="pass")


def verdict(task: Task, candidate: Candidate) -> Verdict:
    correct = candidate.sample % 2 == 1
    return Verdict(task=task.id, sample=candidate.sample, device="cpu", target="", policy="strict", correct=correct)


class Quick:
    """Judges at once, and counts."""

    def __init__(self) -> None:
        self.judged: list[int] = []

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        verdicts = []
        for index, job in enumerate(jobs):
            verdicts.append(verdict(*job))
            self.judged.append(job[1].sample)
            if on_verdict is not None:
                on_verdict(index, verdicts[-1])
        return verdicts


def jobs(*samples: int) -> list[tuple[Task, Candidate]]:
    return [(TASK, Candidate(task="t", sample=sample, source=f"x = {sample}")) for sample in samples]


# -- the desk


def test_a_desk_judges_for_several_at_once_in_each_ones_order() -> None:
    told: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    found: dict[int, list[Verdict]] = {}
    with Desk(Quick()) as desk:

        def ask(number: int) -> None:
            own = jobs(*range(100 * number, 100 * number + 20))
            found[number] = Far(desk.address).verify_many(own, lambda i, one: told[number].append((i, one.sample)))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number in range(2):
        samples = list(range(100 * number, 100 * number + 20))
        assert [one.sample for one in found[number]] == samples
        assert told[number] == list(enumerate(samples))
        assert all(one == verdict(*job) for one, job in zip(found[number], jobs(*samples), strict=True))


def test_a_desk_may_lie_in_a_folder_whose_name_is_too_long_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / ("long" * 30)
    far.mkdir()
    monkeypatch.setattr(scratch, "new", lambda: far)
    with Desk(Quick()) as desk:
        assert len(Far(desk.address).verify_many(jobs(1, 2))) == 2
    assert not list(far.iterdir())


def test_candidates_are_judged_while_others_are_still_drawn() -> None:
    judged = threading.Event()

    def drawn() -> Iterator[tuple[Task, Candidate]]:
        yield from jobs(1)
        assert judged.wait(10.0)
        yield from jobs(2)

    with Desk(Quick()) as desk:
        assert len(Far(desk.address).verify_many(drawn(), lambda *_: judged.set())) == 2


def test_what_the_verifier_raises_is_told() -> None:
    class Broken:
        def verify_many(self, jobs: Iterable, on_verdict: object = None) -> list[Verdict]:
            raise OSError("no space")

    with Desk(Broken()) as desk, pytest.raises(RuntimeError, match="no space"):
        Far(desk.address).verify_many(jobs(1))


def test_a_stream_that_is_given_up_ends_the_judging_and_raises_its_own_error() -> None:
    class Stopped(Exception):
        pass

    def ends() -> Iterator[tuple[Task, Candidate]]:
        yield from jobs(1)
        raise Stopped

    quick = Quick()
    with Desk(quick) as desk, pytest.raises(Stopped):
        Far(desk.address).verify_many(ends())
    assert quick.judged == [1]


def test_reports_are_kept_when_the_call_returns() -> None:
    kept: list[str] = []
    with Desk(keep=kept.append) as desk:
        report = Report(desk.address)
        for number in range(3):
            report(f"line {number}")
            assert kept[-1] == f"line {number}"
        report.close()


def test_who_does_not_know_the_secret_is_not_served() -> None:
    with Desk(Quick()) as desk:
        with pytest.raises(AuthenticationError):
            Far(replace(desk.address, key=b"guessed")).verify_many(jobs(1))
        assert len(Far(desk.address).verify_many(jobs(1))) == 1


def test_a_desk_whose_listener_went_before_closes() -> None:
    """It may look whether the desk is open just as that closes, behind a connection that was short."""
    with Desk(Quick()) as desk:
        desk._open = False
        assert len(Far(desk.address).verify_many(jobs(1))) == 1
        desk._listening.join(10.0)
        assert not desk._listening.is_alive()


def test_streams_together_have_no_more_candidates_under_way_than_one(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting, most, now = threading.Lock(), 0, 0

    def judged(task: Task, candidate: Candidate, *_: object) -> Verdict:
        nonlocal most, now
        with counting:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with counting:
            now -= 1
        return verdict(task, candidate)

    monkeypatch.setattr(verifier._court, "judge", judged)
    own = [jobs(*range(100 * number, 100 * number + 10)) for number in range(3)]
    threads = [threading.Thread(target=verifier.verify_many, args=(some,)) for some in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == verifier.workers


# -- parts of a step


@pytest.mark.parametrize("count, expected", [(1, (4, 2)), (2, (2, 2)), (4, (1, 2)), (8, (1, 1))])
def test_a_step_has_as_many_rows_for_any_number_of_processes(
    monkeypatch: pytest.MonkeyPatch, count: int, expected: tuple[int, int]
) -> None:
    monkeypatch.setattr(ranks, "count", lambda: count)
    assert tuple(trainer.divided(4, 2, "grpo").values()) == expected


def test_a_step_that_cannot_be_shared_equally_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "count", lambda: 3)
    with pytest.raises(ConfigError, match="3 processes"):
        trainer.divided(4, 2, "grpo")


def test_the_order_of_rows_is_that_of_its_seed_and_epoch_alone() -> None:
    lengths = list(range(1, 41))
    order, other = LengthOrder(lengths, 4, 0), LengthOrder(lengths, 4, 0)
    torch.manual_seed(7)
    assert sorted(order) == list(range(40)) and list(order) == list(other)
    other.set_epoch(1)
    assert list(order) != list(other) and sorted(other) == list(range(40))


def test_the_last_step_of_an_epoch_is_a_whole_one() -> None:
    order = LengthOrder([5, 3, 9, 4, 1], 4, 0)
    rows = list(order)
    assert len(rows) == len(order) == 8 and set(rows[:5]) == set(range(5)) and rows[5:] == rows[:3]


def test_what_was_drawn_ahead_by_two_is_dealt_to_any_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row: dict[str, object] = {"task": "t"}
    states = [
        {"inputs": [row] * 2, "step": 3, "completions": [[1], [2, 2]], "logps": torch.tensor([[1.0, 0.0], [2.0, 2.0]])},
        {"inputs": [row] * 2, "step": 3, "completions": [[3], [4]], "logps": torch.tensor([[3.0], [4.0]])},
    ]
    whole = joined(states)
    assert len(whole["inputs"]) == 4 and whole["logps"].tolist() == [[1, 0], [2, 2], [3, 0], [4, 0]]
    found = []
    for rank in range(4):
        monkeypatch.setattr(ranks, "count", lambda: 4)
        monkeypatch.setattr(ranks, "rank", lambda rank=rank: rank)
        rewards = KernelReward([TASK], Quick(), tmp_path / "records.jsonl", Curriculum(), reward.score)
        rewards.first = rank
        found.append(Rollout.of(whole, rewards, str))
    assert [one.completions for one in found] == [[[1]], [[2, 2]], [[3]], [[4]]]
    assert [one.logps.tolist() for one in found] == [[[1]], [[2, 2]], [[3]], [[4]]]
    assert [one.batch.found()[1][0].sample for one in found] == [0, 1, 2, 3]


# -- whole runs


def make_config(folder: Path, tiny: Path, rows: Path) -> Config:
    given = [
        f"run.dir={folder}",
        "run.seed=1",
        'run.steps=["sft","best_of_n","grpo"]',
        f"model.id={tiny}",
        "model.prompt_style=bare",
        "lora.enabled=false",
        "tasks.train=graphs:6:seed=1:depth=1-2:families=pointwise",
        "tasks.heldout=graphs:2:seed=2:depth=1-2:split=heldout:families=pointwise",
        f"sft.data={rows}",
        "sft.batch=2",
        "sft.accumulation=2",
        "sft.save_steps=1",
        "sft.epochs=2",
        "best_of_n.n=3",
        "best_of_n.rounds=1",
        "best_of_n.tasks_per_round=3",
        "best_of_n.batch=2",
        "best_of_n.max_new_tokens=24",
        "best_of_n.replay=4",
        "grpo.num_generations=4",
        "grpo.batch=4",
        "grpo.accumulation=2",
        "grpo.max_prompt=4096",
        "grpo.max_completion=16",
        "grpo.steps=5",
        "grpo.save_steps=2",
        "grpo.lr=1e-3",
        "grpo.ahead=true",
        "grpo.turns=2",
        "verify.device=cpu",
        "verify.timing=false",
    ]
    return configuration.load(None, given)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    for i in range(7):
        jsonl.append(path, json.dumps({"prompt": "say " + "a" * i, "completion": "b" * (i + 1), "task": f"t{i}"}))
    return path


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path, rows: Path) -> Path:
    """What one process makes of it."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reward, "score", several.by_number)
        return run.run(make_config(folder, tiny_folder, rows))


def launch(kind: str, config: Config, rewards: str = "by_number") -> subprocess.Popen[bytes]:
    """Start two processes on a run."""
    path = config.run.dir.with_suffix(".toml")
    config.save(path)
    accelerate = [sys.executable, "-m", "accelerate.commands.launch", "--num_processes", "2"]
    own = [
        "--config_file",
        str(ROOT / "configs" / "accelerate" / f"{kind}.yaml"),
        several.__file__,
        rewards,
        "run",
        str(path),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([*accelerate, *own], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def kill_rank(launcher: subprocess.Popen[bytes], rank: int) -> None:
    for process in psutil.Process(launcher.pid).children():
        if process.environ().get("RANK") == str(rank):
            process.send_signal(signal.SIGKILL)


def check_alike(alone: Path, both: Path) -> None:
    """Nothing that is drawn or judged differs, nothing is missing or there twice, and weights differ by rounding."""
    names = [path.relative_to(alone) for path in alone.rglob("*.jsonl") if path.name != "steps.jsonl"]
    assert len(names) == 3
    for name in names:
        if "completions" in name.name:
            kept = [sorted(map(str, jsonl.read(folder / name))) for folder in (alone, both)]
        else:
            found = [{(r.step, r.task, r.sample, r.turn): r for r in read(folder / name)} for folder in (alone, both)]
            assert len(read(alone / name)) == len(read(both / name)) == len(found[0]), name
            kept = [
                {key: (r.completion, r.source, r.verdict.correct, r.verdict.stage) for key, r in one.items()}
                for one in found
            ]
        assert kept[0] == kept[1], name
    states = [json.loads((one / "grpo" / "model" / "trainer_state.json").read_text()) for one in (alone, both)]
    assert states[0]["global_step"] == states[1]["global_step"] == 5
    for step in ("sft", "rl", "grpo"):
        ours, theirs = (load_file(folder / step / "model" / "model.safetensors") for folder in (alone, both))
        for name, weight in ours.items():
            torch.testing.assert_close(theirs[name], weight, rtol=0, atol=1e-4, msg=lambda text, n=name: f"{n}: {text}")


@pytest.mark.slow
def test_two_processes_do_what_one_does_and_one_goes_on_where_two_were_killed(
    tmp_path: Path, tiny_folder: Path, rows: Path, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(tmp_path / "run", tiny_folder, rows)
    launcher = launch("ddp", config)
    while launcher.poll() is None and not list((tmp_path / "run").glob("grpo/checkpoints/checkpoint-2/whole.json")):
        time.sleep(0.005)
    assert launcher.poll() is None, launcher.communicate()[1].decode()[-3000:]
    kill_rank(launcher, 1)
    launcher.communicate(timeout=60)
    assert launcher.returncode != 0
    assert not (tmp_path / "run" / "grpo" / "model").exists()
    monkeypatch.setattr(reward, "score", several.by_number)
    check_alike(alone, run.run(config))


@pytest.mark.slow
def test_gloos_threads_end_before_python_does(tmp_path: Path) -> None:
    script = tmp_path / "ends.py"
    script.write_text(
        "import atexit\n"
        "import os\n"
        "from pathlib import Path\n"
        "from tritonsmith.train import ranks\n\n\n"
        "def alive():\n"
        "    names = [path.read_text() for path in Path('/proc/self/task').glob('*/comm')]\n"
        "    return sum('gloo_runloop' in name for name in names)\n\n\n"
        "atexit.register(lambda: os.write(1, b'at exit %d\\n' % alive()))\n"
        "ranks.join()\n"
        "os.write(1, b'at work %d\\n' % (alive() > 0))\n"
        "if ranks.is_first():\n"
        "    with ranks.leading():\n"
        "        pass\n"
        "else:\n"
        "    ranks.follow()\n"
    )
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", str(script)]
    done = subprocess.run(launcher, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.splitlines()) == ["at exit 0", "at exit 0", "at work 1", "at work 1"]


@pytest.mark.slow
def test_weights_that_are_spread_over_two_processes_learn_what_whole_ones_do(
    tmp_path: Path, tiny_folder: Path, rows: Path, alone: Path
) -> None:
    launcher = launch("fsdp2", make_config(tmp_path / "run", tiny_folder, rows))
    _, said = launcher.communicate(timeout=300)
    assert launcher.returncode == 0, said.decode()[-3000:]
    check_alike(alone, tmp_path / "run")


@pytest.mark.slow
def test_processes_whose_rows_say_unequally_much_learn_what_one_does(
    tmp_path: Path, tiny_folder: Path, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows without an advantage are passed over, as many on each process: TRL gathers a number a row (seen on two GPUs,
    where a process with fewer rows kept the other one waiting)."""
    monkeypatch.setattr(reward, "score", several.by_task)
    found = []
    for name, start in (("alone", None), ("both", "ddp")):
        config = make_config(tmp_path / name, tiny_folder, rows)
        config.run.steps = ["grpo"]
        config.grpo = config.grpo.model_copy(update={"beta": 0.0, "turns": 1, "accumulation": 1, "batch": 8})
        if start is None:
            run.run(config)
        else:
            launcher = launch(start, config, "by_task")
            _, said = launcher.communicate(timeout=200)
            assert launcher.returncode == 0, said.decode()[-3000:]
        found.append(load_file(tmp_path / name / "grpo" / "model" / "model.safetensors"))
    before = load_file(tiny_folder / "model.safetensors")
    assert any(not torch.equal(weight, before[name]) for name, weight in found[0].items())
    for name, weight in found[0].items():
        torch.testing.assert_close(found[1][name], weight, rtol=0, atol=1e-4, msg=lambda text, n=name: f"{n}: {text}")
