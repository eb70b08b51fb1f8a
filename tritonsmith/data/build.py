"""`tritonsmith data build`: tasks x sources -> verified pairs, deduplicated and split, as a data set.

Draws, converts and judges in many processes at once and puts each task that is done on the disk before the next; a
call after kill -9, or with a larger number, goes on from there. What becomes a row is `choose`'s matter, what is written
`export`'s.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from dataclasses import dataclass, field
from pathlib import Path

from pebble import ProcessExpired

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data import export
from tritonsmith.data.census import Census
from tritonsmith.data.draw import Drawing
from tritonsmith.data.pairs import Row, read_pairs, row, verified_pairs, write_pairs
from tritonsmith.data.sources import source
from tritonsmith.data.store import Answer, Item, Made, Settings, Store, Survey
from tritonsmith.data.survey import forms
from tritonsmith.data.workers import Workers, workers
from tritonsmith.errors import UserError
from tritonsmith.progress import bar
from tritonsmith.tasks.format import load_spec

__all__ = ["Row", "build", "read_pairs", "row", "verified_pairs", "write_pairs"]

log = logging.getLogger(__name__)

BARREN = 40
"""Chunks without a new graph, or without a row, after which a generator is taken to have no more."""


def build(
    out: Path,
    n: int | None,
    *,
    tasks: str = "graphs",
    sources: Sequence[str] = ("inductor", "templates"),
    seed: int = 0,
    styles: int = 1,
    contrastive: bool = False,
    processes: int | None = None,
    verify: VerifyConfig | None = None,
) -> Census:
    """Make `n` verified pairs, or all that `tasks` gives, and write them below `out`; returns what they are made of.

    `tasks` is a SPEC; a generator's may go without a number. Pairs hold at other sizes and in half precision too
    (extension 1 is on). Raises UserError for what the user must mend, a full disk included.
    """
    for name in sources:
        source(name)
    settings = Settings(tasks=tasks, seed=seed, styles=styles, sources=list(sources), contrastive=contrastive)
    judged = verify or VerifyConfig(device="cpu", timing=False)
    width = processes or os.cpu_count() or 1
    suite = frozenset(forms(load_spec("suite"))) - {""}
    with Store(out) as store:
        store.agree(settings)
        with workers(width, judged, ExtensionsConfig(multi_input=True), contrastive) as pools:
            _Builder(store, settings, pools, suite, width).run(n)
        return export.export(store, settings, suite, n)


@dataclass
class _Asked:
    """A task on its way through the sources: first all at once, and one by one where that brought a process down."""

    item: Item
    names: list[str]
    left: list[str] = field(default_factory=list)
    survey: Survey = field(default_factory=Survey)
    answers: list[Answer] = field(default_factory=list)


@dataclass
class _Judged:
    """A task on its way through the verifier: likewise."""

    item: Item
    survey: Survey
    answers: list[Answer]
    left: list[Answer] = field(default_factory=list)
    told: list[Answer] = field(default_factory=list)


@dataclass
class _Builder:
    """One call's work: what is under way, and what is next."""

    store: Store
    settings: Settings
    pools: Workers
    suite: frozenset[str]
    width: int
    """Processes of each kind."""
    exhausted: bool = False
    """Whether there are no more tasks."""
    _barren: int = 0
    """Chunks since the last right answer."""
    _chunk: int = 0
    """The next chunk to be drawn."""
    _graphs: set[str] = field(default_factory=set)
    _drawing: "deque[tuple[int, Future[list[Item] | None]]]" = field(default_factory=deque)
    _waiting: deque[Item] = field(default_factory=deque)
    _asked: "dict[Future[tuple[Survey, list[Answer]]], _Asked]" = field(default_factory=dict)
    _judged: "dict[Future[list[Answer]], _Judged]" = field(default_factory=dict)

    def run(self, n: int | None) -> None:
        """Make pairs until there are `n` rows, or no more tasks."""
        found = export.count(self.store, self.suite)
        with bar("pairs", n or self._most()) as advance:
            advance(found)
            while not self.exhausted and (n is None or found < n):
                self._make(None if n is None else n - found, advance)
                if n is not None:
                    found = export.count(self.store, self.suite)

    def _most(self) -> int:
        """How many pairs there can be of tasks that are named."""
        if (tasks := Drawing(self.settings.tasks, styles=self.settings.styles).most()) is None:
            raise UserError(f"{self.settings.tasks} has no end: say how many pairs with --n")
        return tasks * len(self.settings.sources)

    def _make(self, wanted: int | None, advance: Callable[[int], None]) -> None:
        """Make that many right answers, and finish what is begun by then: what is done is a beginning of all tasks."""
        right = 0
        while True:
            if wanted is None or right < wanted:
                self._fill()
            pending = [*self._asked, *self._judged]
            if self._drawing and (wanted is None or right < wanted):
                pending.append(self._drawing[0][1])
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                if future in self._asked:
                    self._told(self._asked.pop(future), future)
                elif future in self._judged:
                    fresh = self._verdicts(self._judged.pop(future), future)
                    right += fresh
                    advance(fresh)
            self._drawn()

    # Drawing.

    def _fill(self) -> None:
        """Keep the processes busy."""
        while not self.exhausted and len(self._drawing) < self.width and len(self._waiting) < 2 * self.width:
            self._draw()
        while self._waiting and len(self._asked) < 2 * self.width and len(self._judged) < 3 * self.width:
            self._ask(_Asked(self._waiting.popleft(), self.settings.sources))

    def _draw(self) -> None:
        """Have the next chunk drawn that is not done already."""
        number, self._chunk = self._chunk, self._chunk + 1
        tasks, made = self.store.read(number)
        if tasks is not None and tasks == len(made):
            self._graphs |= {one.item.task.graph for one in made if one.item.task.graph}
            return
        drawing = Drawing(self.settings.tasks, self.settings.seed, self.settings.styles)
        self._drawing.append((number, self.pools.draw(drawing, number)))

    def _drawn(self) -> None:
        """Take the chunks that are drawn, in their order, without the graphs that there are."""
        while self._drawing and self._drawing[0][1].done():
            number, future = self._drawing.popleft()
            try:
                items = future.result()
            except (TimeoutError, ProcessExpired) as error:
                log.warning("chunk %d of %s cannot be drawn: %s", number, self.settings.tasks, _why(error))
                continue
            self._barren += 1
            if items is None or self._barren > BARREN:
                if items is not None:
                    log.warning("%s: %d chunks in a row have given no pair", self.settings.tasks, BARREN)
                self.exhausted = True
                self._drawing.clear()
                return
            fresh = [item for item in items if item.task.graph is None or item.task.graph not in self._graphs]
            self._graphs |= {item.task.graph for item in fresh if item.task.graph}
            tasks, made = self.store.read(number)
            if tasks != len(fresh):
                self.store.announce(number, len(fresh))
            done = {one.item.key for one in made}
            self._waiting.extend(item for item in fresh if item.key not in done)

    # Asking the sources.

    def _ask(self, asked: _Asked) -> None:
        self._asked[self.pools.convert(asked.item.task, asked.names)] = asked

    def _told(self, asked: _Asked, future: "Future[tuple[Survey, list[Answer]]]") -> None:
        try:
            asked.survey, answers = future.result()
            asked.answers += answers
        except (TimeoutError, ProcessExpired) as error:
            if len(asked.names) > 1:
                asked.left = asked.names + asked.left
            else:
                asked.answers.append(Answer(source=asked.names[0], kind="failed", reason=_why(error)))
        if asked.left:
            asked.names, asked.left = asked.left[:1], asked.left[1:]
            self._ask(asked)
        else:
            self._judge(_Judged(asked.item, asked.survey, asked.answers))

    # Judging.

    def _judge(self, judged: _Judged) -> None:
        self._judged[self.pools.judge(judged.item, judged.answers)] = judged

    def _verdicts(self, judged: _Judged, future: "Future[list[Answer]]") -> int:
        """Take the verdicts on a task; gives how many answers are right once it is done."""
        try:
            judged.told += future.result()
        except (TimeoutError, ProcessExpired) as error:
            if len(judged.answers) > 1:
                judged.left = judged.answers + judged.left
            else:
                failed = {"kind": "failed", "reason": f"while it was judged: {_why(error)}"}
                judged.told.append(judged.answers[0].model_copy(update=failed))
        if judged.left:
            judged.answers, judged.left = judged.left[:1], judged.left[1:]
            self._judge(judged)
            return 0
        self.store.keep(Made(item=judged.item, survey=judged.survey, answers=judged.told))
        right = sum(answer.verdict is not None and answer.verdict.correct for answer in judged.told)
        self._barren = 0 if right else self._barren
        return right


def _why(error: TimeoutError | ProcessExpired) -> str:
    if isinstance(error, ProcessExpired):
        return f"its process died (exit code {error.exitcode})"
    return "its process did not end in time"
