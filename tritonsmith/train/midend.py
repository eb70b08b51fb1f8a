"""The mid-end's stage of a run: verified kernels become tasks of their own, asked by `prompts.midend_messages`.

A task of the mid-end is the frontend's task under another name, with a kernel that is correct; its answer is judged as
any candidate for that task, and rewarded by the scheme `midend`. Trains nothing itself: `sft`, `best_of_n` and `grpo`
do, under the configuration that `settings` gives, in `run.dir/midend`.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tritonsmith import credit, evaluate, jsonl
from tritonsmith.config import Config, ConfigError, SftConfig
from tritonsmith.data.faster_rows import write_rows
from tritonsmith.data.lower import templates
from tritonsmith.data.pair import Pair
from tritonsmith.data.pairs import read_pairs
from tritonsmith.data.rows import Row
from tritonsmith.evaluate import Judge, Sampler
from tritonsmith.gains import Given, gains
from tritonsmith.prompts import as_asked, midend_messages, render_completion
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import models, sft
from tritonsmith.train.stage import Stage
from tritonsmith.types import Record, Task
from tritonsmith.verify.pool import Verifier

log = logging.getLogger(__name__)

FOLDER = "midend"
"""What the stage leaves is below this folder of the run."""
TRAINED = ("rl", "grpo")
"""Where the frontend's training stores its candidates."""


def settings(config: Config) -> Config:
    """The stage's configuration: its own folder, its reward, and its sections where it has any.

    Raises ConfigError where nothing is timed, for speed is what is rewarded.
    """
    if not config.verify.timing or config.verify.until != "timing":
        raise ConfigError("the mid-end is rewarded by speed: leave verify.timing and verify.until as they are")
    given = config.midend.sft.data if config.midend.sft is not None else config.midend.data
    if given not in (config.midend.data, SftConfig().data):
        raise ConfigError(f"midend.sft.data = {given!r} is not read: the mid-end's rows are those of midend.data")
    own = config.model_copy(deep=True)
    own.run.dir = config.run.dir / FOLDER
    own.reward.scheme = "midend"
    own.sft = own.midend.sft or own.sft
    own.best_of_n = own.midend.best_of_n or own.best_of_n
    own.grpo = own.midend.grpo or own.grpo
    own.sft.data = config.midend.data
    return own


def stage(config: Config, givens: Sequence[Given]) -> Stage:
    """How the mid-end is asked, and what it has to beat."""
    style = models.prompt_style(config.model)
    asked = {one.task.id: midend_messages(one.task, one.kernel, one.verdict, style) for one in givens}
    return Stage(style, asked, {one.task.id: one for one in givens})


def rows(own: Config, verifier: Verifier) -> list[Row]:
    """What `midend_sft` learns from, under the stage's `settings`. Raises ConfigError where there is nothing."""
    if own.sft.data.endswith(".jsonl"):
        return sft.pairs(own, verifier)
    out = own.run.dir / "sft" / "pairs.jsonl"
    whole = out.with_suffix(".whole")
    if whole.exists():
        return read_pairs(out)
    tasks = load_spec(own.sft.data)
    found = write_rows(tasks, verifier, out, models.prompt_style(own.model))
    log.info("midend_sft: %d of %d tasks have a kernel that can be made faster", len(found), len(tasks))
    if not found:
        raise ConfigError(f"midend.data: of the tasks of {own.sft.data} none has a kernel that can be made faster")
    whole.touch()
    return found


def training(config: Config, tasks: Sequence[Task], verifier: Verifier) -> list[Given]:
    """The tasks the mid-end trains on, fixed when its training begins and kept in `midend/kernels.jsonl`.

    Raises ConfigError where none of `tasks` has a correct kernel.
    """
    out = config.run.dir / FOLDER / "kernels.jsonl"
    if not out.exists():
        stored = _stored(config, tasks, verifier)
        bare = [task for task in tasks if task.id not in {record.task for record in stored}]
        fill = config.midend.kernels in ("run", "lowering")
        lowered = _lowered(config, bare, verifier, out.with_name("lowered.jsonl")) if fill else []
        chosen = _chosen(tasks, [*stored, *lowered], config.midend.per_task)
        if not chosen:
            raise ConfigError(f"midend.kernels = {config.midend.kernels}: no task of tasks.train has a right one there")
        _write(out, chosen)
    found = _read(out)
    log.info("mid-end: %d kernels of %d tasks", len(found), len({_plain(one.task.id) for one in found}))
    return found


