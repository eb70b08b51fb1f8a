"""Reinforcement learning's figures from nothing, in one command: a base, its SFT, runs of `rl.py` side by side, judged.

    python benchmarks/rl_whole.py rows --out runs/whole                 # no GPU; over three hours of a core
    python benchmarks/rl_whole.py train --out runs/whole --gpus 4       # half an hour
    python benchmarks/rl_whole.py judge --out runs/whole                # no GPU; a quarter of an hour a run, two cores

`rows` makes what the base is trained on and the plain answers of its SFT. `train` trains the base on all GPUs, while
tasks are drawn on the cores beside, then the SFT on one, and makes the runs of the plan then, each with one GPU and its
share of the cores, the next one where one has ended. `judge` judges their answers and prints the tables. The plan
(`--plan`, `rl_whole.toml` where not given) holds what the commands are given; `--run NAME` picks of its runs. With
`--together 2` two runs share a GPU, each with cores of its own; with `--within 27` all of it is over in 27 minutes, for
a machine that is lent for so long. What is done is not done again, so a copied folder goes on elsewhere. Each command's
output is in `OUT/logs`, and how long each took in `OUT/steps.jsonl`.

Does not train anything itself: `tritonsmith.train.pretrain`, `tritonsmith run` and `rl.py` do.
"""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated

import torch
import typer
from commands import STOPPED, start
from datasets import load_dataset
from pydantic import BaseModel, ConfigDict, ValidationError

from tritonsmith import jsonl
from tritonsmith.cores import cores
from tritonsmith.errors import UserError
from tritonsmith.plain import plain

log = logging.getLogger(__name__)
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NANO = ROOT / "tritonsmith" / "train" / "nano"
BATCH = 2000
"""Graphs that one process draws of a kind."""
_LAST_MINUTES, _LEAST_MINUTES = 2.0, 1.0
"""What a run takes besides its minutes, for the answers of its evaluation, and less than which none is begun for."""

