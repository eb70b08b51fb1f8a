"""Style A of RL: rounds of sample N, judge, keep the best K, fine-tune on them (advantage 1 on what is kept).

A round is a folder, and what is in it is not done again: `records.completions.jsonl` (what was drawn),
`records.jsonl` (each verdict as it came), `curriculum.json`, `model/`, and `round.json`, written last. Completions are
judged as they end, while others are drawn.
Policy gradients on every candidate are in `grpo`; choosing among candidates is in `credit`.
"""

import json
import logging
import os
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import cast

from torch.utils.tensorboard import SummaryWriter
from transformers import PreTrainedModel

from tritonsmith import credit, evaluate, jsonl, reward
from tritonsmith.config import Config, EvalConfig
from tritonsmith.curriculum import Curriculum
from tritonsmith.data.rows import Row
from tritonsmith.evaluate import Judge, read
from tritonsmith.prompts import messages
from tritonsmith.train import models, sft, trainer
from tritonsmith.train.clock import Clock
from tritonsmith.train.judging import Judging
from tritonsmith.train.policy import Drawer
from tritonsmith.types import Candidate, Record, Task, Verdict

log = logging.getLogger(__name__)


def train(
    config: Config,
    tasks: Sequence[Task],
    verifier: Judge,
    start: Path | None,
    sft_rows: Sequence[Row] = (),
    *,
    minutes: float | None = None,
) -> Path:
    """Run the `[best_of_n]` section from the model in `start` (None: the configured one).

    Returns `run.dir/rl/model`, a link to the last round's model. Finished rounds, and finished parts of the round
    under way, are read from the disk. `sft_rows` are what `replay` draws from. No round is begun that, as long as the
    one before, would end after `minutes`, those of earlier processes included (`run.dir/rl/steps.jsonl`).
    """
    out = config.run.dir / "rl"
    clock, drawer = Clock(out / "steps.jsonl", minutes), Drawer(config)
    curriculum = Curriculum.from_config(config.curriculum)
    drawn: Counter[str] = Counter()
    kept: list[Row] = []
    model = start
    for number in range(config.best_of_n.rounds):
        folder = out / f"round-{number:02d}"
        if clock.over and not folder.exists():
            break
        rng = random.Random(f"{config.run.seed}/{number}")
        chosen = choose(tasks, config.best_of_n.tasks_per_round, curriculum, rng, drawn, config.extensions.curriculum)
        drawn.update(task.id for task in chosen)
        records = _judged(config, chosen, verifier, drawer, model, folder, number, clock)
        _observe(curriculum, records, folder)
        kept = _merge(kept, keep(config, chosen, records))
        done = folder / "round.json"
        if not done.exists():
            rows = [*kept, *rng.sample(list(sft_rows), min(config.best_of_n.replay, len(sft_rows)))]
            if rows and not (folder / "model").exists():
                _fit(config, rows, model, folder, number)
            _close(config, folder, number, records, len(kept), curriculum, clock)
        if (folder / "model").exists():
            model = folder / "model"
    return _link(config, out / "model", model)


def choose(
    tasks: Sequence[Task], n: int, curriculum: Curriculum, rng: random.Random, drawn: Counter[str], by_level: bool
) -> list[Task]:
    """Draw up to `n` distinct tasks, by the curriculum's levels or uniformly; those drawn least often come first.

    A level with too few tasks is filled up from the others.
    """
    pool = list(tasks)
    rng.shuffle(pool)
    pool.sort(key=lambda task: drawn[task.id])
    if not by_level:
        return pool[:n]
    available = {curriculum.level(task.level) for task in pool}
    wanted = Counter(curriculum.sample_levels(min(n, len(pool)), rng, available))
    chosen: list[Task] = []
    for level, count in sorted(wanted.items()):
        chosen += [task for task in pool if curriculum.level(task.level) == level][:count]
    taken = {task.id for task in chosen}
    return chosen + [task for task in pool if task.id not in taken][: min(n, len(pool)) - len(chosen)]