def heldout(config: Config, tasks: Sequence[Task], records: Sequence[Record], verifier: Verifier) -> list[Given]:
    """The tasks the mid-end is evaluated on: each one's best kernel of the frontend's evaluation, or the lowering's.

    There may be none, which is said: then there is nothing to evaluate.
    """
    out = config.run.dir / FOLDER / "eval" / "kernels.jsonl"
    if not out.exists():
        right = [record for record in records if record.verdict.correct and record.turn == 1]
        bare = [task for task in tasks if task.id not in {record.task for record in right}]
        lowered = _lowered(config, bare, verifier, out.with_name("lowered.jsonl"))
        _write(out, _chosen(tasks, [*right, *lowered], 1))
    found = _read(out)
    if not found:
        log.warning("mid-end: none of the %d held-out tasks has a right kernel: it is not evaluated", len(tasks))
    return found


def evaluate_model(own: Config, sampler: Sampler, givens: Sequence[Given], judge: Judge) -> list[Record]:
    """Draw and judge `[eval]`'s answers to kernels under the stage's `settings`, into `eval/midend.jsonl`, and print
    what is gained; resumes."""
    out = own.run.dir / "eval" / "midend.jsonl"
    tasks = [one.task for one in givens]
    asked = stage(own, givens).ask
    records = evaluate.evaluate(sampler, tasks, judge, own.eval, out, seed=own.run.seed, phase="eval/midend", ask=asked)
    found = gains(givens, records)
    jsonl.write(out.with_suffix(".summary.json"), json.dumps({key: one.model_dump() for key, one in found.items()}))
    console = Console()
    console.print(evaluate.table({"mid-end": records}, own.eval.ks, "the mid-end, on held-out kernels"))
    told = ", ".join(f"{name} {one.value:.2f}x ({one.low:.2f}-{one.high:.2f})" for name, one in found.items())
    console.print(f"geometric means over {len(givens)} kernels: {told}")
    return records


def _stored(config: Config, tasks: Sequence[Task], verifier: Verifier) -> list[Record]:
    """Correct candidates for these tasks, of this run as it judged them, of another place judged once more."""
    known = {task.id: task for task in tasks}
    if config.midend.kernels == "lowering":
        return []
    if config.midend.kernels == "run":
        files = [file for name in TRAINED for file in sorted((config.run.dir / name).rglob("records*.jsonl"))]
        return [one for one in _records(files) if one.task in known and one.verdict.correct]
    place = Path(config.midend.kernels)
    if not place.exists():
        raise ConfigError(f"midend.kernels: there is no {place}, nor is it `run` or `lowering`")
    found = [one for one in _records([place] if place.is_file() else sorted(place.rglob("*.jsonl")))
             if one.task in known and one.verdict.correct and one.source is not None]  # fmt: skip
    best = _best(found, config.midend.per_task)
    wanted = [(known[one.task], number) for number, one in enumerate(best)]
    drafts = {(one.task, number): render_completion("", one.source or "") for number, one in enumerate(best)}
    out = config.run.dir / FOLDER / "judged.jsonl"
    return [one for one in evaluate.judged(wanted, drafts, verifier, out, "midend/kernels") if one.verdict.correct]


def _records(files: Sequence[Path]) -> list[Record]:
    """The records of files, some of which may hold other things."""
    rows = [row for file in files if ".completions" not in file.name for row in jsonl.read(file)]
    return [Record.model_validate(row) for row in rows if "verdict" in row and "completion" in row and "phase" in row]


def _lowered(config: Config, tasks: Sequence[Task], verifier: Verifier, out: Path) -> list[Record]:
    """Our own lowering's correct kernels, for the tasks as the model is asked for them."""
    style = models.prompt_style(config.model)
    found = {task.id: pair for task in tasks if isinstance(pair := templates(as_asked(task, style)), Pair)}
    wanted = [(task, 0) for task in tasks if task.id in found]
    drafts = {(name, 0): render_completion(pair.plan, pair.source) for name, pair in found.items()}
    return [one for one in evaluate.judged(wanted, drafts, verifier, out, "midend/lowering") if one.verdict.correct]


def _chosen(tasks: Sequence[Task], records: Sequence[Record], per_task: int) -> list[Given]:
    """Distinct kernels as tasks, in the order of `tasks`, the fastest of each first."""
    best = _best(records, per_task)
    givens = []
    for task in tasks:
        for number, one in enumerate(record for record in best if record.task == task.id):
            renamed = task.model_copy(update={"id": f"{task.id}@{number}"})
            givens.append(Given(task=renamed, kernel=one.source or "", verdict=one.verdict))
    return givens


def _best(records: Sequence[Record], per_task: int) -> list[Record]:
    by_task: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_task[record.task].append(record)
    chosen = []
    for own in by_task.values():
        verdicts, sources = [one.verdict for one in own], [one.source for one in own]
        chosen += [own[i] for i in credit.select_best(verdicts, sources, per_task, scheme="midend")]
    return chosen


def _plain(task: str) -> str:
    return task.rpartition("@")[0]


def _read(path: Path) -> list[Given]:
    return [Given.model_validate(row) for row in jsonl.read(path)]


def _write(path: Path, givens: Sequence[Given]) -> None:
    jsonl.write(path, "".join(f"{one.model_dump_json()}\n" for one in givens))
