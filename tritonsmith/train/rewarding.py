"""The verifier as TRL's reward function: completions in, scores out, everything on record.

How rewards become advantages is in `advantages`; which tasks come next is in `order`.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from tritonsmith import jsonl
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import Judge, read
from tritonsmith.extract import extract
from tritonsmith.types import Candidate, Record, Task, Verdict

Conversation = list[dict[str, str]]


class KernelReward:
    """TRL's reward function: extract, judge, score, keep a record. One instance serves one run.

    A verdict that `records` (JSONL) holds already is not asked for again; a candidate that a resumed run draws a
    second time at the same step is not written a second time. Time limits are the verifier's.
    """

    __name__ = "kernel_reward"

    def __init__(
        self,
        tasks: Sequence[Task],
        verifier: Judge,
        records: Path,
        curriculum: Curriculum,
        score: Callable[[Verdict], float],
    ) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.verifier = verifier
        self.records = records
        self.curriculum = curriculum
        self.score = score
        self.verdicts: dict[tuple[str, str | None], Verdict] = {}
        self.last: list[Verdict] = []
        """Of the completions scored last, in their order."""
        self.sources: list[str | None] = []
        """Of the same completions."""
        self.written: set[tuple[int, str, int, str]] = set()
        for record in read(records):
            self.verdicts[record.task, record.source] = record.verdict
            self.written.add((record.step, record.task, record.sample, record.completion))

    def __call__(
        self,
        prompts: Sequence[Conversation],
        completions: Sequence[Conversation],
        task: Sequence[str],
        trainer_state: object,
        log_metric: Callable[[str, float], None],
        **_: object,
    ) -> list[float]:
        """Score one completion each; also logs the correct rate and what the curriculum makes of it."""
        step = int(getattr(trainer_state, "global_step", 0))
        candidates = _candidates(task, completions)
        verdicts = self._judge(candidates, step)
        self.last, self.sources = verdicts, [candidate.source for candidate in candidates]
        rates: defaultdict[int, list[float]] = defaultdict(list)
        for candidate, verdict in zip(candidates, verdicts, strict=True):
            rates[self.curriculum.level(self.tasks[candidate.task].level)].append(float(verdict.correct))
        for level, values in sorted(rates.items()):
            self.curriculum.observe(level, fmean(values))
        log_metric("correct", fmean(float(verdict.correct) for verdict in verdicts))
        for name, value in self.curriculum.metrics().items():
            log_metric(name, value)
        return [self.score(verdict) for verdict in verdicts]

    def _judge(self, candidates: Sequence[Candidate], step: int) -> list[Verdict]:
        verdicts: dict[int, Verdict] = {}

        def settle(index: int, verdict: Verdict) -> None:
            candidate = candidates[index]
            self.verdicts[candidate.task, candidate.source] = verdict
            verdicts[index] = verdict.model_copy(update={"sample": candidate.sample})
            self._write(candidate, verdicts[index], step)

        missing = []
        for index, candidate in enumerate(candidates):
            known = self.verdicts.get((candidate.task, candidate.source))
            if known is None:
                missing.append(index)
            else:
                settle(index, known)
        jobs = [(self.tasks[candidates[index].task], candidates[index]) for index in missing]
        self.verifier.verify_many(jobs, lambda i, verdict: settle(missing[i], verdict))
        return [verdicts[index] for index in range(len(candidates))]

    def _write(self, candidate: Candidate, verdict: Verdict, step: int) -> None:
        completion = candidate.completion or ""
        key = (step, candidate.task, candidate.sample, completion)
        if key in self.written:
            return
        self.written.add(key)
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
        jsonl.append(self.records, record.model_dump_json())


def _candidates(tasks: Sequence[str], completions: Sequence[Conversation]) -> list[Candidate]:
    """Number the completions of each task and extract their code."""
    seen: defaultdict[str, int] = defaultdict(int)
    candidates = []
    for task, completion in zip(tasks, completions, strict=True):
        text = completion[0]["content"]
        candidates.append(Candidate(task=task, sample=seen[task], source=extract(text).source, completion=text))
        seen[task] += 1
    return candidates
