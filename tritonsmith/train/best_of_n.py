"""Style A of RL: rounds of sample N, judge, keep the best K, fine-tune on them (advantage 1 on what is kept).

A round is a folder, and what is in it is not done again: what was drawn and judged (`rounds`), `curriculum.json`,
`model/`, and `round.json`, written last. Policy gradients on every candidate are in `grpo`; choosing among candidates
is in `credit`.
"""

import json
import logging
import random
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import cast

from torch.utils.tensorboard import SummaryWriter
from transformers import PreTrainedModel

from tritonsmith import credit, jsonl, reward
from tritonsmith.config import Config, SftConfig
from tritonsmith.curriculum import Curriculum
from tritonsmith.data.rows import Row
from tritonsmith.evaluate import Judge, Key
from tritonsmith.gains import Given, improves
from tritonsmith.prompts import Message
from tritonsmith.train import models, sft, trainer
from tritonsmith.train.clock import Clock
from tritonsmith.train.policy import Drawer
from tritonsmith.train.pretrain.renaming import with_copies
from tritonsmith.train.rounds import Begun, Round, Turn
from tritonsmith.train.stage import Stage, frontend
from tritonsmith.types import Record, Task

log = logging.getLogger(__name__)


def train(
    config: Config,
    tasks: Sequence[Task],
    verifier: Judge,
    start: Path | None,
    sft_rows: Sequence[Row] = (),
    *,
    minutes: float | None = None,
    stage: Stage | None = None,
) -> Path:
    """Run the `[best_of_n]` section from the model in `start` (None: the configured one).

    Returns `run.dir/rl/model`, a link to the last round's model. Finished rounds, and finished parts of rounds under
    way, are read from the disk. `sft_rows` are what `replay` draws from. No round is begun that, as long as the last
    one that ended, would end after `minutes`, those of earlier processes included (`run.dir/rl/steps.jsonl`). `stage`
    is the frontend's where not given.
    """
    own, stage = config.best_of_n, stage or frontend(config)
    out = config.run.dir / "rl"
    clock, drawer = Clock(out / "steps.jsonl", minutes), Drawer(config)
    curriculum = Curriculum.from_config(config.curriculum)
    drawn: Counter[str] = Counter()
    kept: list[list[Row]] = []
    copied: list[list[Row]] = []  # once for all rounds: reading a text and renaming it takes 2 ms
    model = start
    numbers: Iterator[int] = iter(range(own.rounds))
    under_way: deque[_UnderWay] = deque()
    ready = False

    def begin(number: int) -> _UnderWay:
        rng = random.Random(f"{config.run.seed}/{number}")
        chosen = choose(tasks, own.tasks_per_round, curriculum, rng, drawn, config.extensions.curriculum)
        drawn.update(task.id for task in chosen)
        fresh = Round(config, verifier, drawer, model, out / f"round-{number:02d}", number, clock)
        return _UnderWay(fresh.begun(chosen, stage, under_way[-1].begun if under_way else None), chosen, rng)

    def end(one: _UnderWay) -> Path | None:
        folder, number, found = one.begun.round.folder, one.begun.round.number, one.begun.held()
        _observe(curriculum, found[0].records, folder)
        kept.append(keep(config, one.tasks, found, stage.given))
        copied.append(with_copies(kept[-1], own.copies, config.run.seed))
        learnt, rows = (_merged(rounds[-(own.memory or len(rounds)) :]) for rounds in (kept, copied))
        if not (folder / "round.json").exists():
            rows = [*rows, *one.rng.sample(list(sft_rows), min(own.replay, len(sft_rows)))]
            if rows and not (folder / "model").exists():
                _fit(config, rows, start if own.restart else model, folder, number)
            _close(config, folder, number, found, len(learnt), curriculum, clock, stage)
        return folder / "model" if (folder / "model").exists() else model

    try:
        while True:
            while len(under_way) <= own.ahead and (number := next(numbers, None)) is not None:
                if clock.over(len(under_way) + 1) and not (out / f"round-{number:02d}").exists():
                    numbers = iter(())
                    break
                under_way.append(begin(number))
            if not under_way:
                return _link(config, out / "model", model)
            if not ready and under_way[0].begun.first.judging is not None:
                sft.ready_from(config, _settings(config), start)  # judging takes longer
                ready = True
            model = end(under_way[0])
            under_way.popleft()
    finally:
        for one in under_way:
            one.begun.stop()


@dataclass(frozen=True)
class _UnderWay:
    """A round that is drawn and not learnt from yet."""

    begun: Begun
    tasks: Sequence[Task]
    rng: random.Random


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


