"""Many candidates at once: a crew of zygotes and judges, and a thread for each candidate under way.

Threads suffice: a judge waits for its runner, for ptxas, or for torch, all of which let others run.
Candidates for one task that differ in form alone are judged once. What a dead zygote took with it is judged again.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

import torch

from tritonsmith.config import ConfigError, ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate, Finding, Task, Verdict
from tritonsmith.verify import cache, form
from tritonsmith.verify.compile import parse_target
from tritonsmith.verify.crew import Crew
from tritonsmith.verify.zygote import Zygote

Job = tuple[Task, Candidate]

_AHEAD = 16
"""Jobs that are taken from a stream before their turn, a worker: equal ones among them must not leave it idle."""


@dataclass
class _Group:
    """Jobs of one stream that are one program for one task."""

    source: str | None
    """The source that is judged; let go of afterwards, unless lines of it are to be told again."""
    waiting: list[tuple[int, Job]] = field(default_factory=list)
    verdict: str | None = None
    """The verdict when it is there: as JSON, a fraction of the memory."""


class _Groups:
    """The jobs of one stream by program, and those that wait for their verdict."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Group] = {}
        self.waiting = 0
        """Jobs whose verdict is not there yet."""

    def join(self, index: int, job: Job) -> tuple[_Group, bool]:
        """The group of a job, and whether it is the first of it."""
        task, candidate = job
        key = task.source, form.program(candidate.source)
        new = key not in self._known
        group = self._known.setdefault(key, _Group(candidate.source))
        group.waiting.append((index, job))
        self.waiting += 1
        return group, new

    def told(self, group: _Group) -> Iterator[tuple[int, Verdict]]:
        """The verdict to each that waits for it, with its own name and its own lines."""
        verdict = Verdict.model_validate_json(group.verdict or "")
        while group.waiting:
            index, (task, candidate) = group.waiting.pop(0)
            self.waiting -= 1
            told = form.retold(verdict, group.source or "", candidate.source or "")
            yield index, told.model_copy(update={"task": task.id, "sample": candidate.sample})
        if all(finding.line is None for finding in verdict.findings):
            group.source = None


