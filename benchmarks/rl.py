"""RL from one SFT model: does strict pass@1 on held-out graphs deeper than any in SFT rise, and is level 1 kept?

    python benchmarks/rl.py run MODEL --method best_of_n --minutes 8 --seed 0 --workers 8 --out runs/rl/best_of_n-0
    python benchmarks/rl.py table runs/rl/*-[0-9]

`run` draws greedy answers of the model in a folder to held-out tasks, trains it by one method on other graphs for some
minutes (by the project's own trainers; loading counts), draws again from what there was half way and at the end, judges
what was drawn with extension 1 on, and writes `result.json`. Rewards are judged on the task's own inputs, by
values alone (`--assemble`). The same
command goes on where it was stopped. Runs share a GPU as processes side by side; `--workers` says how many candidates
one of them judges at once. Under `accelerate launch --num_processes 2` one run draws and trains on two GPUs. With
`--judge-later` the evaluation's answers are drawn only, and `judge OUT...` judges them wherever the folders are taken:
it needs no model and no GPU. `table` prints runs side by side, the seeds of one setting together, and the change by
depth. What a run does is in `rl_training`, what comes of it in `rl_results`.

A dry run on a CPU: run MODEL --out DIR --method grpo --minutes 0.5 --train graphs:4:seed=1:depth=7
--deep graphs:4:seed=2:depth=7:split=heldout --level1 graphs:4:seed=3:depth=1:split=heldout --samples 2 --tasks-a-step 2
--tokens 64 --workers 2
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from commands import same_settings, start
from rich.console import Console
from rl_results import DEPTHS, Result, against, by_depth, compare, groups, speeds, timings
from rl_training import (
    LEVELS,
    POINTS,
    SEATS,
    SETS,
    SHARES,
    TRAINERS,
    Evaluation,
    Method,
    by_operators,
    depths,
    spent,
    tasks_of,
)
from transformers import set_seed

from tritonsmith import config as configuration
from tritonsmith import jsonl
from tritonsmith.config import Config, EvalConfig
from tritonsmith.cores import cores
from tritonsmith.errors import UserError
from tritonsmith.train import ranks
from tritonsmith.train.run import judges, locked

log = logging.getLogger(__name__)
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

TRAIN = "graphs:600:seed=1:depth=7-12"
DEEP = "graphs:150:seed=9003:depth=7-12:split=heldout"
LEVEL1 = "graphs:50:seed=9001:level=1:split=heldout"


def settings_of(
    model: Path, out: Path, method: Method, reward: str, seed: int, workers: int, samples: int, tasks_a_step: int,
    tokens: int, lr: float, ahead: bool, micro: int, timeout: float, timing: bool,
    prompt: str = "auto", assemble: str = "never", memory: int | None = None, max_rate: float = 1.0,
    temperature: float = 1.0, keep: int = 3, restart: bool = False, steps: int | None = None,
    scale: str = "auto", updates: int = 1, turns: int = 1, copies: int = 0, epochs: float = 2.0, blame: str = "answer",
    most_steps: int | None = None, warmup: int = 0, engine: str = "trl", length: int = 4096,
    isolation: str = "process", iterations: int = 1, beta: float = 0.0, top_entropy: float = 1.0,
    credit: str = "trl", curriculum: bool = False, imitate: int = 0, rename: bool = False,
) -> Config:  # fmt: skip
    """The run as a configuration."""
    cuda = torch.cuda.is_available()
    sizes = {"max_new_tokens": tokens, "temperature": temperature}
    rows = samples * tasks_a_step
    micro = next(size for size in range(min(micro, rows), 0, -1) if rows % size == 0)
    tree: dict[str, dict[str, object]] = {
        "run": {"dir": out, "seed": seed},
        "model": {"id": str(model.resolve()), "dtype": "bfloat16" if cuda else "float32", "prompt_style": prompt},
        "lora": {"enabled": False},
        "sft": {"max_length": length, "save_steps": 10_000, "engine": engine},
        "best_of_n": {
            "n": samples, "keep": keep, "rounds": 1000, "tasks_per_round": tasks_a_step, "epochs": epochs, "lr": lr,
            "memory": memory, "max_rate": max_rate, "restart": restart, "ahead": ahead, "batch": min(micro, 32),
            "turns": turns, "retry": "redraw", "copies": copies, "most_steps": most_steps,
            "sample_batch": min(rows, 1536), **sizes,
        },
        "grpo": {
            "num_generations": samples, "beta": beta, "lr": lr, "batch": micro,
            "top_entropy": top_entropy, "credit": credit, "keep": samples,
            "accumulation": rows // micro, "updates": updates, "iterations": iterations, "max_prompt": 2048,
            "max_completion": tokens,
            "steps": steps or 1000, "schedule": "linear" if steps else "constant", "temperature": temperature,
            "loss": "dapo", "delta": 4.0, "scale": scale, "blame": blame, "ahead": ahead, "warmup": warmup,
            "imitate": imitate, "rename": rename, "save_steps": 10,
        },
        "reward": {"scheme": reward},
        # Beside a GPU, processes judge: threads of this one would keep sampling and training waiting.
        "verify": {
            "device": "cpu", "timing": timing, "workers": workers, "judges": max(1 + cuda, workers // SEATS),
            "timeout": timeout, "assemble": assemble, "isolation": isolation,
        },
        "extensions": {"multi_input": False, "curriculum": curriculum},
        # There are few rounds, of thousands of answers each, and many batches of a thousand or less.
        "curriculum": {"levels": LEVELS, **SHARES, "decay": 0.3 if method is Method.best_of_n else 0.9},
        "eval": EvalConfig(samples=1, temperature=0.0, max_new_tokens=tokens, batch=256 if cuda else 16).model_dump(),
    }  # fmt: skip
    return Config.model_validate(tree)


def same_as_before(config: Config, out: Path) -> None:
    """Raise UserError where the folder holds a run with other settings."""
    path = out / "resolved.toml"
    if path.exists():
        before, now = (one.model_dump(mode="json") for one in (configuration.load(path), config))
        for tree in (before, now):
            tree["run"].pop("dir")
            for key in ("workers", "judges"):
                tree["verify"].pop(key, None)
        if before != now:
            raise UserError(f"{out} holds a run with other settings: give another --out")
    config.save(path)


@app.command()
def tasks(
    folder: Path = Path("runs/rl/tasks"),
    train: str = TRAIN,
    deep: str = DEEP,
    level1: str = LEVEL1,
    workers: int = cores(),
) -> None:
    """Draw the tasks alone, which takes a minute or two of a core, for runs to come."""
    found = tasks_of(folder, {"train": train, "deep": deep, "level1": level1}, workers)
    log.info("%s", {name: len(some) for name, some in found.items()})


@app.command()
def run(
    model: Annotated[Path, typer.Argument(help="A folder with a model that has had its SFT.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    method: Method = Method.best_of_n,
    reward: Annotated[str, typer.Option(help="staged, binary, hierarchical or uniform.")] = "staged",
    minutes: float = 20.0,
    seed: int = 0,
    workers: Annotated[int, typer.Option(help="Candidates judged at once.")] = cores(),
    train: Annotated[str, typer.Option(help="SPEC of the tasks to train on.")] = TRAIN,
    deep: Annotated[str, typer.Option(help="SPEC of held-out tasks.")] = DEEP,
    level1: Annotated[str, typer.Option(help="SPEC of held-out tasks of one operator.")] = LEVEL1,
    tasks: Annotated[Path, typer.Option(help="Folder in which drawn tasks are kept; runs may share it.")] = Path(
        "runs/rl/tasks"
    ),
    samples: Annotated[int, typer.Option(help="Completions of each task.")] = 8,
    tasks_a_step: Annotated[int, typer.Option(help="Tasks of a step of GRPO, or of a round.")] = 32,
    tokens: Annotated[int, typer.Option(help="Tokens a completion may have.")] = 1400,
    lr: Annotated[float | None, typer.Option(help="1e-4 for best-of-N, 5e-5 for GRPO where not given.")] = None,
    ahead: Annotated[bool, typer.Option(help="A batch, or a round, is drawn while the one before is judged.")] = True,
    micro: Annotated[int, typer.Option(help="Rows of a forward pass of GRPO.")] = 64,
    timeout: Annotated[float, typer.Option(help="Seconds a candidate of training may take.")] = 20.0,
    timing: Annotated[
        bool | None, typer.Option(help="Whether speedups are predicted and rewarded; else where the reward asks.")
    ] = None,
    prompt: Annotated[str, typer.Option(help="How tasks are shown, where the model does not say itself.")] = "auto",
    assemble: Annotated[
        str, typer.Option(help="When a candidate of training goes through the back end: first, right or never.")
    ] = "never",
    memory: Annotated[int | None, typer.Option(help="Rounds of best-of-N that are learnt from; else all.")] = None,
    max_rate: Annotated[float, typer.Option(help="Tasks solved more often teach best-of-N nothing.")] = 1.0,
    temperature: Annotated[float, typer.Option(help="What training's completions are drawn at.")] = 1.0,
    keep: Annotated[int, typer.Option(help="Distinct correct answers of a task that best-of-N learns from.")] = 3,
    restart: Annotated[bool, typer.Option(help="Each of best-of-N's rounds learns from the first model anew.")] = False,
    steps: Annotated[int | None, typer.Option(help="GRPO's steps at most, over which its rate falls to 0.")] = None,
    scale: Annotated[str, typer.Option(help="What GRPO divides advantages by: auto, group, batch or none.")] = "auto",
    updates: Annotated[int, typer.Option(help="Optimiser steps of GRPO from each batch, each from a part of it.")] = 1,
    iterations: Annotated[int, typer.Option(help="How often GRPO goes over each batch.")] = 1,
    beta: Annotated[float, typer.Option(help="Weight of GRPO's KL divergence from the start.")] = 0.0,
    top_entropy: Annotated[float, typer.Option(help="Share of tokens, of highest entropy, GRPO learns from.")] = 1.0,
    credit: Annotated[
        str, typer.Option(help="How GRPO's rewards become advantages: trl, grpo, dr_grpo or best_of_n.")
    ] = "trl",
    turns: Annotated[int, typer.Option(help="1, or how often best-of-N draws: later from where an answer failed.")] = 1,
    copies: Annotated[int, typer.Option(help="Copies of each answer, names changed, that best-of-N learns from.")] = 0,
    epochs: Annotated[float, typer.Option(help="How often best-of-N's rounds learn from each answer and copy.")] = 2.0,
    blame: Annotated[str, typer.Option(help="What GRPO pushes down of a failure: answer, line or nothing.")] = "answer",
    most_steps: Annotated[int | None, typer.Option(help="Optimiser steps of a round at most; else no bound.")] = None,
    warmup: Annotated[int, typer.Option(help="Optimiser steps of GRPO over which its rate comes up.")] = 0,
    engine: Annotated[
        str, typer.Option(help="What best-of-N's rounds learn by: trl, or compiled on packed rows.")
    ] = "trl",
    length: Annotated[int, typer.Option(help="Tokens of a prompt and its answer, or of a packed row.")] = 4096,
    isolation: Annotated[
        str, typer.Option(help="Whether training's candidates have processes of their own: process, or pooled.")
    ] = "process",
    imitate: Annotated[int, typer.Option(help="How often right answers come back in later batches of GRPO.")] = 0,
    rename: Annotated[bool, typer.Option(help="They come back under other names each time.")] = False,
    curriculum: Annotated[
        bool, typer.Option(help="Tasks are drawn by extension 3, whose levels are then how many operators they have.")
    ] = False,
    judge_later: Annotated[bool, typer.Option(help="Leave the evaluation's judging to a second call.")] = False,
    cache: Annotated[Path | None, typer.Option(help="File of verdicts of evaluations, shared by runs.")] = None,
) -> None:
    """Evaluate, train, evaluate, and say what came of it."""
    torch.set_num_threads(1 if torch.cuda.is_available() else torch.get_num_threads())
    ranks.join()
    if not ranks.is_first():
        set_seed(seed)
        ranks.follow()
        return
    rate = lr or (1e-4 if method is Method.best_of_n else 5e-5)
    config = settings_of(
        model, out, method, reward, seed, workers, samples, tasks_a_step, tokens, rate, ahead, micro, timeout,
        reward in ("hierarchical", "uniform") if timing is None else timing, prompt, assemble, memory, max_rate,
        temperature, keep, restart, steps, scale, updates, turns, copies, epochs, blame, most_steps, warmup,
        engine, length, isolation, iterations, beta, top_entropy, credit, curriculum, imitate, rename,
    )  # fmt: skip
    specs = {"train": train, "deep": deep, "level1": level1}
    with locked(out), ranks.leading():
        same_as_before(config, out)
        same_settings(out, {"method": method.value, **specs}, out / "eval")
        jsonl.write(out / "settings.json", json.dumps({"method": method.value, "minutes": minutes, **specs}))
        found = tasks_of(tasks, specs, workers)
        trained_on = by_operators(found.pop("train")) if curriculum else found.pop("train")
        jsonl.write(out / DEPTHS, json.dumps(depths(found["deep"])))
        set_seed(seed)
        evaluation = Evaluation(out, config, found)
        evaluation.draw("start", model)
        with judges(config) as verifier:
            made = TRAINERS[method](config, trained_on, verifier, minutes)
        for point, folder in made.items():
            evaluation.draw(point, folder)
        log.info("trained for %.1f minutes", spent(out / ("grpo" if method is Method.grpo else "rl")))
        if not judge_later:
            evaluation.judge(POINTS, workers, cache)
    if not judge_later:
        Result.of(out).write()
        show([Result.of(out)])


@app.command()
def judge(
    outs: list[Path],
    workers: int = cores(),
    tasks: Path = Path("runs/rl/tasks"),
    cache: Path | None = None,
) -> None:
    """Judge what `run --judge-later` drew, wherever it was drawn."""
    for out in outs:
        result = Result.of(out)
        settings = json.loads((out / "settings.json").read_text())
        found = tasks_of(tasks, {name: settings[name] for name in SETS}, workers)
        jsonl.write(out / DEPTHS, json.dumps(depths(found["deep"])))
        Evaluation(out, result.config, found).judge(POINTS, workers, cache)
        Result.of(out).write()
    show([Result.of(out) for out in outs])


@app.command()
def table(outs: list[Path]) -> None:
    """Set runs side by side."""
    show([Result.of(out) for out in outs])


def show(results: Sequence[Result]) -> None:
    """Print the tables, the change by depth, settings against each other, and what training's groups and speeds had to
    tell."""
    console = Console(width=160)
    lines = (*by_depth(results), *against(results), *groups(results), *speeds(results))
    console.print(compare(results), timings(results), *lines, sep="\n")


if __name__ == "__main__":
    start(app, training=True)
