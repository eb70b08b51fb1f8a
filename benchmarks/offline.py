"""What an RL run's answers teach, learnt anew from its first model: which of them, at what rate, how often.

    python benchmarks/offline.py run MODEL RUN... --variant kept:2e-4:2 --variant lowering:2e-4:2 --out runs/offline
    python benchmarks/offline.py judge runs/offline RUN

A variant is rows, learning rate and epochs, and how many copies of each row under other names there are. Rows: `kept`,
the distinct right answers of the runs (folders of `rl.py run`); `mixed`, those to tasks of whose answers at most three
quarters are right; `lowering`, our own lowering's answers to the tasks that were drawn, a bound of what right answers
to them can teach. Each takes seconds on a GPU, where a run of RL takes twenty minutes. Each variant's greedy answers to
the first run's held-out tasks are drawn, or to others (`--deep`, on which to choose what is then measured on the run's
own); `judge` needs no GPU, judges them with all kinds of inputs and prints the table, with each variant's lead over one
of them. What is there already is not done again.

Nothing is drawn from what was learnt to learn more: this says what a run could have made of what it had seen.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from commands import start
from rich.console import Console
from rich.table import Table
from rl_results import Result, percent
from rl_training import SETS, Evaluation, tasks_of

from tritonsmith import evaluate, metrics
from tritonsmith.config import Config
from tritonsmith.cores import cores
from tritonsmith.data.pair import Pair
from tritonsmith.data.rows import Row
from tritonsmith.data.sources import source
from tritonsmith.errors import UserError
from tritonsmith.prompts import render_completion
from tritonsmith.tasks.canonical import canonical
from tritonsmith.train import sft
from tritonsmith.train.stage import frontend
from tritonsmith.types import Record, Task

log = logging.getLogger(__name__)
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

POINT = "end"
FIRST = "as-it-was"
"""The model before anything is learnt."""
DEEP = Annotated[str | None, typer.Option(help="SPEC of held-out tasks in place of the run's deep ones.")]


def right(records: Sequence[Record], most: float = 1.0) -> list[Record]:
    """Each task's distinct right answers; of tasks of whose answers a share of at most `most` is right."""
    rates: defaultdict[str, list[bool]] = defaultdict(list)
    for record in records:
        rates[record.task].append(record.verdict.correct)
    kept = [one for one in records if one.verdict.correct and fmean(rates[one.task]) <= most]
    return list({(one.task, one.completion): one for one in kept}.values())


KINDS = ("kept", "mixed", "lowering")


def rows_of(kind: str, config: Config, tasks: dict[str, Task], records: Sequence[Record]) -> list[Row]:
    """What a variant of one of `KINDS` learns."""
    ask = frontend(config).ask
    if kind == "lowering":
        drawn = [tasks[name] for name in dict.fromkeys(record.task for record in records)]
        pairs = [(task, source("templates")(canonical(task))) for task in drawn]
        answers = [(task, render_completion(one.plan, one.source)) for task, one in pairs if isinstance(one, Pair)]
    else:
        chosen = right(records, 0.75 if kind == "mixed" else 1.0)
        answers = [(tasks[one.task], one.completion) for one in chosen]
    return [
        Row(
            prompt=ask(task),
            completion=[{"role": "assistant", "content": text}],
            task=task.id,
            graph=task.graph or "",
        )
        for task, text in answers
    ]


def named(variant: str | None) -> str:
    """A variant's folder; that of the model as it was where none is given."""
    return variant.replace(":", "-") if variant is not None else FIRST


def specs(settings: dict[str, str], deep: str | None) -> dict[str, str]:
    """The tasks of a run, by name, with others in the place of its deep ones where they are given."""
    return {name: settings[name] for name in ("train", *SETS)} | ({} if deep is None else {"deep": deep})


