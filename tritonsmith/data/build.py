"""`tritonsmith data build`: tasks x sources -> verified pairs, deduplicated and split, as a data set.

Draws, converts and judges in many processes at once and puts each task that is done on the disk before the next; a
call after kill -9, or with a larger number, goes on from there. What becomes a row is `choose`'s matter, what is
written `export`'s.
"""

import hashlib
import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from dataclasses import dataclass, field
from itertools import islice, takewhile
from pathlib import Path

from pebble import ProcessExpired

from tritonsmith import jsonl
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.cores import cores
from tritonsmith.data import export
from tritonsmith.data.census import Census
from tritonsmith.data.draw import Drawing
from tritonsmith.data.sources import source
from tritonsmith.data.store import Answer, Item, Made, Settings, Store, Survey, said
from tritonsmith.data.survey import forms
from tritonsmith.data.workers import CONVERT_SECONDS, Workers, workers
from tritonsmith.errors import UserError
from tritonsmith.progress import bar
from tritonsmith.tasks.format import load_spec
from tritonsmith.tasks.traced_form import EDITION

log = logging.getLogger(__name__)

BARREN = 1000
"""Tasks in a row without a right answer, or tasks drawn without a new graph, after which a build gives up."""


def build(
    out: Path,
    n: int | None,
    *,
    tasks: str = "graphs",
    sources: Sequence[str] = ("inductor", "templates"),
    seed: int = 0,
    styles: int = 1,
    canonical: bool = False,
    contrastive: bool = False,
    processes: int | None = None,
    verify: VerifyConfig | None = None,
    extensions: ExtensionsConfig | None = None,
    convert_seconds: float = CONVERT_SECONDS,
    made: Callable[[int], object] | None = None,
) -> Census:
    """Make `n` verified pairs, or all that `tasks` gives, and write them below `out`; returns what they are made of.

    `tasks` is a SPEC; a generator's may go without a number. `sources` are names of `sources.SOURCES`, or
    `module:function`; with `canonical` tasks come in that form (`tasks.canonical`). Unless `verify` and
    `extensions` say otherwise, pairs are judged on the CPU under the strict policy, and hold at other sizes and in half
    precision too (extension 1). A source has `convert_seconds` for a task. `made` is told of right answers by their
    number, as they come. The caller's program needs a main guard.
    Raises UserError for what the user must mend, a full disk included.
    """
    for name in sources:
        source(name)
    judged = verify or VerifyConfig(device="cpu", timing=False)
    inputs = extensions or ExtensionsConfig(multi_input=True)
    settings = Settings(
        tasks=tasks,
        seed=seed,
        styles=styles,
        canonical=canonical,
        sources=list(sources),
        contrastive=contrastive,
        policy=judged.policy,
        target=judged.target,
        multi_input=inputs.multi_input,
        assembled=judged.assemble != "never",
    )
    width = processes or cores()
    total = n or _most(settings)
    with Store(out) as store:
        store.agree(settings)
        suite = _suite(store)
        builder = Builder(store, settings, suite, width)
        with bar("pairs", total) as advance:

            def told(right: int) -> None:
                advance(right)
                if made is not None:
                    made(right)

            if not builder.is_done(n):
                with workers(width, judged, inputs, contrastive, convert_seconds) as builder.pools:
                    builder.run(n, told)
        return export.export(store, settings, suite, n)


def _most(settings: Settings) -> int:
    """How many pairs there can be of tasks that come to an end."""
    if (tasks := Drawing(settings.tasks, styles=settings.styles).most()) is None:
        raise UserError(f"{settings.tasks} has no end: say how many pairs with --n")
    return tasks * len(settings.sources)


