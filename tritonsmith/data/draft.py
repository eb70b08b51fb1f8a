"""`tritonsmith data draft`: tasks with the lowering's answers, unjudged, by the hundred thousand: to pretrain on.

A draft costs milliseconds, a verdict a second. What a model first learns of the language may be what a compiler of our
own writes; what it is fine-tuned on, and all that counts as a result, is judged (see `build`). Of tasks that the
lowering answers, `benchmarks/data.py` says how many answers are right.

Takes training graphs alone, and none of the suite's. A file holds the drafts of one shard of tasks and appears whole
or not at all, so the same call goes on after a kill. Does not look for equal rows: who reads them does.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from multiprocessing import get_context
from pathlib import Path

import pyarrow.parquet as parquet
from datasets import Dataset, Features, List, Value, disable_progress_bars
from pebble import ProcessExpired, ProcessPool
from pydantic import BaseModel, ConfigDict

from tritonsmith.cores import cores
from tritonsmith.data.draw import Drawing
from tritonsmith.data.pair import Pair
from tritonsmith.data.sources import source
from tritonsmith.data.split import split_of
from tritonsmith.data.store import agree, said
from tritonsmith.data.suite import of_suite, suite_forms
from tritonsmith.data.work import start
from tritonsmith.data.workers import DRAW_SECONDS, PRELOADED, RENEWAL
from tritonsmith.errors import UserError
from tritonsmith.progress import bar
from tritonsmith.prompts import messages, render_completion
from tritonsmith.tasks import traced, traced_form
from tritonsmith.types import Task

log = logging.getLogger(__name__)

CHUNKS = 8
"""Chunks of `Drawing` in a shard: some seconds of a core's work, which is what a kill costs."""
BARREN = 4
"""Shards in a row without a draft behind which there is none either: a thousand tasks."""

_TEXT = Value("string")
_MESSAGES = List({"role": _TEXT, "content": _TEXT})
FEATURES = Features(
    {
        "prompt": _MESSAGES,
        "traced": _MESSAGES,
        "completion": _MESSAGES,
        "task": _TEXT,
        "graph": _TEXT,
        "form": _TEXT,
        "level": Value("int32"),
    }
)
"""A row: `rows.Row`'s columns, the prompt with its traced graph, and the task's canonical form."""


class Settings(BaseModel):
    """What makes two calls' drafts the same, but for their number."""

    model_config = ConfigDict(extra="forbid")

    tasks: str
    seed: int
    styles: int
    source: str
    canonical: bool = False


def draft(
    out: Path,
    n: int,
    *,
    tasks: str = "graphs:split=train",
    answers: str = "templates",
    seed: int = 0,
    styles: int = 1,
    canonical: bool = False,
    processes: int | None = None,
) -> int:
    """Write `n` drafts or more below `out/train`, or as many as `tasks` gives; returns how many are there.

    `tasks` is a SPEC, a generator's with or without a number; `answers` are sources' names with commas
    (`sources.SOURCES`), each of which gives a draft of a task that it can answer; with `canonical` tasks come in that
    form (`tasks.canonical`). The caller's program needs a main guard. Raises UserError for what the user must mend.
    """
    for name in answers.split(","):
        source(name)
    settings = Settings(tasks=tasks, seed=seed, styles=styles, source=answers, canonical=canonical)
    folder = out / "train"
    with said(out):
        folder.mkdir(parents=True, exist_ok=True)
    agree(out, settings, "drafts of other settings")
    for left in folder.glob("*.partial"):
        left.unlink()
    suite = suite_forms()
    found = 0
    with bar("drafts", n) as advance:
        for count in _shards(folder, settings, suite, n, processes or cores()):
            found += count
            advance(count)
    return found


def _shards(folder: Path, settings: Settings, suite: frozenset[str], n: int, width: int) -> Iterator[int]:
    """The rows of each shard as it is done, until there are `n`, or no more tasks."""
    found, number, ended, barren = 0, 0, False, 0
    running: dict[Future[tuple[int, bool]], int] = {}
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    pool = ProcessPool(width, max(1, RENEWAL // 250), start, context=context)
    try:
        while True:
            while not ended and found < n and len(running) < 2 * width:
                path = folder / f"train-{number:05d}.parquet"
                running[pool.schedule(shard, (path, settings, suite, number), timeout=2 * DRAW_SECONDS)] = number
                number += 1
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                at = running.pop(future)
                try:
                    count, more = future.result()
                except (TimeoutError, ProcessExpired) as error:
                    log.warning("shard %d of %s is left out: %s", at, settings.tasks, error)
                    count, more = 0, True
                ended = ended or not more
                barren = 0 if count else barren + 1
                if barren >= BARREN and not ended:
                    raise UserError(
                        f"{settings.tasks}: {BARREN} shards in a row without a draft; drafts are of training graphs "
                        f"(split=train) outside the suite that {settings.source} answers"
                    )
                found += count
                yield count
            if found >= n:
                return
    finally:
        pool.stop()
        pool.join()


def shard(path: Path, settings: Settings, suite: frozenset[str], number: int) -> tuple[int, bool]:
    """Make one shard's file, unless it is there; its rows, and whether tasks come behind it. Runs in a worker."""
    disable_progress_bars()
    if path.exists():
        return parquet.read_metadata(path).num_rows, True
    drawing = Drawing(settings.tasks, settings.seed, settings.styles, settings.canonical)
    rows: list[dict[str, object]] = []
    more = True
    for at in range(number * CHUNKS, (number + 1) * CHUNKS):
        items = drawing.chunk(at)
        if items is None:
            more = False
            break
        rows += (row for item in items for row in _rows(item.task, settings.source, suite))
    if rows:
        partial = path.with_suffix(".partial")
        with said(path):
            Dataset.from_list(rows, features=FEATURES).to_parquet(partial)
            partial.rename(path)
    return len(rows), more


def _rows(task: Task, names: str, suite: frozenset[str]) -> Iterator[dict[str, object]]:
    """The drafts of a task, one of each source that answers; none where it may not be trained on."""
    if task.graph is not None and split_of(task) != "train":
        return
    trace = traced.trace(task)
    form = traced_form.form(trace) if trace else ""
    if split_of(task, form) != "train" or of_suite(task, form, suite):
        return
    for name in names.split(","):
        answer = _answer(name, task)
        if answer is not None:
            yield {
                "prompt": messages(task, "bare"),
                "traced": messages(task, "traced"),
                "completion": [{"role": "assistant", "content": render_completion(answer.plan, answer.source)}],
                "task": task.id,
                "graph": task.graph or form or task.source,
                "form": form,
                "level": task.level,
            }


def _answer(name: str, task: Task) -> Pair | None:
    try:
        given = source(name)(task)
    except Exception:  # a source's own fault: the other tasks go on
        log.warning("%s fails on %s", name, task.id, exc_info=True)
        return None
    return given if isinstance(given, Pair) else None