def _judged(
    config: Config,
    tasks: Sequence[Task],
    verifier: Judge,
    drawer: Drawer,
    model: Path | None,
    folder: Path,
    number: int,
    clock: Clock,
) -> list[Record]:
    """Give the round's records, drawing and judging what is missing of them."""
    settings = config.best_of_n
    out = folder / "records.jsonl"
    known = {(record.task, record.sample): record for record in read(out)}
    wanted = [(task, sample) for task in tasks for sample in range(settings.n)]
    if all((task.id, sample) in known for task, sample in wanted):
        return [known[task.id, sample] for task, sample in wanted]
    drawing = EvalConfig(
        samples=settings.n,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_new_tokens=settings.max_new_tokens,
        batch=settings.sample_batch,
    )
    seed = config.run.seed + 1_000_003 * (number + 1)
    phase = f"rl/round-{number:02d}"
    jobs: list[tuple[Task, Candidate]] = []

    def settle(place: int, verdict: Verdict) -> None:
        jsonl.append(out, evaluate.recorded(*jobs[place], verdict, phase, number).model_dump_json())

    with Judging(verifier, config.verify.workers or os.cpu_count() or 1, on_verdict=settle) as judging:

        def submit(task: Task, candidate: Candidate) -> None:
            jobs.append((task, candidate))
            judging.submit(task, candidate)

        with clock.counting("sample"):
            completions = out.with_suffix(".completions.jsonl")
            drafts = evaluate.draw(drawer.of(model), tasks, drawing, completions, seed=seed, on_draw=submit)
        drawer.rest()
        with clock.counting("wait"):
            judging.close()
            judging.verdicts()
    clock.add("verify", judging.seconds)
    # What an earlier process drew and did not judge, and what the verifier failed at.
    return evaluate.judged(wanted, drafts, verifier, out, phase, number)


def keep(config: Config, tasks: Sequence[Task], records: Sequence[Record]) -> list[Row]:
    """Turn the best K distinct correct candidates of each task into training rows."""
    by_task: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_task[record.task].append(record)
    rows = []
    for task in tasks:
        own = by_task[task.id]
        best = credit.select_best(
            [record.verdict for record in own],
            [record.source for record in own],
            config.best_of_n.keep,
            scheme=config.reward.scheme,
            cap=config.reward.cap,
        )
        prompt = messages(task, models.prompt_style(config.model))
        for index in best:
            answer = [{"role": "assistant", "content": own[index].completion}]
            rows.append(Row(prompt=prompt, completion=answer, task=task.id, graph=task.graph or ""))
    return rows


def _merge(earlier: list[Row], fresh: list[Row]) -> list[Row]:
    """Add rows whose task and completion are not there yet."""
    merged = {(row.task, row.completion[0]["content"]): row for row in [*earlier, *fresh]}
    return list(merged.values())


def _fit(config: Config, rows: list[Row], model: Path | None, folder: Path, number: int) -> None:
    own = config.best_of_n
    update = {"epochs": own.epochs, "lr": own.lr, "batch": own.batch, "accumulation": 1}
    settings = config.sft.model_copy(update=update)
    loaded, tokenizer = trainer.load(config, model, master=True)
    sft.fit(config, settings, rows, loaded, tokenizer, folder, f"rl/round-{number:02d}")


def _observe(curriculum: Curriculum, records: Sequence[Record], folder: Path) -> None:
    """Tell the curriculum the round's correct rate at each level, and keep its state with the round."""
    rates: defaultdict[int, list[float]] = defaultdict(list)
    for record in records:
        rates[curriculum.level(record.level)].append(float(record.verdict.correct))
    for level, values in sorted(rates.items()):
        curriculum.observe(level, fmean(values))
    state = {
        "weights": curriculum.weights(),
        "acc": curriculum.accuracy,
        "rates": {level: fmean(values) for level, values in sorted(rates.items())},
        "state": curriculum.state_dict(),
    }
    _write(folder / "curriculum.json", state)


def _close(
    config: Config,
    folder: Path,
    number: int,
    records: Sequence[Record],
    kept: int,
    curriculum: Curriculum,
    clock: Clock,
) -> None:
    """Log the round and write `round.json`, which says that it is finished."""
    scores = [reward.score(record.verdict, config.reward.scheme, config.reward.cap) for record in records]
    figures = {
        "rl/correct": fmean(float(record.verdict.correct) for record in records),
        "rl/reward": fmean(scores),
        "rl/kept": float(kept),
        **curriculum.metrics(),
    }
    figures |= {f"time/{part}": seconds for part, seconds in clock.close(number).items() if part != "step"}
    with SummaryWriter(str(config.run.dir / "tensorboard" / "rl")) as writer:
        for name, value in figures.items():
            writer.add_scalar(name, value, number)
    log.info("rl round %d: %.1f %% correct, reward %.3f, %d rows kept so far", number + 1,
             100 * figures["rl/correct"], figures["rl/reward"], kept)  # fmt: skip
    _write(folder / "round.json", {"round": number, "candidates": len(records), **figures})


def _write(path: Path, data: dict[str, object] | dict[str, float]) -> None:
    """Write JSON such that the file is whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(data, indent=1))
    partial.replace(path)


def _link(config: Config, path: Path, model: Path | None) -> Path:
    """Let `path` lead to the model that came out; a model without a folder of its own is saved there."""
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        return path
    if model is None:
        loaded, tokenizer = trainer.load(config, None)
        models.save(cast("PreTrainedModel", loaded), tokenizer, path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(Path("..") / model.relative_to(config.run.dir), target_is_directory=True)
    return path
