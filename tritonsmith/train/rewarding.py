"""The verifier as TRL's reward function: completions in, scores out, everything on record.

A batch may be handed in completion by completion as it is drawn (`begin`), and asked for when it is wanted. How
rewards become advantages is in `advantages`; which tasks come next is in `order`.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from tritonsmith import jsonl, metrics, reward
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import Judge, read
from tritonsmith.extract import extract
from tritonsmith.train import ranks
from tritonsmith.train.judging import Judging
from tritonsmith.types import Candidate, Record, Task, Verdict

Conversation = list[dict[str, str]]


class Batch:
    """Completions on their way to a verdict; made by `KernelReward.begin`."""

    def __init__(self, reward: "KernelReward", tasks: Sequence[str], step: int, before: "Batch | None") -> None:
        self._reward, self._tasks, self.step = reward, tasks, step
        self._samples = _numbered(tasks, reward.first)
        self._candidates: dict[int, Candidate] = {}
        self._known: dict[int, Verdict] = {}
        self._places: list[int] = []
        """By number of the judging, the place in the batch."""
        self._found: tuple[list[Verdict | None], list[Candidate]] | None = None
        earlier = before.judging if before is not None else None
        self.judging = Judging(reward.verifier, reward.workers, earlier, self._settle)

    def add(self, place: int, text: str) -> None:
        """Hand in one completion: the one at a place of the batch."""
        source = extract(text).source
        candidate = Candidate(task=self._tasks[place], sample=self._samples[place], source=source, completion=text)
        self._candidates[place] = candidate
        known = self._reward.known(candidate)
        if known is not None:
            self._known[place] = known
            self._reward.settle(candidate, known, self.step)
            return
        self._places.append(place)
        self.judging.submit(self._reward.tasks[candidate.task], candidate)

    @property
    def settled(self) -> bool:
        """Whether the verdicts have been waited for."""
        return self._found is not None

    def found(self) -> tuple[list[Verdict | None], list[Candidate]]:
        """Wait for the verdicts; None where the verifier failed. The same each time."""
        if self._found is None:
            self.judging.close()
            fresh = dict(zip(self._places, self.judging.verdicts(), strict=True))
            places = range(len(self._tasks))
            verdicts = [self._known.get(place) or fresh.get(place) for place in places]
            self._found = verdicts, [self._candidates[place] for place in places]
        return self._found

    def _settle(self, number: int, verdict: Verdict) -> None:
        self._reward.settle(self._candidates[self._places[number]], verdict, self.step)


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
        self.workers = workers or os.cpu_count() or 1
        self.keep = keep or partial(jsonl.append, records)
        self.first = 0
        """How many completions of a batch's first task lie with the processes before this one."""
        self.due: Batch | None = None
        """What the next call is about, where it was begun before."""
        self.last: list[Verdict] = []
        """Of the completions scored last, in their order."""
        self.sources: list[str | None] = []
        """Of the same completions."""
        self._verdicts: dict[tuple[str, str | None], Verdict] = {}
        self._written: set[tuple[int, str, int, str]] = set()
        self._writing = threading.Lock()
        self._observed: Batch | None = None
        for record in read(records):
            self._verdicts[record.task, record.source] = record.verdict
            self._written.add((record.step, record.task, record.sample, record.completion))

    def begin(self, tasks: Sequence[str], step: int, before: Batch | None = None) -> Batch:
        """A batch of one completion for each of `tasks`, which come in groups; judged after the batch `before`."""
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
        """Score one completion each; also logs the correct rate and what the curriculum makes of it."""
        batch, self.due = self.due, None
        if batch is None:
            batch = self.begin(task, int(getattr(trainer_state, "global_step", 0)))
            for place, completion in enumerate(completions):
                batch.add(place, completion[0]["content"])
        verdicts, candidates = batch.found()
        judged = [(one, verdict) for one, verdict in zip(candidates, verdicts, strict=True) if verdict is not None]
        everywhere = self._correct(judged)
        if batch is not self._observed:
            self._observe(everywhere)
            self._observed = batch
        log_metric("correct", fmean(right for _, right in everywhere))
        if speedups := [reward.speedup(verdict) for _, verdict in judged if verdict.correct and verdict.speedup]:
            log_metric("speedup", metrics.geometric_mean(speedups))
        for name, value in self.curriculum.metrics().items():
            log_metric(name, value)
        self.sources = [candidate.source for candidate in candidates]
        self.last = [verdict or _unjudged(one) for one, verdict in zip(candidates, verdicts, strict=True)]
        return [None if verdict is None else self.score(verdict) for verdict in verdicts]

    def known(self, candidate: Candidate) -> Verdict | None:
        """The verdict on the same source for the same task, if there is one already."""
        verdict = self._verdicts.get((candidate.task, candidate.source))
        return None if verdict is None else verdict.model_copy(update={"sample": candidate.sample})

    def settle(self, candidate: Candidate, verdict: Verdict, step: int) -> None:
        """Keep a verdict, and write its record if it is not there."""
        self._verdicts[candidate.task, candidate.source] = verdict
        completion = candidate.completion or ""
        key = (step, candidate.task, candidate.sample, completion)
        with self._writing:
            if key in self._written:
                return
            self._written.add(key)
            record = Record(
                phase="grpo",
                step=step,
                task=candidate.task,
                level=self.tasks[candidate.task].level,
                sample=candidate.sample,
                completion=completion,
                source=candidate.source,
                verdict=verdict,
            )
            self.keep(record.model_dump_json())

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


def _numbered(tasks: Sequence[str], first: int) -> list[int]:
    """Which of its task's completions each one is, where `first` of the first task's are elsewhere."""
    seen: defaultdict[str, int] = defaultdict(int, {tasks[0]: first})
    numbers = []
    for task in tasks:
        numbers.append(seen[task])
        seen[task] += 1
    return numbers


def _unjudged(candidate: Candidate) -> Verdict:
    return Verdict(task=candidate.task, sample=candidate.sample, device="cpu", target="", policy="strict")