def _suite(store: Store) -> frozenset[str]:
    """The canonical forms of the built-in suite, which may not be trained on; traced once and kept."""
    tasks = load_spec("suite")
    digest = hashlib.sha256("\n".join([str(EDITION), *(task.source for task in tasks)]).encode()).hexdigest()
    path = store.out / "suite.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    if kept.get("digest") != digest:
        kept = {"digest": digest, "forms": forms(tasks)}
        with said(path):
            jsonl.write(path, json.dumps(kept))
    return frozenset(kept["forms"]) - {""}


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
class Builder:
    """One call's work: what is under way, and what is next. `build` is the way in; this is apart for the tests."""

    store: Store
    settings: Settings
    suite: frozenset[str]
    width: int
    """Processes of each kind."""
    pools: Workers | None = None
    found: int = 0
    """Rows, when they were last counted."""
    exhausted: bool = False
    """Whether there are no more tasks."""
    _done: tuple[int, int] = (-1, -1)
    """Chunk and place of the last task that was done when the call began."""
    _known: int = 0
    """Tasks drawn since the last new graph."""
    _wrong: int = 0
    """Tasks done since the last right answer."""
    _chunk: int = 0
    """The next chunk to be drawn."""
    _graphs: set[str] = field(default_factory=set)
    _drawing: "deque[tuple[int, Future[list[Item] | None] | None]]" = field(default_factory=deque)
    """Chunks in order; without a future where the chunk is done already."""
    _waiting: deque[Item] = field(default_factory=deque)
    _asked: "dict[Future[tuple[Survey, list[Answer]]], _Asked]" = field(default_factory=dict)
    _judged: "dict[Future[list[Answer]], _Judged]" = field(default_factory=dict)

    def is_done(self, n: int | None) -> bool:
        """Count what earlier calls have left; whether there are `n` rows, and no gap that a kill has left."""
        self.found, self._done = export.count(self.store, self.suite)
        last, place = self._done
        whole = sum(1 for _ in takewhile(self._is_whole, range(last + 1)))
        if whole > last or (whole == last and len(self.store.read(last)[1]) == place + 1):
            self._done = (-1, -1)  # everything is done from the beginning up to there: no gap
        return n is not None and self.found >= n and not self._behind()

    def run(self, n: int | None, advance: Callable[[int], None]) -> None:
        """Make pairs until there are `n` rows, or no more tasks."""
        advance(self.found)
        while not self.exhausted and (n is None or self.found < n or self._behind()):
            self._make(None if n is None else n - self.found, advance)
            self.found, _ = export.count(self.store, self.suite)

    def _make(self, wanted: int | None, advance: Callable[[int], None]) -> None:
        """Make that many right answers, and finish what is begun by then: what is done is a beginning of all tasks."""
        right = 0
        while True:
            pending = [*self._asked, *self._judged]
            if wanted is None or right < wanted or self._behind():
                self._fill()
                pending = [*self._asked, *self._judged, *(future for _, future in islice(self._drawing, 1) if future)]
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

    def _behind(self) -> bool:
        """Whether the next task comes before one that an earlier call has done, and a kill has left a gap."""
        if self._waiting:
            return (self._waiting[0].chunk, self._waiting[0].place) < self._done
        return ((self._drawing[0][0] if self._drawing else self._chunk), 0) < self._done

    @property
    def _pools(self) -> Workers:
        if self.pools is None:
            raise RuntimeError("the workers have not been started")
        return self.pools

    # Drawing.

    def _fill(self) -> None:
        """Keep the processes busy."""
        while not self.exhausted and len(self._drawing) < self.width and len(self._waiting) < 2 * self.width:
            self._draw()
            self._drawn()
        while self._waiting and len(self._asked) < 2 * self.width and len(self._judged) < 3 * self.width:
            self._ask(_Asked(self._waiting.popleft(), self.settings.sources))

    def _draw(self) -> None:
        """Have the next chunk drawn, unless it is done already."""
        number, self._chunk = self._chunk, self._chunk + 1
        drawing = Drawing(self.settings.tasks, self.settings.seed, self.settings.styles, self.settings.canonical)
        whole = self._is_whole(number)
        self._drawing.append((number, None if whole else self._pools.draw(drawing, number)))

    def _is_whole(self, chunk: int) -> bool:
        """Whether every task of a chunk is done."""
        tasks, made = self.store.read(chunk)
        return tasks is not None and tasks == len(made)

    def _drawn(self) -> None:
        """Take the chunks that are drawn, in their order, without the graphs that there are."""
        while self._drawing and ((future := self._drawing[0][1]) is None or future.done()):
            number, _ = self._drawing.popleft()
            if future is None:
                self._note(made.item for made in self.store.read(number)[1])
                continue
            try:
                items = future.result()
            except (TimeoutError, ProcessExpired) as error:
                log.warning("chunk %d of %s cannot be drawn: %s", number, self.settings.tasks, _why(error))
                continue
            if items is None:
                self._end()
                return
            fresh = [item for item in items if item.task.graph is None or item.task.graph not in self._graphs]
            fresh = [item.model_copy(update={"place": place}) for place, item in enumerate(fresh)]
            self._note(fresh)
            self._known = 0 if fresh else self._known + len(items)
            if self._known >= BARREN:
                log.warning("%s: the last %d tasks were all known", self.settings.tasks, self._known)
                self._end()
            tasks, made = self.store.read(number)
            if tasks != len(fresh):
                self.store.announce(number, len(fresh))
            done = {one.item.key for one in made}
            self._waiting.extend(item for item in fresh if item.key not in done)

    def _note(self, items: Iterable[Item]) -> None:
        self._graphs |= {item.task.graph for item in items if item.task.graph}

    def _end(self) -> None:
        """Take no more tasks."""
        self.exhausted = True
        self._drawing.clear()

    # Asking the sources.

    def _ask(self, asked: _Asked) -> None:
        self._asked[self._pools.convert(asked.item.task, asked.names)] = asked

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
        self._judged[self._pools.judge(judged.item, judged.answers)] = judged

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
        self._wrong = 0 if right else self._wrong + 1
        if self._wrong == BARREN:
            log.warning("no source has a right answer to any of the last %d tasks", BARREN)
            self._waiting.clear()
            self._end()
        return right


def _why(error: TimeoutError | ProcessExpired) -> str:
    if isinstance(error, ProcessExpired):
        return f"its process died (exit code {error.exitcode})"
    return "its process did not end in time"