def keep(
    config: Config, tasks: Sequence[Task], found: Sequence[Turn], given: Mapping[str, Given] | None = None
) -> list[Row]:
    """Turn the best K distinct correct candidates of each task into training rows, each with what it answered.

    Where a task has a kernel that was `given`, only what is clearly faster than it. A later turn's reward is
    discounted: it counts for what it is worth to the conversation's first turn. Tasks that are solved already
    (`best_of_n.max_rate`) give none.
    """
    by_task: defaultdict[str, list[tuple[Record, list[Message]]]] = defaultdict(list)
    for turn in found:
        for record in turn.records:
            before = (given or {}).get(record.task)
            if before is None or improves(record, before):
                by_task[record.task].append((record, turn.chats[record.task, record.sample]))
    first: defaultdict[str, list[bool]] = defaultdict(list)
    for record in found[0].records:
        first[record.task].append(record.verdict.correct)
    rows = []
    for task in tasks:
        if fmean(first[task.id] or [False]) > config.best_of_n.max_rate:
            continue
        own = by_task[task.id]
        verdicts, sources = [one.verdict for one, _ in own], [one.source for one, _ in own]
        worth = [_worth(config, one) for one, _ in own]
        if config.best_of_n.retry == "feedback":
            worth = [credit.first_turn(score, one.turn) for score, (one, _) in zip(worth, own, strict=True)]
        for index in credit.select_best(verdicts, sources, config.best_of_n.keep, rewards=worth):
            record, chat = own[index]
            answer = [{"role": "assistant", "content": record.completion}]
            rows.append(Row(prompt=chat, completion=answer, task=task.id, graph=task.graph or ""))
    return rows


def _worth(config: Config, record: Record) -> float:
    own = config.reward
    return reward.score(record.verdict, own.scheme, own.cap, own.alpha)


def _merged(rounds: Sequence[Sequence[Row]]) -> list[Row]:
    """The rows of all rounds, each task's equal answers once."""
    merged = {(row.task, row.completion[0]["content"]): row for rows in rounds for row in rows}
    return list(merged.values())


def _fit(config: Config, rows: list[Row], model: Path | None, folder: Path, number: int) -> None:
    sft.fit_from(config, _settings(config), rows, model, folder, f"rl/round-{number:02d}")


def _settings(config: Config) -> SftConfig:
    """What a round is learnt with."""
    own = {name: getattr(config.best_of_n, name) for name in ("epochs", "lr", "batch", "most_steps")}
    return config.sft.model_copy(update={**own, "accumulation": 1, "copies": 0})


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
    jsonl.write(folder / "curriculum.json", json.dumps(state, indent=1))


def _close(
    config: Config,
    folder: Path,
    number: int,
    found: Sequence[Turn],
    kept: int,
    curriculum: Curriculum,
    clock: Clock,
    stage: Stage,
) -> None:
    """Log the round and write `round.json`, which says that it is finished."""
    records = found[0].records
    scores = [_worth(config, record) for record in records]
    figures = {
        "rl/correct": fmean(float(record.verdict.correct) for record in records),
        "rl/reward": fmean(scores),
        "rl/kept": float(kept),
        **curriculum.metrics(),
    }
    if config.best_of_n.turns > 1:
        right = {(one.task, one.sample) for turn in found for one in turn.records if one.verdict.correct}
        figures["rl/correct_at_last"] = len(right) / len(records)
        if config.best_of_n.retry == "feedback":
            figures["rl/return"] = fmean(_returns(config, found))
    if stage.given:
        figures["rl/faster"] = fmean(float(improves(one, stage.given[one.task])) for one in records)
    figures |= {f"time/{part}": seconds for part, seconds in clock.close(number).items() if part != "step"}
    with SummaryWriter(str(config.run.dir / "tensorboard" / "rl")) as writer:
        for name, value in figures.items():
            writer.add_scalar(name, value, number)
    log.info("rl round %d: %.1f %% correct, reward %.3f, %d rows kept so far", number + 1,
             100 * figures["rl/correct"], figures["rl/reward"], kept)  # fmt: skip
    candidates = sum(len(turn.records) for turn in found)
    jsonl.write(folder / "round.json", json.dumps({"round": number, "candidates": candidates, **figures}, indent=1))


def _returns(config: Config, found: Sequence[Turn]) -> list[float]:
    """What each conversation's first turn is worth: its reward and the later ones', discounted."""
    rewards: defaultdict[Key, list[float]] = defaultdict(list)
    for turn in found:
        for one in turn.records:
            rewards[one.task, one.sample].append(_worth(config, one))
    turns = config.best_of_n.turns
    padded = ([*values, *[None] * (turns - len(values))] for values in rewards.values())
    return [first for one in padded if (first := credit.returns(one, turns)[0]) is not None]


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
