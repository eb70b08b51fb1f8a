"""RL from one SFT model: does strict pass@1 on held-out graphs deeper than any in SFT rise, and is level 1 kept?

    python benchmarks/rl.py run MODEL --method best_of_n --minutes 8 --seed 0 --workers 8 --out runs/rl/best_of_n-0
    python benchmarks/rl.py table runs/rl/*-[0-9]

`run` draws greedy answers of the model in a folder to held-out tasks, trains it by one method on other graphs for some
minutes (by the project's own trainers; loading counts), draws again from what there was half way and at the end, judges
what was drawn with extension 1 on, and writes `result.json`. Rewards are judged on the task's own inputs. The same
command goes on where it was stopped. Runs share a GPU as processes side by side; `--workers` says how many candidates
one of them judges at once. With `--judge-later` the evaluation's answers are drawn only, and `judge OUT...` judges
them wherever the folders are taken: it needs no model and no GPU. `table` prints runs side by side, and the seeds of
one setting together.

A dry run on a CPU: run MODEL --out DIR --method grpo --minutes 0.5 --train graphs:4:seed=1:depth=7
--deep graphs:4:seed=2:depth=7:split=heldout --level1 graphs:4:seed=3:depth=1:split=heldout --samples 2 --tasks-a-step 2
--tokens 64 --workers 2
"""

import json
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import torch
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)

from tritonsmith import config as configuration
from tritonsmith import evaluate, jsonl, metrics
from tritonsmith.config import Config, EvalConfig, ExtensionsConfig, VerifyConfig
from tritonsmith.errors import UserError
from tritonsmith.progress import Watched
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import best_of_n, grpo, models, trainer
from tritonsmith.train.policy import Drawer
from tritonsmith.train.run import check_leakage, judges, locked
from tritonsmith.types import Record, Task
from tritonsmith.verify.pool import Verifier

log = logging.getLogger(__name__)
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

TRAIN = "graphs:600:seed=1:depth=7-12"
DEEP = "graphs:150:seed=9003:depth=7-12:split=heldout"
LEVEL1 = "graphs:50:seed=9001:level=1:split=heldout"
POINTS = ("start", "half", "end")
SETS = ("deep", "level1")
STOPPED = 130
SEATS = 4
"""Candidates that one judge process has under way."""
PARTS = ("seconds", "sample", "verify", "wait", "train")


class Method(StrEnum):
    """How the model is trained."""

    best_of_n = "best_of_n"
    grpo = "grpo"


# -- tasks


def tasks_of(folder: Path, specs: Mapping[str, str]) -> dict[str, list[Task]]:
    """The tasks by name; those of deep graphs take a while to draw, so they are kept in `folder`, by SPEC."""
    found: dict[str, list[Task]] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, spec in specs.items():
        path = folder / f"{''.join(c if c.isalnum() or c in '-=' else '_' for c in spec)}.jsonl"
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}")
            partial.write_text("".join(f"{task.model_dump_json()}\n" for task in load_spec(spec)))
            partial.replace(path)
        found[name] = [Task.model_validate(row) for row in jsonl.read(path)]
    for name in SETS:
        check_leakage(found["train"], found[name], "--train")
    return found


# -- evaluation


