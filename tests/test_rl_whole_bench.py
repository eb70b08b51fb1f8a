"""The whole of reinforcement learning's figures: the plan is what its commands take, and what is done is done once."""

import inspect
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from tritonsmith import config
from tritonsmith.cli import app
from tritonsmith.errors import UserError
from tritonsmith.train.pretrain.__main__ import main as pretrain
from tritonsmith.train.pretrain.loop import Loss, Outcome, write_outcome

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
import rl
from rl_whole import Plan, Steps, Train, enough, lasting, reinforce, shares

BENCHMARKS = Path(rl.__file__).parent
PLAN = BENCHMARKS / "rl_whole.toml"


def test_the_plan_is_what_the_commands_take() -> None:
    """Each option of the plan is one of the command that gets it."""

    def options(command: object) -> set[str]:
        return {parameter.name for parameter in command.params}  # type: ignore[attr-defined]

    plan = Plan.read(PLAN)
    group = typer.main.get_command(app).commands["data"]  # type: ignore[attr-defined]
    for some in (*plan.drafts, plan.plain):
        assert set(some) <= options(group.commands["draft"])
    assert set(plan.pretrain) <= set(inspect.signature(pretrain).parameters)
    run = options(typer.main.get_command(rl.app).commands["run"])  # type: ignore[attr-defined]
    assert plan.runs and all(set(plan.run(name)) <= run for name in plan.runs)
    config.load(None, [f"{key}={value}" for key, value in plan.start.items()])


def test_graphs_of_a_depth_are_asked_for_in_seeds_of_their_own() -> None:
    spec = Train(seed=5, level1=3, depths={"3-5": 4500, "7": 2}).spec()
    assert spec.split(",") == [
        "graphs:3:seed=5:level=1:sizes=small",
        "graphs:2000:seed=5:depth=3-5:sizes=small",
        "graphs:2000:seed=6:depth=3-5:sizes=small",
        "graphs:500:seed=7:depth=3-5:sizes=small",
        "graphs:2:seed=5:depth=7:sizes=small",
    ]


def test_a_runs_own_options_go_before_its_methods() -> None:
    plan = Plan.read(PLAN).model_copy(
        update={"common": {"lr": 1.0, "tokens": 9}, "method": {"grpo": {"lr": 2.0, "micro": 4}}}
    )
    plan.runs["own"] = {"method": "grpo", "micro": 8}
    assert plan.run("own") == {"lr": 2.0, "tokens": 9, "method": "grpo", "micro": 8}


def test_a_run_may_be_like_another_that_is_like_none() -> None:
    runs = {"one": {"method": "grpo", "lr": 2.0}, "two": {"like": "one", "lr": 3.0}, "three": {"like": "two"}}
    plan = Plan.read(PLAN).model_copy(update={"common": {}, "method": {"grpo": {"micro": 8}}, "runs": runs})
    assert plan.run("two") == {"method": "grpo", "lr": 3.0, "micro": 8}
    for name, like in (("three", "two"), ("four", "five"), ("six", "six")):
        runs[name] = {"like": like}
        with pytest.raises(UserError, match=f"runs.{name}: like = {like}"):
            plan.run(name)


def test_runs_are_not_begun_from_a_base_that_finds_nothing(tmp_path: Path) -> None:
    """Four GPUs trained for twenty minutes from one."""
    outcome, loss = tmp_path / "outcome.json", Loss(token=0.06, byte=0.03, document=12.95)
    learnt = Outcome(429, 4.1, 1, 1.0, None, {1: replace(loss, document=0.9), 2: loss})
    write_outcome(learnt, outcome)
    enough(outcome, 13.0)
    with pytest.raises(UserError, match=r"12\.9 nats .* most_nats is 8"):
        enough(outcome, 8.0)
    write_outcome(replace(learnt, validation={}), outcome)
    enough(outcome, 8.0)


def test_a_step_that_fails_is_done_again_and_one_that_ends_is_not(tmp_path: Path) -> None:
    count = [sys.executable, "-c", "import sys; open(sys.argv[1], 'a').write('x'); sys.exit(int(sys.argv[2]))"]
    path = tmp_path / "count"
    with pytest.raises(UserError, match="one ended with 3"):
        Steps(tmp_path).do("one", [*count, str(path), "3"])
    for _ in range(2):
        Steps(tmp_path).do("one", [*count, str(path), "0"])
    assert path.read_text() == "xx"


