"""The verifier as TRL's reward function: completions in, scores out, everything on record.

A batch may be handed in completion by completion as it is drawn (`begin`), and asked for when it is wanted. Where
completions have turns, a conversation's are neighbours, and those that were not taken have no verdict. How rewards
become advantages is in `advantages`; which tasks come next is in `order`; how turns are drawn in `conversing`.
"""

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from tritonsmith import credit, jsonl, metrics, reward
from tritonsmith.config import VerifyConfig
from tritonsmith.cores import cores
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import Judge, read, recorded
from tritonsmith.extract import extract
from tritonsmith.train import ranks
from tritonsmith.train.judging import Judging
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.cache import lasting

Conversation = list[dict[str, str]]

_Key = tuple[int, str, int, int, str]
"""Step, task, sample, turn and completion: a record that is written once."""

BITS = 18
"""Of a score: float32, which has 24, adds up 64 equal ones without rounding."""


class Batch:
    """Completions on their way to a verdict; made by `KernelReward.begin`."""

    def __init__(self, reward: "KernelReward", tasks: Sequence[str], step: int, before: "Batch | None") -> None:
        self._reward, self._tasks, self.step = reward, tasks, step
        self._samples = _numbered(tasks[:: reward.turns], reward.first)
        self._candidates: dict[int, Candidate] = {}
        self._known: dict[int, Verdict] = {}
        """By place."""
        self._found: tuple[list[Verdict | None], list[Candidate | None]] | None = None
        self._before = before._judging if before is not None else None
        self._earlier: list[Judging] = []
        """Of what was waited for."""
        self._begin()

    def add(self, place: int, text: str) -> None:
        """Hand in one completion: the one at a place of the batch."""
        source, sample = extract(text).source, self._samples[place // self._reward.turns]
        candidate = Candidate(task=self._tasks[place], sample=sample, source=source, completion=text)
        self._candidates[place] = candidate
        known = self._reward.known(candidate, self.step, self._turn(place))
        if known is not None:
            self._known[place] = known
            self._reward.settle(candidate, known, self.step, self._turn(place))
            return
        self._places.append(place)
        self._judging.submit(self._reward.tasks[candidate.task], candidate)

    def heard(self) -> dict[int, Verdict]:
        """Wait for the verdicts on what was handed in so far, and go on: those there are, by place."""
        self._wait()
        self._earlier.append(self._judging)
        self._begin()
        return dict(self._known)

    def close(self) -> None:
        """Say that nothing more is handed in."""
        self._judging.close()

    def stop(self) -> None:
        """Give the batch up."""
        self._judging.stop()

    @property
    def seconds(self) -> float:
        """How long it was judged (`Judging.seconds`)."""
        return sum(one.seconds for one in [*self._earlier, self._judging])

    @property
    def settled(self) -> bool:
        """Whether the verdicts have been waited for."""
        return self._found is not None

    def found(self) -> tuple[list[Verdict | None], list[Candidate | None]]:
        """Wait for the verdicts; None where the verifier failed or nothing was handed in. The same each time."""
        if self._found is None:
            self._wait()
            places = range(len(self._tasks))
            self._found = [self._known.get(one) for one in places], [self._candidates.get(one) for one in places]
        return self._found

    def _begin(self) -> None:
        self._places: list[int] = []
        """By number of the judging, the place in the batch."""
        own = self._reward
        self._judging = Judging(
            own.verifier, own.workers, self._before, partial(self._settle, self._places), own.timeout
        )

    def _wait(self) -> None:
        self._judging.close()
        fresh = self._judging.verdicts(needed=not self._known)
        self._known |= {place: one for place, one in zip(self._places, fresh, strict=True) if one is not None}

    def _settle(self, places: Sequence[int], number: int, verdict: Verdict) -> None:
        place = places[number]
        self._reward.settle(self._candidates[place], verdict, self.step, self._turn(place))

    def _turn(self, place: int) -> int:
        return place % self._reward.turns + 1


class KernelReward:
    """TRL's reward function: extract, judge, score, keep a record. One instance serves one run.

    A verdict that `records` (JSONL) holds already is not asked for again; a candidate that a resumed run draws a
    second time at the same step is not written a second time. Time limits are the verifier's; what it fails to judge
    has no score, which TRL leaves out.
    """

    __name__ = "kernel_reward"

    def __init__(
        self,
        tasks: Sequence[Task],
        verifier: Judge,
        records: Path,
        curriculum: Curriculum,
        score: Callable[[Verdict], float],
        workers: int | None = None,
        keep: Callable[[str], None] | None = None,
    ) -> None:
        """`workers` is how many candidates the verifier judges at once: the number of cores where not given. `keep`
        adds a line to `records`, where this process must not do so itself.
        """
        self.tasks = {task.id: task for task in tasks}
        self.verifier = verifier
        self.records = records
        self.curriculum = curriculum
        self.score = score
        self.workers = workers or cores()
        self.keep = keep or partial(jsonl.append, records)
        self.timeout = VerifyConfig().seconds()
        """The verifier's, in seconds for one candidate."""
        self.turns = 1
        """How many turns a conversation may have: so many neighbours of a batch are one."""
        self.first = 0
        """How many conversations of a batch's first task lie with the processes before this one."""
        self.due: Batch | None = None
        """What the next call is about, where it was begun before."""
        self.last: list[Verdict] = []
        """Of the completions scored last, in their order."""
        self.sources: list[str | None] = []
        """Of the same completions."""
        self.unjudged: set[int] = set()
        """Places of the same completions that have no verdict: the verifier failed, or the turn was not taken."""
        self._verdicts: dict[tuple[str, str | None], Verdict] = {}
        self._written: dict[_Key, Verdict] = {}
        self._writing = threading.Lock()
        self._observed: Batch | None = None
        for record in read(records, tasks):
            self._verdicts[record.task, record.source] = record.verdict
            self._written[record.step, record.task, record.sample, record.turn, record.completion] = record.verdict

    def begin(self, tasks: Sequence[str], step: int, before: Batch | None = None) -> Batch:
        """A batch of one completion for each of `tasks`, which come in groups; judged after the batch `before`.

        Each task comes once for every turn that its conversation may have.
        """
        return Batch(self, tasks, step, before)

    def __call__(
        self,
        prompts: Sequence[Conversation],
        completions: Sequence[Conversation],
        task: Sequence[str],
        trainer_state: object,
        log_metric: Callable[[str, float], None],
        **_: object,
    ) -> list[float | None]:
        """Score one completion each; also logs the correct rate and what the curriculum makes of it.

        Where there are turns, a score is what the turn is worth to its conversation (`credit.returns`), and None for a
        turn that was not taken; the curriculum goes by first turns.
        """
        batch, self.due = self.due, None
        if batch is None:
            batch = self.begin(task, int(getattr(trainer_state, "global_step", 0)))
            for place, completion in enumerate(completions):
                batch.add(place, completion[0]["content"])
        verdicts, candidates = batch.found()
        rows = list(zip(candidates, verdicts, strict=True))
        judged = [(one, verdict) for one, verdict in rows if one is not None and verdict is not None]
        first = rows[:: self.turns]
        everywhere = self._correct([(one, right) for one, right in first if one is not None and right is not None])
        if batch is not self._observed:
            self._observe(everywhere)
            self._observed = batch
        log_metric("correct", fmean(right for _, right in everywhere))
        if speedups := [reward.speedup(verdict) for _, verdict in judged if verdict.correct and verdict.speedup]:
            log_metric("speedup", metrics.geometric_mean(speedups))
        for name, value in self.curriculum.metrics().items():
            log_metric(name, value)
        self.sources = [None if candidate is None else candidate.source for candidate in candidates]
        self.last = [verdict or _unjudged(task[place], one) for place, (one, verdict) in enumerate(rows)]
        self.unjudged = {place for place, verdict in enumerate(verdicts) if verdict is None}
        scores = [None if verdict is None else self.score(verdict) for verdict in verdicts]
        if self.turns > 1:
            self._log_turns(verdicts, scores, log_metric)
        return [None if one is None else short(one) for one in credit.returns(scores, self.turns)]

    def known(self, candidate: Candidate, step: int, turn: int) -> Verdict | None:
        """The verdict on this very candidate, or on the same source for the same task, if there is one already.

        What a model is told in its next turn goes by the verdict: its own, lest a resumed run go another way.
        """
        verdict = self._written.get(_key(candidate, step, turn))
        if verdict is None:
            verdict = self._verdicts.get((candidate.task, candidate.source))
            if verdict is not None and not lasting(verdict):
                return None
        return None if verdict is None else verdict.model_copy(update={"sample": candidate.sample})

    def settle(self, candidate: Candidate, verdict: Verdict, step: int, turn: int = 1) -> None:
        """Keep a verdict, and write its record if it is not there."""
        self._verdicts[candidate.task, candidate.source] = verdict
        key = _key(candidate, step, turn)
        with self._writing:
            if key in self._written:
                return
            self._written[key] = verdict
            record = recorded(self.tasks[candidate.task], candidate, verdict, "grpo", step, turn)
            self.keep(record.model_dump_json())

    def _log_turns(
        self,
        verdicts: Sequence[Verdict | None],
        scores: Sequence[float | None],
        log_metric: Callable[[str, float], None],
    ) -> None:
        """Log each turn's share of conversations, and correct rate and reward of those; and what is correct at last."""
        for turn in range(self.turns):
            own = verdicts[turn :: self.turns]
            for verdict, score in zip(own, scores[turn :: self.turns], strict=True):
                log_metric(f"turn{turn + 1}/taken", float(verdict is not None))
                if verdict is not None and score is not None:
                    log_metric(f"turn{turn + 1}/correct", float(verdict.correct))
                    log_metric(f"turn{turn + 1}/reward", score)
        for start in range(0, len(verdicts), self.turns):
            some = verdicts[start : start + self.turns]
            log_metric("correct_at_last", float(any(one is not None and one.correct for one in some)))

    def _correct(self, judged: Sequence[tuple[Candidate, Verdict]]) -> list[tuple[int, float]]:
        """Level and correctness of each candidate that was judged, those of other processes included."""
        own = [(self.tasks[candidate.task].level, float(verdict.correct)) for candidate, verdict in judged]
        return [row for rows in ranks.gathered(own) for row in rows]

    def _observe(self, judged: Sequence[tuple[int, float]]) -> None:
        rates: defaultdict[int, list[float]] = defaultdict(list)
        for level, right in judged:
            rates[self.curriculum.level(level)].append(right)
        for level, values in sorted(rates.items()):
            self.curriculum.observe(level, fmean(values))


def short(score: float) -> float:
    """A score in `BITS` significant bits, so that equal ones of a group are no better than their mean: TRL would else
    divide what rounding leaves of the difference by a deviation as small."""
    mantissa, exponent = math.frexp(score)
    return math.ldexp(round(math.ldexp(mantissa, BITS)), exponent - BITS)


def _numbered(tasks: Sequence[str], first: int) -> list[int]:
    """Which of its task's completions each one is, where `first` of the first task's are elsewhere."""
    seen: defaultdict[str, int] = defaultdict(int, {tasks[0]: first})
    numbers = []
    for task in tasks:
        numbers.append(seen[task])
        seen[task] += 1
    return numbers


def _unjudged(task: str, candidate: Candidate | None) -> Verdict:
    sample = 0 if candidate is None else candidate.sample
    return Verdict(task=task, sample=sample, device="cpu", target="", policy="strict")


def _key(candidate: Candidate, step: int, turn: int) -> _Key:
    return step, candidate.task, candidate.sample, turn, candidate.completion or ""