@dataclass
class Evaluation:
    """Greedy answers of one run's models to the held-out tasks, and what became of them."""

    out: Path
    config: Config
    tasks: Mapping[str, Sequence[Task]]
    drawer: Drawer | None = None

    def path(self, point: str, name: str) -> Path:
        """Where the records are."""
        return self.out / "eval" / point / f"{name}.jsonl"

    def draw(self, point: str, model: Path) -> None:
        """Draw what is missing of one point's answers."""
        for name in SETS:
            known = {row.get("task") for row in jsonl.read(self.path(point, name).with_suffix(".completions.jsonl"))}
            if all(task.id in known for task in self.tasks[name]):
                continue
            self.drawer = self.drawer or Drawer(self.config)
            out = self.path(point, name).with_suffix(".completions.jsonl")
            evaluate.draw(self.drawer.of(model), self.tasks[name], self.config.eval, out)

    def judge(self, points: Sequence[str], workers: int, cache: Path | None) -> None:
        """Judge what is drawn and not judged, with all kinds of inputs (extension 1)."""
        judges = max(1, workers // SEATS)
        settings = VerifyConfig(device="cpu", timing=False, workers=workers, judges=judges, cache=cache)
        with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as verifier:
            for point in points:
                for name in SETS:
                    out = self.path(point, name)
                    drawn = jsonl.read(out.with_suffix(".completions.jsonl"))
                    drafts = {(str(row["task"]), cast(int, row["sample"])): str(row["completion"]) for row in drawn}
                    wanted = [(task, 0) for task in self.tasks[name]]
                    evaluate.judged(wanted, drafts, Watched(verifier), out, f"eval/{point}/{name}")


# -- training


class Halfway(TrainerCallback):
    """Keeps the model as it is when half of the time is spent."""

    def __init__(self, out: Path, minutes: float) -> None:
        self.out, self.minutes = out, minutes

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Save it once."""
        if spent(self.out / "grpo") < self.minutes / 2 or (self.out / "half").exists():
            return
        partial = self.out / "half.partial"
        model, tokenizer = kwargs["model"], kwargs["processing_class"]
        models.save(cast(PreTrainedModel, model), cast(PreTrainedTokenizerBase, tokenizer), partial)
        (partial / "when.json").write_text(json.dumps({"minutes": spent(self.out / "grpo")}))
        partial.rename(self.out / "half")


def steps_of(folder: Path) -> list[dict[str, float]]:
    """The lines that the trainer's clock wrote, the last one of each step."""
    rows = [cast("dict[str, float]", row) for row in jsonl.read(folder / "steps.jsonl")]
    return list({row["step"]: row for row in rows}.values())


def spent(folder: Path) -> float:
    """Minutes of training so far."""
    return sum(cast(float, row["seconds"]) for row in jsonl.read(folder / "steps.jsonl")) / 60


def train_best_of_n(config: Config, tasks: Sequence[Task], verifier: Verifier, minutes: float) -> dict[str, Path]:
    """Rounds until the time is up; gives the models half way and at the end."""
    out = config.run.dir / "rl"
    end = best_of_n.train(config, tasks, verifier, None, minutes=minutes)
    seconds, half = 0.0, end
    for row in reversed(steps_of(out)):
        folder = out / f"round-{int(row['step']):02d}" / "model"
        seconds += row["seconds"]
        if seconds >= 60 * spent(out) / 2:
            half = folder if folder.exists() else half
            break
    return {"half": half, "end": end}


def train_grpo(config: Config, tasks: Sequence[Task], verifier: Verifier, minutes: float) -> dict[str, Path]:
    """Steps until the time is up; gives the models half way and at the end."""
    out = config.run.dir
    end = out / "grpo" / "model"
    if not end.exists():
        grpo.train(config, tasks, verifier, None, minutes=minutes, callbacks=[Halfway(out, minutes)])
    return {"half": out / "half" if (out / "half").exists() else end, "end": end}


TRAINERS: dict[Method, Callable[[Config, Sequence[Task], Verifier, float], dict[str, Path]]] = {
    Method.best_of_n: train_best_of_n,
    Method.grpo: train_grpo,
}


# -- results


@dataclass
class Result:
    """What one run's folder holds."""

    out: Path
    config: Config
    method: str
    records: dict[str, dict[str, list[Record]]] = field(default_factory=dict)
    """By point and set."""

    @classmethod
    def of(cls, out: Path) -> "Result":
        """Read a folder; raises UserError where it is none of these."""
        try:
            settings = json.loads((out / "settings.json").read_text())
            config = configuration.load(out / "resolved.toml")
        except OSError as error:
            raise UserError(f"{out} holds no run of this benchmark: {error.strerror}") from error
        found = cls(out, config, settings["method"])
        for point in POINTS:
            folder = out / "eval" / point
            found.records[point] = {name: evaluate.read(folder / f"{name}.jsonl") for name in SETS}
        return found

    @property
    def setting(self) -> str:
        """Method and reward."""
        return f"{self.method}, {self.config.reward.scheme}"

    def training(self) -> list[dict[str, float]]:
        """By step or round: minutes since the start, share of correct ones among what was drawn, and its time."""
        folder = self.out / ("grpo" if self.method == "grpo" else "rl")
        rates: defaultdict[int, list[float]] = defaultdict(list)
        for path in [folder / "records.jsonl", *sorted(folder.glob("round-*/records.jsonl"))]:
            for record in evaluate.read(path):
                rates[record.step].append(float(record.verdict.correct))
        rows, seconds = [], 0.0
        for step in steps_of(folder):
            seconds += step["seconds"]
            # A step of GRPO counts from 1, what it drew from 0.
            drawn = rates[int(step["step"]) - (self.method == "grpo")]
            mean = sum(drawn) / len(drawn) if drawn else None
            rows.append({**step, "minutes": seconds / 60, "candidates": len(drawn), "correct": mean})
        return rows

    def write(self) -> None:
        """Leave `result.json`."""
        curve = {
            point: {name: metrics.bootstrap(_rates(some)).model_dump() for name, some in sets.items()}
            for point, sets in self.records.items()
        }
        change = {
            name: metrics.difference(self.records["start"][name], self.records["end"][name]).model_dump()
            for name in SETS
        }
        steps = self.training()
        content = {
            "method": self.method,
            "reward": self.config.reward.scheme,
            "seed": self.config.run.seed,
            "curve": curve,
            "change": change,
            "steps": steps,
            "step": {part: _median([row[part] for row in steps]) for part in PARTS},
            "hidden": hidden(steps),
        }
        (self.out / "result.json").write_text(json.dumps(content, indent=1))


def hidden(steps: Sequence[Mapping[str, float]]) -> float:
    """The share of all judging during which other work was done."""
    judging = sum(row["verify"] for row in steps)
    return 1.0 - sum(row["wait"] for row in steps) / judging if judging else float("nan")


def compare(results: Sequence[Result]) -> Table:
    """One line a run, and one for each setting of several seeds."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="greedy pass@1, strict, all kinds of inputs, %")
    for name in ("run", "set", *POINTS, "change, points"):
        shown.add_column(name, justify="left" if name in ("run", "set") else "right")
    settings: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        settings[result.setting].append(result)
    for setting, some in settings.items():
        for result in some:
            _lines(shown, f"{setting}, seed {result.config.run.seed}", [result])
        if len(some) > 1:
            _lines(shown, f"{setting}, {len(some)} seeds", some)
    return shown


def _lines(shown: Table, label: str, results: Sequence[Result]) -> None:
    for name in SETS:
        records = {point: [r for one in results for r in one.records[point][name]] for point in POINTS}
        cells = [_percent(metrics.bootstrap(_rates(some))) if some else "-" for some in records.values()]
        gain = metrics.difference(records["start"], records["end"])
        shown.add_row(label, name, *cells, _percent(gain, sign="+") if records["end"] else "-")


def timings(results: Sequence[Result]) -> Table:
    """The median step of each run."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="a step (a round), medians, seconds")
    for name in ("run", "steps", "candidates", *PARTS, "judging hidden"):
        shown.add_column(name, justify="left" if name == "run" else "right")
    for result in results:
        steps = result.training()
        cells = [f"{_median([row[part] for row in steps]):.2f}" for part in PARTS]
        candidates = f"{_median([row['candidates'] for row in steps]):.0f}"
        label, share = f"{result.setting}, seed {result.config.run.seed}", f"{100 * hidden(steps):.0f} %"
        shown.add_row(label, str(len(steps)), candidates, *cells, share)
    return shown


def _rates(records: Sequence[Record]) -> list[float]:
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for record in records:
        by_task[record.task].append(float(record.verdict.correct))
    return [sum(values) / len(values) for values in by_task.values()]


def _median(values: Sequence[float]) -> float:
    return float(torch.tensor(values).float().median()) if values else float("nan")


def _percent(rate: metrics.Estimate, sign: str = "") -> str:
    low, high = (format(100 * value, f"{sign}.0f") for value in (rate.low, rate.high))
    return f"{format(100 * rate.value, f'{sign}.1f')} ({low} to {high})"


# -- commands


def settings_of(
    model: Path, out: Path, method: Method, reward: str, seed: int, workers: int, samples: int, tasks_a_step: int,
    tokens: int, lr: float, ahead: bool, micro: int, timeout: float, timing: bool,
    prompt: str = "auto",
) -> Config:  # fmt: skip
    """The run as a configuration."""
    cuda = torch.cuda.is_available()
    sizes = {"max_new_tokens": tokens, "temperature": 1.0}
    rows = samples * tasks_a_step
    micro = next(size for size in range(min(micro, rows), 0, -1) if rows % size == 0)
    tree: dict[str, dict[str, object]] = {
        "run": {"dir": out, "seed": seed},
        "model": {"id": str(model.resolve()), "dtype": "bfloat16" if cuda else "float32", "prompt_style": prompt},
        "lora": {"enabled": False},
        "sft": {"max_length": 4096, "save_steps": 10_000},
        "best_of_n": {
            "n": samples, "keep": 3, "rounds": 1000, "tasks_per_round": tasks_a_step, "epochs": 2.0, "lr": lr,
            "batch": min(micro, 32), "sample_batch": min(rows, 1024), **sizes,
        },
        "grpo": {
            "num_generations": samples, "beta": 0.0, "lr": lr, "batch": micro,
            "accumulation": rows // micro, "max_prompt": 2048, "max_completion": tokens, "steps": 1000,
            "temperature": 1.0, "loss": "dapo", "ahead": ahead, "save_steps": 3,
        },
        "reward": {"scheme": reward},
        # Beside a GPU, processes judge: threads of this one would keep sampling and training waiting.
        "verify": {
            "device": "cpu", "timing": timing, "workers": workers, "judges": max(1 + cuda, workers // SEATS),
            "timeout": timeout,
        },
        "extensions": {"multi_input": False, "curriculum": False},
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
def tasks(folder: Path = Path("runs/rl/tasks"), train: str = TRAIN, deep: str = DEEP, level1: str = LEVEL1) -> None:
    """Draw the tasks alone, which takes a minute or two, for runs to come."""
    found = tasks_of(folder, {"train": train, "deep": deep, "level1": level1})
    log.info("%s", {name: len(some) for name, some in found.items()})


@app.command()
def run(
    model: Annotated[Path, typer.Argument(help="A folder with a model that has had its SFT.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    method: Method = Method.best_of_n,
    reward: Annotated[str, typer.Option(help="staged, binary or hierarchical.")] = "staged",
    minutes: float = 20.0,
    seed: int = 0,
    workers: Annotated[int, typer.Option(help="Candidates judged at once.")] = os.cpu_count() or 1,
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
    ahead: Annotated[bool, typer.Option(help="GRPO draws a batch while the one before is judged.")] = True,
    micro: Annotated[int, typer.Option(help="Rows of a forward pass of GRPO.")] = 64,
    timeout: Annotated[float, typer.Option(help="Seconds a candidate of training may take.")] = 20.0,
    timing: Annotated[
        bool | None, typer.Option(help="Whether speedups are predicted and rewarded; hierarchical needs it.")
    ] = None,
    prompt: Annotated[str, typer.Option(help="How tasks are shown, where the model does not say itself.")] = "auto",
    judge_later: Annotated[bool, typer.Option(help="Leave the evaluation's judging to a second call.")] = False,
    cache: Annotated[Path | None, typer.Option(help="File of verdicts of evaluations, shared by runs.")] = None,
) -> None:
    """Evaluate, train, evaluate, and say what came of it."""
    torch.set_num_threads(1 if torch.cuda.is_available() else torch.get_num_threads())
    rate = lr or (1e-4 if method is Method.best_of_n else 5e-5)
    config = settings_of(
        model, out, method, reward, seed, workers, samples, tasks_a_step, tokens, rate, ahead, micro, timeout,
        reward == "hierarchical" if timing is None else timing, prompt,
    )  # fmt: skip
    specs = {"train": train, "deep": deep, "level1": level1}
    with locked(out):
        same_as_before(config, out)
        (out / "settings.json").write_text(json.dumps({"method": method.value, "minutes": minutes, **specs}))
        found = tasks_of(tasks, specs)
        trained_on = found.pop("train")
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
    workers: int = os.cpu_count() or 1,
    tasks: Path = Path("runs/rl/tasks"),
    cache: Path | None = None,
) -> None:
    """Judge what `run --judge-later` drew, wherever it was drawn."""
    for out in outs:
        result = Result.of(out)
        settings = json.loads((out / "settings.json").read_text())
        found = tasks_of(tasks, {name: settings[name] for name in ("train", *SETS)})
        Evaluation(out, result.config, found).judge(POINTS, workers, cache)
        Result.of(out).write()
    show([Result.of(out) for out in outs])


@app.command()
def table(outs: list[Path]) -> None:
    """Set runs side by side."""
    show([Result.of(out) for out in outs])


def show(results: Sequence[Result]) -> None:
    """Print both tables."""
    console = Console(width=160)
    console.print(compare(results), timings(results))


def main() -> None:
    """Run the command; a user's mistake ends in one line, Ctrl-C in one too."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    for name in ("httpx", "huggingface_hub"):
        logging.getLogger(name).setLevel(logging.WARNING)
    trainer.quiet()
    try:
        code = app(standalone_mode=False)
    except UserError as error:
        raise SystemExit(f"error: {error}") from error
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    if code == STOPPED:  # what typer makes of Ctrl-C
        log.info("stopped; the same command goes on from here")
    raise SystemExit(code or 0)


if __name__ == "__main__":
    main()
