"""Pairs from a teacher behind an endpoint: what it writes is judged, and kept only if the verifier calls it correct.

`Teacher` asks for one task, as every source of answers does; `distill` asks for many side by side and judges while it
waits. Its folder holds `answers.jsonl` (all that the teacher wrote, right or wrong: it was paid for), `records.jsonl`
(the verdicts), `pairs.jsonl` (the rows that `sft.data` takes) and `settings.json` (whose they are). Killed at any
moment, the same call goes on.

Does not choose tasks, prompts or teachers, and does not split: `data.build` does.
"""

import fcntl
import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tritonsmith import evaluate, jsonl
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.data.split import told
from tritonsmith.data.store import agree
from tritonsmith.endpoint import Answer, Endpoint, EndpointError, Question
from tritonsmith.errors import UserError
from tritonsmith.extract import extract
from tritonsmith.progress import bar
from tritonsmith.prompts import Message, Style, messages, render_completion
from tritonsmith.types import Candidate, Record, Task, Verdict

Key = tuple[str, int]
"""Task id and sample."""

Kind = TypeVar("Kind", bound=BaseModel)

logger = logging.getLogger(__name__)


class Judges(Protocol):
    """The part of `verify.pool.Verifier` that is needed here."""

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """The verdicts in order; jobs are taken as there is room, `on_verdict(index, verdict)` called as each ends."""
        ...


@dataclass(frozen=True)
class Sampling:
    """How a teacher is asked."""

    samples: int = 1
    """Answers a task."""
    temperature: float = 0.8
    top_p: float = 1.0
    max_new_tokens: int = 4096
    seed: int = 0


class Settings(BaseModel):
    """What makes the answers and verdicts of two calls alike; tasks and samples may be added."""

    model_config = ConfigDict(extra="forbid")

    teacher: str
    asked: Style
    """The style of the teacher's prompts."""
    style: Style
    """That of the kept ones."""
    temperature: float
    top_p: float
    max_new_tokens: int
    seed: int
    policy: str
    target: str
    multi_input: bool
    """Whether answers were tried on other sizes, values and precisions (extension 1)."""


class Row(BaseModel):
    """One kept pair, in TRL's conversational prompt/completion form, with where it came from."""

    model_config = ConfigDict(extra="ignore")

    prompt: list[Message]
    completion: list[Message]
    """One message of the assistant: plan and kernel."""
    task: str
    graph: str
    """The task's canonical graph; empty where it has none."""
    level: int
    sample: int
    source: str = "distill"
    """Which source of answers it is from."""
    teacher: str
    """The teacher's name at its endpoint."""
    plan: str
    kernel: str


@dataclass
class Counts:
    """What became of a call."""

    wanted: int
    known: int
    """Answers that were on file."""
    asked: int = 0
    correct: int = 0
    kept: int = 0
    """Correct and not the same text as another kept one for the task."""
    tokens: int = 0
    """Spent by all calls on this folder."""


@dataclass(frozen=True)
class Teacher:
    """One answer a task, as `data.build` wants it from a source."""

    endpoint: Endpoint
    sampling: Sampling = Sampling()

    def __call__(self, task: Task) -> Pair | Miss:
        """Ask once. Raises EndpointError where the server does not answer."""
        for _, answer in self.endpoint.answers([_question(task, 0, self.endpoint, self.sampling)]):
            return pair(answer)
        return Miss("the endpoint failed")


def pair(answer: Answer) -> Pair | Miss:
    """Plan and source of an answer; the plan is the text before the code, or else what was thought."""
    found = extract(answer.text)
    if found.source is None:
        return Miss("cut at the limit of tokens" if answer.cut else "no code in the answer")
    plan = _plan(found.plan) or _plan(answer.reasoning)
    # A plan with code of its own may be taken for the answer; then the kernel goes alone.
    if extract(render_completion(plan, found.source)).source != found.source:
        plan = ""
    return Pair(plan, found.source)


