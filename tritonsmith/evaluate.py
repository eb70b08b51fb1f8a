"""Evaluation: draw completions of held-out tasks, judge each once, keep every record, sum up.

Resumes after a kill at any point: what was drawn is not drawn again, what was judged is not judged again. What is on
file for another text of a task counts for nothing: going on from there is refused.
Does not load models: whatever has `sample` will do, a local model (`train.generate`) or a served one (`endpoint`).
"""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from rich import box
from rich.table import Table

from tritonsmith import jsonl, metrics
from tritonsmith.config import EvalConfig
from tritonsmith.errors import UserError
from tritonsmith.extract import extract
from tritonsmith.prompts import Ask, Style, messages
from tritonsmith.types import Candidate, Record, Task, Verdict

logger = logging.getLogger(__name__)

Key = tuple[str, int]
"""Task id and sample number: what makes a record of one file unique."""
_APART, _SEEDS = 1_000_003, 2**31 - 2**24
"""So many seeds lie between two calls' first ones, all of which, and those that follow them, have 31 bits."""


class Sampler(Protocol):
    """Anything that writes completions."""

    @property
    def prompt_style(self) -> str:
        """A `prompts.Style`: how the model behind it expects prompts to be written."""
        ...

    def sample(
        self,
        messages: Sequence[list[dict[str, str]]],
        n: int,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
        batch: int,
        seed: int,
        on_batch: Callable[[list[tuple[int, int, str]]], None] | None,
    ) -> list[list[str]]:
        """Draw `n` completions of each chat; `on_batch` gets (chat, which of its completions, text) as they end.

        May raise UserError where it cannot; what `on_batch` got by then is kept.
        """
        ...


class Judge(Protocol):
    """The verifier's part that is needed here (`verify.pool.Verifier`)."""

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """Judge all jobs, in order; `on_verdict` is called as each one ends."""
        ...


def evaluate(
    sampler: Sampler,
    tasks: Sequence[Task],
    verifier: Judge,
    config: EvalConfig,
    out: Path,
    *,
    seed: int = 0,
    step: int = 0,
    phase: str | None = None,
    ask: Ask | None = None,
) -> list[Record]:
    """Draw and judge `config.samples` completions of each task; return the records in the order of tasks and samples.

    Records are appended to `out` (JSONL) as they are made, completions to `<out>.completions.jsonl` as they are
    drawn; both are read back when the same call is made again. `phase` is `<folder>/<stem>` of `out` if not given;
    `ask` is how tasks are asked for, `messages` in the sampler's style if not given. Raises UserError where the text
    of a task that is on file has changed.
    """
    drafts = draw(sampler, tasks, config, out.with_suffix(".completions.jsonl"), seed=seed, ask=ask)
    wanted = [(task, sample) for task in tasks for sample in range(config.samples)]
    return judged(wanted, drafts, verifier, out, phase or f"{out.parent.name}/{out.stem}", step)


def judged(
    wanted: Sequence[tuple[Task, int]],
    drafts: Mapping[Key, str],
    verifier: Judge,
    out: Path,
    phase: str,
    step: int = 0,
    turn: int = 1,
) -> list[Record]:
    """The records of these tasks' samples, in order: those in `out`, and new ones, judged and appended to it."""
    records = {(record.task, record.sample): record for record in read(out, (task for task, _ in wanted))}
    missing = [(task, sample) for task, sample in wanted if (task.id, sample) not in records]
    jobs = [(task, candidate(task, sample, drafts[task.id, sample])) for task, sample in missing]

    def keep(index: int, verdict: Verdict) -> None:
        record = recorded(*jobs[index], verdict, phase, step, turn)
        jsonl.append(out, record.model_dump_json())
        records[record.task, record.sample] = record

    if jobs:
        logger.info("%s: judging %d candidates", phase, len(jobs))
        verifier.verify_many(jobs, keep)
    return [records[task.id, sample] for task, sample in wanted]


def candidate(task: Task, sample: int, completion: str) -> Candidate:
    """What a completion hands in for a task."""
    return Candidate(task=task.id, sample=sample, source=extract(completion).source, completion=completion)


def recorded(task: Task, candidate: Candidate, verdict: Verdict, phase: str, step: int = 0, turn: int = 1) -> Record:
    """The record of a candidate that was judged."""
    return Record(
        phase=phase,
        step=step,
        turn=turn,
        task=task.id,
        writing=task.writing,
        level=task.level,
        sample=candidate.sample,
        completion=candidate.completion or "",
        source=candidate.source,
        verdict=verdict,
    )