def parsed(variant: str) -> tuple[str, float, float, int]:
    """Rows, learning rate, epochs and copies; raises UserError where the text is no such."""
    try:
        kind, lr, epochs, *rest = variant.split(":")
        (copies,) = rest or ("0",)
        found = kind, float(lr), float(epochs), int(copies)
    except ValueError as error:
        raise UserError(
            f"--variant {variant}: give ROWS:RATE:EPOCHS or ROWS:RATE:EPOCHS:COPIES, kept:2e-4:2"
        ) from error
    if kind not in KINDS:
        raise UserError(f"--variant {variant}: rows are {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    return found


@app.command()
def run(
    model: Annotated[Path, typer.Argument(help="The model that the runs began with.")],
    runs: Annotated[list[Path], typer.Argument(help="Folders of `rl.py run`; the first has the held-out tasks.")],
    variant: Annotated[list[str], typer.Option(help="ROWS:RATE:EPOCHS or ROWS:RATE:EPOCHS:COPIES")],
    out: Path = Path("runs/offline"),
    tasks: Annotated[Path, typer.Option(help="Folder of drawn tasks, as `rl.py` has it.")] = Path("runs/rl/tasks"),
    batch: Annotated[int, typer.Option(help="Rows of a step; packed ones where the first run's are.")] = 32,
    deep: DEEP = None,
) -> None:
    """Learn each variant and draw its answers."""
    wanted = {one: parsed(one) for one in variant}
    first = Result.of(runs[0])
    settings = json.loads((runs[0] / "settings.json").read_text())
    found = tasks_of(tasks, specs(settings, deep))
    by_id = {task.id: task for task in found.pop("train")}
    records = [record for folder in runs for record in Result.of(folder).drawn()]
    config = first.config.model_copy(deep=True)
    config.model.id = str(model.resolve())
    drawing = Evaluation(out / FIRST, config, found)
    drawing.draw(POINT, model)
    rows = {kind: rows_of(kind, config, by_id, records) for kind in {kind for kind, *_ in wanted.values()}}
    for name, (kind, lr, epochs, copies) in wanted.items():
        config.run.dir = drawing.out = out / named(name)
        log.info("%s: %d rows", name, len(rows[kind]))
        if not rows[kind]:
            raise UserError(f"--variant {name}: the runs have no such answers, so there is nothing to learn")
        fields = {"lr": lr, "epochs": epochs, "copies": copies, "batch": batch, "accumulation": 1}
        own = config.sft.model_copy(update=fields)
        learnt = sft.fit_from(config, own, rows[kind], model, config.run.dir, "sft")
        drawing.draw(POINT, learnt)


@app.command()
def judge(
    out: Annotated[Path, typer.Argument(help="The folder of `run`.")],
    run: Annotated[Path, typer.Argument(help="The first run's folder.")],
    workers: int = cores(),
    tasks: Path = Path("runs/rl/tasks"),
    deep: DEEP = None,
    beside: Annotated[str | None, typer.Option(help="The variant whose answers the others are set against.")] = None,
) -> None:
    """Judge what was drawn, and print it side by side."""
    folders = sorted((path.parent.parent for path in out.glob("*/eval/end")), key=lambda one: one.name != named(beside))
    if beside is not None and (not folders or folders[0].name != named(beside)):
        raise UserError(f"--beside {beside}: {out} holds {', '.join(sorted(one.name for one in folders)) or 'nothing'}")
    config = Result.of(run).config
    found = tasks_of(tasks, specs(json.loads((run / "settings.json").read_text()), deep))
    columns = [f"{name}, {what}" for name in SETS for what in ("%", "points more")]
    table = Table("learnt", *columns, title="greedy pass@1, strict, all kinds of inputs")
    first: dict[str, list[Record]] = {}
    for folder in folders:
        evaluation = Evaluation(folder, config, found)
        evaluation.judge((POINT,), workers, out / "verdicts.sqlite")
        told = []
        for name in SETS:
            records = evaluate.read(evaluation.path(POINT, name))
            rate = metrics.bootstrap([float(one.verdict.correct) for one in records])
            more = metrics.difference(first.setdefault(name, records), records)
            told += [percent(rate), percent(more, sign="+")]
        table.add_row(folder.name, *told)
    Console(width=140).print(table)


if __name__ == "__main__":
    start(app, training=True)