def _plan(text: str) -> str:
    """The text outside of `<think>`, or what is inside where that is all."""
    outside = re.sub(r"<think>.*?(?:</think>|\Z)", "", text, flags=re.DOTALL).strip()
    return outside or re.sub(r"</?think>", "", text).strip()


def distill(
    tasks: Sequence[Task],
    endpoint: Endpoint,
    verifier: Judges,
    out: Path,
    sampling: Sampling = Sampling(),
    style: Style = "bare",
    *,
    verify: VerifyConfig | None = None,
    extensions: ExtensionsConfig | None = None,
) -> Counts:
    """Ask, judge and keep; `style` is that of the kept prompts, the teacher's own is `endpoint.prompt_style`.

    `verify` and `extensions` are what `verifier` judges by. The budget counts what was spent on this folder before.
    Raises EndpointError at once where no teacher is named and the server does not say its name, and where the server
    fails or the budget is spent, when every answer there is has been judged and kept; UserError where the folder was
    begun with another teacher or other settings, another process works on it, or it cannot be written.
    """
    judged, inputs = verify or VerifyConfig(), extensions or ExtensionsConfig()
    asked = {key: value for key, value in asdict(sampling).items() if key != "samples"}
    with _alone(out):
        settings = Settings(
            teacher=endpoint.name(),
            asked=endpoint.prompt_style,
            style=style,
            **asked,
            policy=judged.policy,
            target=judged.target,
            multi_input=inputs.multi_input,
        )
        begun = (out / "answers.jsonl").exists()
        agree(out, settings, "answers of another teacher or other settings", begun)
        return _Work(tasks, endpoint, out, sampling, settings).done(verifier)


class _Work:
    """One call on one folder."""

    def __init__(
        self, tasks: Sequence[Task], endpoint: Endpoint, out: Path, sampling: Sampling, settings: Settings
    ) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.endpoint, self.sampling = endpoint, sampling
        self.out, self.settings = out, settings
        self.wanted = [(task.id, sample) for task in tasks for sample in range(sampling.samples)]
        self.answers = dict(self._on_file())
        self.records = {(row.task, row.sample): row for row in _valid(out / "records.jsonl", Record)}
        self.kept = {(row.task, row.kernel) for row in read(out / "pairs.jsonl")}
        """What `pairs.jsonl` holds."""
        self.good: set[tuple[str, str]] = set()
        self.error: EndpointError | None = None
        self.counts = Counts(len(self.wanted), sum(key in self.answers for key in self.wanted))
        self.jobs: list[Key] = []
        """What is judged, in the order in which the verifier takes it."""

    def done(self, verifier: Judges) -> Counts:
        """Ask for what is missing and judge it."""
        with bar("distilling", len(self.wanted)) as advance:
            judged = [key for key in self.wanted if self._judged(key)]
            for key in judged:
                self._keep(self.records[key])
            advance(len(judged))

            def ended(index: int, verdict: Verdict) -> None:
                self._keep(self._record(self.jobs[index], verdict))
                advance(1)

            verifier.verify_many(self._candidates(), ended)
        self.counts.tokens = self.endpoint.budget.spent_tokens
        if self.error is not None:
            missing = sum(key not in self.answers for key in self.wanted)
            kept = f"{self.counts.kept} pairs of {len(self.wanted) - missing} answers are kept in {self.out}"
            raise type(self.error)(f"{self.error}; {kept}; the same command asks for the other {missing}")
        return self.counts

    def _candidates(self) -> Iterator[tuple[Task, Candidate]]:
        """First what is on file, then what comes in."""
        for key in self.wanted:
            if key in self.answers and not self._judged(key):
                yield self._candidate(key)
        missing = [key for key in self.wanted if key not in self.answers]
        questions = (_question(self.tasks[task], sample, self.endpoint, self.sampling) for task, sample in missing)

        def write(index: int, answer: Answer) -> None:
            task, sample = missing[index]
            row = {"task": task, "sample": sample, "of": _digest(self.tasks[task]), **vars(answer)}
            _append(self.out / "answers.jsonl", json.dumps(row))

        try:
            for index, answer in self.endpoint.answers(questions, write):
                self.answers[missing[index]] = answer
                self.counts.asked += 1
                yield self._candidate(missing[index])
        except EndpointError as error:  # told when what there is has been judged
            self.error = error

    def _candidate(self, key: Key) -> tuple[Task, Candidate]:
        self.jobs.append(key)
        task = self.tasks[key[0]]
        return task, evaluate.candidate(task, key[1], self.answers[key].text)

    def _judged(self, key: Key) -> bool:
        """Whether there is a verdict on this very answer."""
        record, answer = self.records.get(key), self.answers.get(key)
        return record is not None and answer is not None and record.completion == answer.text

    def _record(self, key: Key, verdict: Verdict) -> Record:
        task, text = self.tasks[key[0]], self.answers[key].text
        record = evaluate.recorded(task, evaluate.candidate(task, key[1], text), verdict, "distill")
        _append(self.out / "records.jsonl", record.model_dump_json())
        return record

    def _keep(self, record: Record) -> None:
        """Add the pair of a correct record, if it is not there yet."""
        if not record.verdict.correct:
            return
        self.counts.correct += 1
        task, answer = self.tasks[record.task], pair(self.answers[record.task, record.sample])
        if isinstance(answer, Miss):
            return
        self.good.add((task.id, answer.source))
        self.counts.kept = len(self.good)
        if (task.id, answer.source) in self.kept:
            return
        self.kept.add((task.id, answer.source))
        row = Row(
            prompt=messages(task, self.settings.style),
            completion=[{"role": "assistant", "content": render_completion(answer.plan, answer.source)}],
            task=task.id,
            graph=told(task),
            level=task.level,
            sample=record.sample,
            teacher=self.settings.teacher,
            plan=answer.plan,
            kernel=answer.source,
        )
        _append(self.out / "pairs.jsonl", row.model_dump_json())

    def _on_file(self) -> Iterator[tuple[Key, Answer]]:
        """Answers to these very tasks; all that is on file counts against the budget."""
        for stored in _valid(self.out / "answers.jsonl", _Stored):
            self.endpoint.budget.spent_requests += 1
            self.endpoint.budget.spent_tokens += stored.tokens
            task = self.tasks.get(stored.task)
            if task is not None and stored.of == _digest(task):
                answer = Answer(stored.text, stored.reasoning, stored.tokens, stored.cut)
                yield (stored.task, stored.sample), answer