def draw(
    sampler: Sampler,
    tasks: Sequence[Task],
    config: EvalConfig,
    out: Path,
    *,
    seed: int = 0,
    ask: Ask | None = None,
) -> dict[Key, str]:
    """Completions by task and sample: those on file, and new ones for what is missing, appended as batches end."""
    drafts = drawn(out, tasks)
    gaps: defaultdict[int, list[tuple[Task, list[int]]]] = defaultdict(list)
    for task in tasks:
        numbers = [sample for sample in range(config.samples) if (task.id, sample) not in drafts]
        if numbers:
            gaps[len(numbers)].append((task, numbers))
    asked = ask or (lambda task: messages(task, cast(Style, sampler.prompt_style)))
    for n, group in sorted(gaps.items()):

        def keep(batch: list[tuple[int, int, str]], group: list[tuple[Task, list[int]]] = group) -> None:
            note(out, drafts, [(group[chat][0], group[chat][1][which], text) for chat, which, text in batch])

        logger.info("drawing %d completions of %d tasks", n * len(group), len(group))
        texts = sampler.sample(
            [asked(task) for task, _ in group],
            n,
            config.temperature,
            config.top_p,
            config.max_new_tokens,
            config.batch,
            # A seed used before the kill would draw the same completions a second time; each has one of its own there.
            (seed + _APART * len(drafts)) % _SEEDS,
            keep,
        )
        late = [(chat, which, text) for chat, row in enumerate(texts) for which, text in enumerate(row)]
        keep(late)
    return drafts


def note(path: Path, drafts: dict[Key, str], drawn: Iterable[tuple[Task, int, str]]) -> list[tuple[Task, int, str]]:
    """Keep completions, each with its task and sample, on file and among the drafts; gives those that were not there.

    All together, for what an `append` costs is the disk's time, and decoding waits for it.
    """
    fresh = [(task, sample, text) for task, sample, text in drawn if (task.id, sample) not in drafts]
    if fresh:
        rows = [{"task": task.id, "writing": task.writing, "sample": n, "completion": text} for task, n, text in fresh]
        jsonl.append(path, *(json.dumps(row) for row in rows))
        drafts |= {(task.id, sample): text for task, sample, text in fresh}
    return fresh


def drawn(path: Path, tasks: Iterable[Task] = ()) -> dict[Key, str]:
    """The completions of a JSONL file by task and sample; a missing file has none.

    Raises UserError where one is of another text of one of `tasks`.
    """
    drafts: dict[Key, str] = {}
    rows = list(jsonl.read(path))
    _same_texts(path, tasks, ((row.get("task"), row.get("writing")) for row in rows))
    for row in rows:
        task, sample, text = row.get("task"), row.get("sample"), row.get("completion")
        if isinstance(task, str) and isinstance(sample, int) and isinstance(text, str):
            drafts[task, sample] = text
    return drafts


def read(path: Path, tasks: Iterable[Task] = ()) -> list[Record]:
    """The records of a JSONL file in the order they were made; a missing file has none.

    Raises UserError where one is of another text of one of `tasks`.
    """
    records = [Record.model_validate(row) for row in jsonl.read(path)]
    _same_texts(path, tasks, ((record.task, record.writing) for record in records))
    return records


def _same_texts(path: Path, tasks: Iterable[Task], kept: Iterable[tuple[object, object]]) -> None:
    """Raise UserError where what is kept, as a task's id and writing, is of another text; older files do not tell."""
    now: dict[object, str] = {task.id: task.writing for task in tasks}
    for name, writing in kept:
        if writing and writing != now.get(name, writing):
            raise UserError(
                f"{path} holds answers to {name} as it was before its text changed: "
                "go on in a new folder, or remove this one"
            )


def table(results: dict[str, Sequence[Record]], ks: Sequence[int] = (1, 10), title: str | None = None) -> Table:
    """A rich table of summaries: one line for each named set of records and level."""
    grid = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("", "level", "tasks", "valid", "compiled", "correct"):
        grid.add_column(name, justify="left" if not name else "right")
    summaries = {name: metrics.summary(records, ks) for name, records in results.items()}
    shown = [k for k in ks if any(k in row.passes for rows in summaries.values() for row in rows)]
    for name in (*(f"pass@{k}" for k in shown), "fast_1", "speedup"):
        grid.add_column(name, justify="right")
    for name, rows in summaries.items():
        for row in rows:
            rates = [_stacked(percent(rate)) for rate in (row.valid, row.compiled, row.correct)]
            passes = [_stacked(percent(row.passes[k])) if k in row.passes else "-" for k in shown]
            level = "all" if row.level is None else str(row.level)
            fast = _stacked(percent(row.fast[1]))
            grid.add_row(
                name, level, str(row.tasks), *rates, *passes, fast, _stacked(speed(row)), end_section=row.level is None
            )
    return grid


def _stacked(text: str) -> str:
    """A figure and, below it, its interval or kind: eight columns then fit a terminal of 80."""
    value, _, rest = text.replace(" %", "%").partition(" ")
    return f"{value}\n[dim]{rest.strip('()')}[/]" if rest else value


def percent(rate: metrics.Estimate) -> str:
    """`47 % (41-53)`: a rate and its interval."""
    return f"{100 * rate.value:.0f} % ({100 * rate.low:.0f}-{100 * rate.high:.0f})"


def speed(row: metrics.Row) -> str:
    """`1.40x predicted`: the geometric mean speedup of the correct candidates and where it comes from."""
    return "-" if row.speedup is None else f"{row.speedup.value:.2f}x {row.speedup_kind}"