def test_nothing_is_begun_once_a_step_was_stopped(tmp_path: Path) -> None:
    """After Ctrl-C the run that waited for a GPU began."""
    steps = Steps(tmp_path)
    with pytest.raises(UserError):
        steps.do("one", [sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"])
    with pytest.raises(UserError, match="two was not begun"):
        steps.do("two", [sys.executable, "-c", ""])


def test_a_step_runs_on_its_cores_alone(tmp_path: Path) -> None:
    mine = sorted(os.sched_getaffinity(0))
    told = "import os, sys; open(sys.argv[1], 'w').write(repr(sorted(os.sched_getaffinity(0))))"
    command = [sys.executable, "-c", told, str(tmp_path / "cores")]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(Steps(tmp_path).do, "one", command, mine[:1]).result()
    assert (tmp_path / "cores").read_text() == repr(mine[:1])
    assert [core for part in shares(1) for core in part] == mine
    assert all(part for part in shares(len(mine) + 3))


def test_gpus_have_equal_shares_of_the_cores() -> None:
    one, two = shares(2)
    assert len(one) == len(two)


def test_a_gpu_has_as_many_cores_as_were_named() -> None:
    mine = sorted(os.sched_getaffinity(0))
    assert shares(1, [len(mine)]) == [mine]
    for counts in ([1, 1], [0], [len(mine) + 1]):
        with pytest.raises(UserError, match="--cores"):
            shares(1, counts)


def test_the_first_run_has_the_first_gpu(tmp_path: Path) -> None:
    """Its cores may be others than the next one's; a run that waits has what comes free."""
    plan = Plan.read(PLAN)
    steps, given = Steps(tmp_path), {}

    def noted(name: str, command: list[str], on: list[int], gpu: int) -> None:
        given[name] = (on, gpu)

    steps.do = noted  # type: ignore[method-assign,assignment]
    names = list(plan.runs)[:3]
    with ThreadPoolExecutor(3) as pool:
        reinforce(plan, steps, names, [[0], [1]], pool)
    assert given[names[0]] == ([0], 0) and given[names[1]] == ([1], 1) and given[names[2]][1] in (0, 1)


def test_runs_that_go_together_share_a_gpu_and_no_core(tmp_path: Path) -> None:
    plan = Plan.read(PLAN)
    steps, given = Steps(tmp_path), {}

    def noted(name: str, command: list[str], on: list[int], gpu: int) -> None:
        given[name] = (on, gpu)

    steps.do = noted  # type: ignore[method-assign,assignment]
    names = list(plan.runs)[:4]
    with ThreadPoolExecutor(4) as pool:
        reinforce(plan, steps, names, [[0], [1], [2], [3]], pool, together=2)
    assert [given[name] for name in names] == [([0], 0), ([1], 0), ([2], 1), ([3], 1)]


def test_a_run_that_fails_takes_none_with_it(tmp_path: Path) -> None:
    """Those that waited for a GPU were cancelled."""
    plan = Plan.read(PLAN)
    steps, done = Steps(tmp_path), []

    def fails_first(name: str, command: list[str], on: list[int], gpu: int) -> None:
        if not done:
            done.append("")
            raise UserError("it failed")
        done.append(name)

    steps.do = fails_first  # type: ignore[method-assign,assignment]
    names = list(plan.runs)[:3]
    with ThreadPoolExecutor(1) as pool, pytest.raises(UserError, match="it failed"):
        reinforce(plan, steps, names, [[0]], pool)
    assert done[1:] == names[1:]


def test_a_mistake_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "plan.toml"
    broken.write_text(PLAN.read_text().replace("[pretrain]", "[pretrained]"))
    for arguments, said in (
        (["rows", f"--plan={tmp_path / 'none'}"], "cannot be read as a plan"),
        (["rows", f"--plan={broken}"], "pretrain"),
        (["train", "--run=nothing"], "--run nothing: the plan has best_of_n-5"),
        (["train"], "run `rows` first"),
        (["judge"], "run `train` first"),
    ):
        done = subprocess.run(
            [sys.executable, str(BENCHMARKS / "rl_whole.py"), *arguments, f"--out={tmp_path / 'out'}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_runs_have_what_the_others_leave_of_the_time() -> None:
    plan = Plan.read(PLAN)
    assert lasting(plan, None) is plan
    assert lasting(plan, 60 * 16.5, now=0.0).run("grpo-5")["minutes"] == 14.5
    assert lasting(plan, 60 * 60.0, now=0.0).run("grpo-5")["minutes"] == plan.run("grpo-5")["minutes"]
    with pytest.raises(UserError, match=r"leaves 0\.0 minutes"):
        lasting(plan, 60.0, now=0.0)
