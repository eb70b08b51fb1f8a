"""Which of the verified answers become rows: no graph twice, no kernel under two graphs, nothing of the suite.

Goes through the tasks in their order, so the same answers always give the same rows, and a larger build holds the
smaller one's. `leaks` checks the outcome by itself. Does not write: see `export`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tritonsmith.data.rows import ContrastiveRow, PairRow, Split, Summary
from tritonsmith.data.split import split_of
from tritonsmith.data.store import Answer, Made
from tritonsmith.data.suite import of_suite
from tritonsmith.prompts import messages, render_completion
from tritonsmith.types import Verdict
from tritonsmith.verify.cache import MACHINE


@dataclass
class Chooser:
    """Takes the tasks in order; knows what was chosen before."""

    suite: frozenset[str] = frozenset()
    """Canonical forms that may not be trained on."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Right answers that were left out, by why."""
    _splits: dict[str, Split] = field(default_factory=dict)
    """By canonical form: the split of the graph that came first."""
    _programs: dict[str, str] = field(default_factory=dict)
    """By program: the graph that it first answered."""
    _pairs: set[tuple[str, str]] = field(default_factory=set)
    """Writings with the programs that answer them."""

    def chosen(self, made: Made) -> list[Answer]:
        """The right answers to a task that become rows."""
        rows: list[Answer] = []
        graph, shape = identity(made), made.survey.form
        for answer in made.answers:
            if answer.planted or answer.verdict is None or not answer.verdict.correct:
                continue
            if why := self._against(made, graph, shape, answer.program):
                self.dropped[why] += 1
            else:
                rows.append(answer)
        return rows

    def elsewhere(self, made: Made) -> bool:
        """Whether an equal computation is in another split than a task's own."""
        own = split(made)
        return self._splits.get(made.survey.form or identity(made), own) != own

    def _against(self, made: Made, graph: str, shape: str, program: str) -> str:
        writing, own = made.survey.writing, split(made)
        if of_suite(made.item.task, shape, self.suite):
            return "the task is one of the suite"
        if self._splits.setdefault(shape or graph, own) != own:
            return "an equal computation is in another split"
        if self._programs.setdefault(program, graph) != graph:
            return "the kernel answers another graph"
        if (writing, program) in self._pairs:
            return "the same pair twice"
        self._pairs.add((writing, program))
        return ""


def identity(made: Made) -> str:
    """What makes a task's graph the same in every writing: the generator's graph, the traced form, or the text."""
    return made.item.task.graph or made.survey.form or made.item.task.source


def split(made: Made) -> Split:
    """The split of a task."""
    return split_of(made.item.task, made.survey.form)


def row(made: Made, answer: Answer) -> PairRow:
    """The row of an answer."""
    task = made.item.task
    if answer.verdict is None:
        raise ValueError(f"{task.id}: an answer without a verdict is no row")
    return PairRow(
        prompt=messages(task, "bare"),
        completion=[{"role": "assistant", "content": render_completion(answer.plan, answer.code)}],
        task=task.id,
        graph=identity(made),
        level=task.level,
        depth=made.survey.depth,
        family=made.survey.family,
        operators=made.survey.operators,
        style=made.item.style,
        source=answer.source,
        plan=answer.plan,
        kernel=answer.code,
        module=task.source,
        split=split(made),
        form=made.survey.form,
        verdict=Summary.of(answer.verdict),
    )


def contrastive_rows(made: Made) -> list[ContrastiveRow]:
    """The rows of a task's wrong candidates; those that only the machine was against are none."""
    return [
        ContrastiveRow(**dict(row(made, answer)), planted=answer.planted, right=answer.right)
        for answer in made.answers
        if answer.verdict is not None and _is_wrong(answer.verdict)
    ]


def _is_wrong(verdict: Verdict) -> bool:
    return not verdict.correct and not any(finding.rule in MACHINE for finding in verdict.findings)


@dataclass(frozen=True)
class Leaks:
    """What splits have in common, counted over the rows themselves; all zero, or the data set is not to be used."""

    graphs: int
    """Graphs that are in more than one split."""
    kernels: int
    """Kernels likewise, normalised: comments, spacing and blank lines do not count."""
    modules: int
    """Tasks' sources likewise."""
    suite: int
    """Rows whose task is one of the built-in suite by its traced form."""


def leaks(rows: Iterable[tuple[Split, str, str, str, bool]]) -> Leaks:
    """Count over (split, graph, normalised kernel, normalised module, in the suite)."""
    places: tuple[defaultdict[str, set[Split]], ...] = (defaultdict(set), defaultdict(set), defaultdict(set))
    suite = 0
    for where, *keys, known in rows:
        suite += bool(known)
        for place, key in zip(places, keys, strict=True):
            place[str(key)].add(where)
    graphs, kernels, modules = (sum(len(found) > 1 for found in place.values()) for place in places)
    return Leaks(graphs, kernels, modules, suite)