Options = dict[str, str | int | float | bool]
"""A command's options by name, `_` for `-`."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Train(_Table):
    """The tasks that runs are trained on."""

    seed: int
    level1: int
    depths: dict[str, int]
    """Graphs by how many operators they have, one number or `A-B`."""

    def spec(self) -> str:
        """Their SPEC; of each kind a seed after the other."""
        kinds = [f"graphs:{self.level1}:seed={self.seed}:level=1:sizes=small"] if self.level1 else []
        for depth, wanted in self.depths.items():
            for index, done in enumerate(range(0, wanted, BATCH)):
                count = min(BATCH, wanted - done)
                kinds.append(f"graphs:{count}:seed={self.seed + index}:depth={depth}:sizes=small")
        return ",".join(kinds)


class Plan(_Table):
    """What is to be done."""

    deep: str
    level1: str
    train: Train
    drafts: list[Options]
    """Options of `tritonsmith data draft`, a folder each."""
    plain: Options
    """The same for the answers of SFT, to tasks as people write them."""
    pretrain: Options
    most_nats: float
    """What a completion to a task of level 2 may cost the base, whole, in validation: of what it is less sure of it
    hardly ever draws anything right, and RL has nothing to begin with."""
    start: Options
    """Settings of `tritonsmith run`."""
    common: Options
    """Options of `rl.py run`; `method` those of one, `runs` those of one run."""
    method: dict[str, Options]
    runs: dict[str, Options]
    """Each has a `method`, or is `like` another but for what it says itself."""

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """Raises UserError, in one line, where there is none."""
        try:
            return cls.model_validate(tomllib.loads(path.read_text()))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{path} cannot be read as a plan: {error}") from error
        except ValidationError as error:
            first = error.errors()[0]
            raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error

    def run(self, name: str) -> Options:
        """All options of a run, those of the one that it is `like` among them."""
        own = dict(self.runs[name])
        if (like := own.pop("like", None)) is not None:
            other = self.runs.get(str(like))
            if other is None or "like" in other:
                raise UserError(f"runs.{name}: like = {like}: give a run of the plan that is like no other")
            own = other | own
        if str(own.get("method")) not in self.method:
            raise UserError(f"runs.{name}: its method is one of {', '.join(self.method)}")
        return {**self.common, **self.method[str(own["method"])], **own}

    def chosen(self, names: Sequence[str]) -> list[str]:
        """The runs of these names; all where none is given."""
        unknown = [name for name in names if name not in self.runs]
        if unknown:
            raise UserError(f"--run {unknown[0]}: the plan has {', '.join(self.runs)}")
        return list(names or self.runs)


def flags(options: Mapping[str, str | int | float | bool]) -> list[str]:
    """Options as a command line has them."""
    found = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        found.append(f"--{'' if value else 'no-'}{flag}" if isinstance(value, bool) else f"--{flag}={value}")
    return found


class Steps:
    """Commands of one folder, each with a log of its own and done once; they end when this process does."""

    def __init__(self, out: Path) -> None:
        self.out, self.logs, self.path = out, out / "logs", out / "steps.jsonl"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.done = {row["step"] for row in jsonl.read(self.path)}
        self.stopped = threading.Event()

    def do(self, name: str, command: Sequence[str], on: Sequence[int] = (), gpu: int | None = None) -> None:
        """Run a command, on some of the cores and one GPU (else all); raises UserError where it fails. A thread that
        was given cores keeps them."""
        if name in self.done:
            return
        if self.stopped.is_set():
            raise UserError(f"{name} was not begun")
        # Else it would go on where this process has no time to end it; not every image has the program.
        own = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
        if on:
            os.sched_setaffinity(0, on)  # this thread's, which the process it starts has too
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        if gpu is not None:
            environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
        log.info("%s ...", name)
        path, began = self.logs / f"{name}.log", time.time()
        with path.open("ab") as file:
            code = subprocess.run([*own, *command], stdout=file, stderr=file, env=environment, check=False).returncode
        if code in (STOPPED, -signal.SIGINT, -signal.SIGTERM):  # which was meant for all
            self.stopped.set()
        if code:
            raise UserError(f"{name} ended with {code}: {path} says why; the same command goes on from here")
        row = {"step": name, "began": round(began, 1), "seconds": round(time.time() - began, 1)}
        jsonl.append(self.path, json.dumps(row))
        log.info("%s: %.0f s", name, row["seconds"])


def shares(places: int, counts: Sequence[int] = ()) -> list[list[int]]:
    """This process's cores, in one part for each run that goes at a time: so many of them, or equally many.

    Raises UserError where `counts` are not one for each or more than there are.
    """
    mine = sorted(os.sched_getaffinity(0))
    if counts and (len(counts) != places or min(counts) < 1 or sum(counts) > len(mine)):
        raise UserError(
            f"--cores: give it once for each of {places} runs that go at a time (a GPU each, or --together a GPU), "
            f"at least 1 and {len(mine)} at most in all"
        )
    counts = counts or [max(1, len(mine) // places)] * places
    ends = list(accumulate(counts))
    return [mine[end - count : end] or mine for end, count in zip(ends, counts, strict=True)]


def bare(folder: Path, path: Path) -> None:
    """Plain answers with their prompts made plain, as runs ask, in a file."""
    found = load_dataset("parquet", data_files=str(folder / "train" / "*.parquet"))["train"].shuffle(0)
    partial = path.with_suffix(".partial")
    found.map(lambda row: {"prompt": [{**one, "content": plain(one["content"])} for one in row["prompt"]]}).to_json(
        partial
    )
    partial.rename(path)


def pretraining(plan: Plan, out: Path) -> list[str]:
    """What packing and training the base have in common."""
    own = [f"--tokenizer={NANO}", f"--packed={out / 'rows.npz.xz'}", f"--out={out / 'base'}"]
    return [sys.executable, "-m", "tritonsmith.train.pretrain", *flags(plan.pretrain), *own]


WHOLE = Path("runs/whole")
OUT = Annotated[Path, typer.Option(help="Folder of everything.")]
PLAN = Annotated[Path, typer.Option(help="TOML with what is to be done.")]
RUN = Annotated[list[str] | None, typer.Option(help="Of the plan's runs, this one; may be given again.")]


@app.command()
def rows(out: OUT = WHOLE, plan: PLAN = HERE / "rl_whole.toml") -> None:
    """Make what the base and its SFT learn; needs no GPU."""
    read, steps = Plan.read(plan), Steps(out)
    draft = [sys.executable, "-m", "tritonsmith", "data", "draft"]
    data = []
    for index, options in enumerate(read.drafts):
        name = f"drafts-{index}"
        command = [*draft, "--canonical", "--source=templates,pieces", *flags(options), f"--out={out / name}"]
        steps.do(name, command)
        data.append(f"--data={out / name}")
    steps.do("plain", [*draft, "--source=templates", *flags(read.plain), f"--out={out / 'plain'}"])
    if not (out / "plain.jsonl").exists():
        bare(out / "plain", out / "plain.jsonl")
    steps.do("pack", [*pretraining(read, out), *data, "--pack-only"])


@app.command()
def train(
    out: OUT = WHOLE,
    plan: PLAN = HERE / "rl_whole.toml",
    run: RUN = None,
    gpus: Annotated[int, typer.Option(min=1, help="How many GPUs there are.")] = max(1, torch.cuda.device_count()),
    together: Annotated[int, typer.Option(min=1, help="Runs that share a GPU, side by side.")] = 1,
    cores: Annotated[
        list[int] | None, typer.Option(help="Cores of the first run; again for each that goes at a time; else equal.")
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(min=1, help="Minutes for all of it; runs have what the others leave, at most theirs."),
    ] = None,
) -> None:
    """Train the base, its SFT and the runs."""
    ends = time.time() + 60 * within if within is not None else None
    read, steps, parts = Plan.read(plan), Steps(out), shares(gpus * together, cores or [])
    names = read.chosen(run or [])
    if not (out / "rows.npz.xz").exists() and "base" not in steps.done:
        raise UserError(f"{out} has no rows to learn from: run `rows` first")
    with ThreadPoolExecutor(1 + len(parts)) as pool:
        try:
            tasks = pool.submit(draw, read, steps, gpus)
            learn(read, steps, gpus)
            tasks.result()
            reinforce(lasting(read, ends), steps, names, parts, pool, together)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what has begun ends by itself, of a signal or of its time
            raise


def lasting(plan: Plan, ends: float | None, now: float | None = None) -> Plan:
    """The plan with runs as long as the time until `ends` (seconds of the epoch; None: as they are) allows.

    Raises UserError where that is next to nothing.
    """
    if ends is None:
        return plan
    left = (ends - (time.time() if now is None else now)) / 60 - _LAST_MINUTES
    if left < _LEAST_MINUTES:
        raise UserError(f"--within leaves {max(left, 0.0):.1f} minutes for the runs: give more, or go on without it")
    minutes = min(float(plan.common.get("minutes", left)), round(left, 2))
    return plan.model_copy(update={"common": {**plan.common, "minutes": minutes}})


def draw(plan: Plan, steps: Steps, gpus: int) -> None:
    """Draw the tasks, on the cores that pretraining leaves: each of its processes keeps a few busy."""
    mine = sorted(os.sched_getaffinity(0))
    beside = mine[4 * gpus :] or mine
    command = [sys.executable, str(HERE / "rl.py"), "tasks", f"--folder={steps.out / 'tasks'}", *specs(plan)]
    steps.do("tasks", [*command, f"--workers={len(beside)}"], beside)


def learn(plan: Plan, steps: Steps, gpus: int) -> None:
    """Train the base on all GPUs and its SFT on one."""
    several = ["-m", "torch.distributed.run", "--nproc-per-node", str(gpus)] if gpus > 1 else []
    steps.do("base", [sys.executable, *several, *pretraining(plan, steps.out)[1:]])
    out = steps.out
    enough(out / "base" / "outcome.json", plan.most_nats)
    given = {
        "run.dir": out / "start",
        "model.id": out / "base" / "model",
        "sft.data": out / "plain.jsonl",
        **plan.start,
    }
    settings = ['--set=run.steps=["sft"]', *(f"--set={key}={value}" for key, value in given.items())]
    steps.do("start", [sys.executable, "-m", "tritonsmith", "run", str(ROOT / "configs/demo.toml"), *settings], gpu=0)


def enough(outcome: Path, most: float) -> None:
    """Raise UserError where a base has learnt too little to find anything right."""
    nats = json.loads(outcome.read_text())["validation"].get("2", {}).get("document", 0.0)
    if nats > most:
        raise UserError(
            f"the base has learnt too little for RL: in validation a completion costs it {nats:.1f} nats at level 2, "
            f"and most_nats is {most:g}: give it more drafts or minutes, in another --out"
        )


def reinforce(
    plan: Plan, steps: Steps, names: Sequence[str], parts: Sequence[Sequence[int]], pool: ThreadPoolExecutor,
    together: int = 1,
) -> None:  # fmt: skip
    """The runs, so many a GPU at a time, the first on the first; raises the first error once all have ended.

    `parts` are the cores of each that goes at a time.
    """
    free = SimpleQueue[int]()

    def one(name: str, given: int | None) -> None:
        index = free.get() if given is None else given
        try:
            on, options = parts[index], flags(plan.run(name))
            command = [sys.executable, str(HERE / "rl.py"), "run", str(steps.out / "start" / "sft" / "model")]
            command += [f"--out={steps.out / 'rl' / name}", f"--tasks={steps.out / 'tasks'}", "--judge-later"]
            command += [f"--workers={max(1, len(on) - 1)}", *options, *specs(plan)]
            steps.do(name, command, on, index // together)
        finally:
            free.put(index)

    ended = [pool.submit(one, name, place if place < len(parts) else None) for place, name in enumerate(names)]
    wait(ended)  # one that fails takes none of the others with it
    for each in ended:
        each.result()


def specs(plan: Plan) -> list[str]:
    """The tasks as `rl.py` takes them."""
    return [f"--train={plan.train.spec()}", f"--deep={plan.deep}", f"--level1={plan.level1}"]


@app.command()
def judge(out: OUT = WHOLE, plan: PLAN = HERE / "rl_whole.toml", run: RUN = None, workers: int = cores()) -> None:
    """Judge what was drawn and print the tables; needs no GPU."""
    folders = [str(out / "rl" / name) for name in Plan.read(plan).chosen(run or []) if (out / "rl" / name).exists()]
    if not folders:
        raise UserError(f"{out} holds no run: run `train` first")
    command = [sys.executable, str(HERE / "rl.py"), "judge", *folders, f"--workers={workers}"]
    command += [f"--tasks={out / 'tasks'}", f"--cache={out / 'verdicts.sqlite'}"]
    raise SystemExit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    start(app, training=True)