class _Stored(BaseModel):
    """A line of `answers.jsonl`."""

    task: str
    sample: int
    of: str
    """Hash of the task's source."""
    text: str
    reasoning: str
    tokens: int
    cut: bool


def read(path: Path) -> list[Row]:
    """The rows of `pairs.jsonl`; empty where there is none."""
    return list(_valid(path, Row))


def _valid(path: Path, kind: type[Kind]) -> Iterator[Kind]:
    """The rows of a file; what is none is done again, and said."""
    corrupt = 0
    for fields in jsonl.read(path):
        try:
            yield kind.model_validate(fields)
        except ValidationError:
            corrupt += 1
    if corrupt:
        logger.warning("%s: %d corrupted rows are passed over and made again", path, corrupt)


def _question(task: Task, sample: int, endpoint: Endpoint, sampling: Sampling) -> Question:
    digest = hashlib.sha256(f"{sampling.seed} {sample} {task.id}".encode()).digest()
    return Question(
        messages(task, endpoint.prompt_style),
        sampling.temperature,
        sampling.top_p,
        sampling.max_new_tokens,
        int.from_bytes(digest[:4]) >> 1,
    )


def _digest(task: Task) -> str:
    return hashlib.sha256(task.source.encode()).hexdigest()[:16]


def _append(path: Path, line: str) -> None:
    try:
        jsonl.append(path, line)
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror}; what is there is kept, the same command goes on"
        ) from error


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Hold the folder; the kernel lets go of it whatever this process dies of."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        file = (out / ".lock").open("ab")
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"{out}: another process works there") from error
        yield