class Verifier:
    """Judges candidates; use it as a context manager, or call `close`.

    `score` turns a verdict into its `reward` field, which stays 0 without it.
    """

    def __init__(
        self,
        settings: VerifyConfig,
        *,
        extensions: ExtensionsConfig | None = None,
        score: Callable[[Verdict], float] | None = None,
        beside: "Verifier | None" = None,
    ) -> None:
        """Start the zygotes, or take those of another verifier, which owns them and outlives this one."""
        try:
            parse_target(settings.target)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        self.device = choose_device(settings.device)
        self.workers = settings.workers or os.cpu_count() or 1
        self._settings, self._score = settings, score
        extensions = extensions or ExtensionsConfig()
        gpus = choose_gpus(settings.gpus) if self.device == "cuda" else 0
        self._cache: cache.Cache | None = None
        if settings.cache is not None:
            names = [torch.cuda.get_device_name(index) for index in range(gpus)]
            self._cache = cache.Cache(settings.cache, cache.circumstances(settings, extensions, self.device, names))
        self._renewing, self._retrying = threading.Lock(), threading.Lock()
        lender = beside._crew if beside is not None and beside.device == self.device else None
        self._lent = frozenset(lender.zygotes.values()) if lender is not None else frozenset[Zygote]()
        self._crew = Crew(settings, extensions, self.device, gpus, before=lender)

    def verify(self, task: Task, candidate: Candidate, began: float | None = None) -> Verdict:
        """Judge one candidate; `began` (time.monotonic seconds) counts against its time limit."""
        return self._verify(task, candidate, began, threading.Event())

    def verify_many(
        self, jobs: Iterable[Job], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """Judge candidates side by side; `on_verdict(index, verdict)` is called in this thread as each ends."""
        verdicts: dict[int, Verdict] = {}
        for index, verdict in self.stream(jobs):
            verdicts[index] = verdict
            if on_verdict is not None:
                on_verdict(index, verdict)
        return [verdicts[index] for index in range(len(verdicts))]

    def stream(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Verdict]]:
        """Judge candidates side by side; gives each one's place among the jobs and its verdict as it ends.

        Jobs are taken when there is room for them, so there may be any number of them. If the caller stops early, what
        is under way is killed.
        """
        groups, rest, stopped = _Groups(), enumerate(jobs), threading.Event()
        judging: dict[Future[Verdict], _Group] = {}
        with ThreadPoolExecutor(self.workers, thread_name_prefix="tritonsmith-judge") as threads:
            try:
                while True:
                    while groups.waiting < _AHEAD * self.workers and (item := next(rest, None)) is not None:
                        group, new = groups.join(*item)
                        if new:
                            judging[threads.submit(self._verify, *item[1], None, stopped)] = group
                        elif group.verdict is not None:
                            yield from groups.told(group)
                    if not judging:
                        return
                    for future in wait(judging, return_when=FIRST_COMPLETED).done:
                        group = judging.pop(future)
                        group.verdict = future.result().model_dump_json()
                        yield from groups.told(group)
            finally:
                if judging:
                    threads.shutdown(wait=False, cancel_futures=True)
                    self._stop(stopped)

    def close(self) -> None:
        """End the zygotes and every runner."""
        self._crew.close(self._lent)
        if self._cache is not None:
            self._cache.close()

    def __enter__(self) -> "Verifier":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _zygotes(self) -> dict[str, Zygote]:
        return self._living(threading.Event()).zygotes

    def _verify(self, task: Task, candidate: Candidate, began: float | None, stopped: threading.Event) -> Verdict:
        verdict = self._cache.get(task.source, candidate.source) if self._cache is not None else None
        if verdict is None:
            verdict = self._judge(task, candidate, began, stopped)
            if self._cache is not None:
                self._cache.put(task.source, candidate.source, verdict)
        verdict = verdict.model_copy(update={"task": task.id, "sample": candidate.sample})
        if self._score is not None:
            verdict.reward = self._score(verdict)
        return verdict

    def _judge(self, task: Task, candidate: Candidate, began: float | None, stopped: threading.Event) -> Verdict:
        verdict = self._try(task, candidate, began, stopped)
        if verdict is None:
            # One at a time: if one of them brings zygotes down, those beside it are not taken for the culprit again.
            with self._retrying:
                verdict = self._try(task, candidate, began, stopped)
        if verdict is not None:
            return verdict
        message = "the process that starts runners died twice while this candidate was judged"
        return Verdict(
            task=task.id,
            sample=candidate.sample,
            device="cuda" if self.device == "cuda" else "cpu",
            target=self._settings.target,
            policy=self._settings.policy,
            findings=[Finding(rule="crash", message=message)],
        )

    def _try(self, task: Task, candidate: Candidate, began: float | None, stopped: threading.Event) -> Verdict | None:
        """A verdict, or None if a zygote has died meanwhile and that may be why there is none, or a bad one."""
        crew = self._living(stopped)
        try:
            with crew.judge() as judge:
                verdict = judge.judge(task, candidate, began)
        except (RuntimeError, OSError):
            if crew.alive(patience=1.0):
                raise
            return None
        suspect = any(finding.rule in cache.MACHINE for finding in verdict.findings)
        return None if suspect and not crew.alive() else verdict

    def _living(self, stopped: threading.Event) -> Crew:
        """The crew, renewed if one of its zygotes has died; raises CancelledError for a stream that has stopped."""
        with self._renewing:
            if stopped.is_set():
                raise CancelledError
            if not self._crew.alive():
                self._crew = self._crew.renewed()
            return self._crew

    def _stop(self, stopped: threading.Event) -> None:
        with self._renewing:
            stopped.set()
            self._crew.kill()


def choose_device(wanted: str) -> str:
    """`auto` is `cuda` where there is a GPU; raises ConfigError if `cuda` is asked for without one."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise ConfigError("verify.device=cuda, but torch sees no CUDA device; use --device cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted


def choose_gpus(wanted: int | Literal["all"]) -> int:
    """How many GPUs are used; raises ConfigError if there are not as many."""
    there = torch.cuda.device_count()
    if wanted != "all" and wanted > there:
        raise ConfigError(f"verify.gpus={wanted}, but torch sees {there}")
    return there if wanted == "all" else wanted
