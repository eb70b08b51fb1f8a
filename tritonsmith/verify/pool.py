"""Many candidates at once: equal ones once, verdicts kept, told in order or as they come; a thread waits for each.

Candidates for one task that differ in form alone are judged once. Who judges are threads of this process (`crew`) or
several processes (`panel`); what their death takes with it is judged again (`court`).
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Literal

import torch

from tritonsmith.config import ConfigError, ExtensionsConfig, VerifyConfig
from tritonsmith.cores import cores
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify import cache, form, roofline, target
from tritonsmith.verify.apart import Place
from tritonsmith.verify.compile import parse_target
from tritonsmith.verify.court import Bench, Court
from tritonsmith.verify.crew import Crew
from tritonsmith.verify.feeding import Ended, Feeding, Taken
from tritonsmith.verify.panel import Panel
from tritonsmith.verify.process import gpu, scratch
from tritonsmith.verify.process.gpu import Use
from tritonsmith.verify.process.zygote import Zygote

Job = tuple[Task, Candidate]

_THREADS = 2
"""Candidates that one process judges at once on a GPU where nothing else is asked for: threads of more wait for each
other."""
_AHEAD = 16
"""Jobs that are taken from a stream before their turn, a worker: equal ones among them must not leave it idle."""

_REMEMBERED = 1 << 28
"""Characters of the programs and verdicts of one stream that are kept for equal ones to come, the latest of them: a
stream may be longer than memory."""


@dataclass(eq=False)
class _Group:
    """Jobs of one stream that are one program for one task."""

    key: tuple[str, str]
    """The task's source and `form.sketch` of the candidate's."""
    source: str | None
    """What is judged."""
    waiting: list[tuple[int, Job]] = field(default_factory=list)
    verdict: str | None = None
    """The verdict when it is there: as JSON, a fraction of the memory."""

    @cached_property
    def program(self) -> str:
        """`form.program` of the source, which is asked for where another source may be the same."""
        return form.program(self.source)

    @property
    def size(self) -> int:
        """Characters that are kept."""
        return len(self.source or "") + len(self.verdict or "")


class _Groups:
    """The jobs of one stream by program, and those that wait for their verdict."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], list[_Group]] = {}
        """By task and `form.sketch`, which is cheap: few sources that share it are not the same."""
        self._judged: deque[_Group] = deque()
        self._size = 0

    def join(self, index: int, job: Job) -> tuple[_Group, bool]:
        """The group of a job, and whether it is the first of it."""
        task, candidate = job
        fresh = _Group((task.source, form.sketch(candidate.source)), candidate.source)
        alike = self._known.setdefault(fresh.key, [])
        group = next((one for one in alike if one.source == fresh.source or one.program == fresh.program), fresh)
        new = group is fresh
        if new:
            alike.append(group)
        group.waiting.append((index, job))
        return group, new

    def judged(self, group: _Group, verdict: Verdict) -> None:
        """Note the verdict, and forget the groups whose verdicts are oldest where they are too much."""
        group.verdict = verdict.model_dump_json()
        self._judged.append(group)
        self._size += group.size
        while self._size > _REMEMBERED:
            oldest = self._judged.popleft()
            self._size -= oldest.size
            self._known[oldest.key].remove(oldest)
            if not self._known[oldest.key]:
                del self._known[oldest.key]

    def told(self, group: _Group) -> Iterator[tuple[int, Verdict]]:
        """The verdict to each that waits for it, with its own name and its own lines."""
        verdict = Verdict.model_validate_json(group.verdict or "")
        while group.waiting:
            index, (task, candidate) = group.waiting.pop(0)
            told = form.retold(verdict, group.source or "", candidate.source or "")
            yield index, told.model_copy(update={"task": task.id, "sample": candidate.sample})


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
        apart: bool = False,
    ) -> None:
        """Start the zygotes, or take those of another verifier, which owns them and outlives this one.

        `apart`: this process computes while candidates are judged, with what draws from torch's one generator (dropout
        does). References are built under a seed of it, so they are built in another process, even if that is one.
        """
        try:
            parse_target(settings.target)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        if settings.target not in roofline.HARDWARE and not target.compiles(settings.target):
            raise ConfigError(f"verify.target: this Triton compiles nothing for {settings.target}")
        self.device = choose_device(settings.device)
        self.workers = settings.workers or cores()
        self._settings, self._score = settings, score
        extensions = extensions or ExtensionsConfig()
        gpus = choose_gpus(settings.gpus) if self.device == "cuda" else 0
        self._cache: cache.Cache | None = None
        if settings.cache is not None:
            under = cache.circumstances(settings, extensions, self.device, gpu_names(settings, self.device))
            self._cache = cache.Cache(settings.cache, under)
        lender = beside._court.living() if beside is not None and beside.device == self.device else None
        self.judges = choose_judges(settings.judges, self.device, self.workers, gpus)
        bench = self._bench(extensions, gpus, lender, apart)
        self._lent = frozenset(lender.members) if lender is not None else frozenset()
        self._court = Court(settings, self.device, bench)
        self._seats = threading.BoundedSemaphore(self.workers)
        """All streams together have no more candidates under way than one may have."""

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

    def stream(self, jobs: Iterable[Job]) -> Generator[tuple[int, Verdict], None, None]:
        """Judge candidates side by side; gives each one's place among the jobs and its verdict as it ends.

        Jobs are taken in another thread, when there is room for them, so there may be any number of them, and a source
        that takes its time keeps no verdict back. If the caller stops early, what is under way is killed.
        """
        groups, stopped = _Groups(), threading.Event()
        events: SimpleQueue[Taken[Job] | Ended | Future[Verdict]] = SimpleQueue()
        judging: dict[Future[Verdict], _Group] = {}
        feeding = Feeding(jobs, _AHEAD * self.workers, events.put)
        with ThreadPoolExecutor(self.workers, thread_name_prefix="tritonsmith-judge") as threads:
            try:
                more = True
                while more or judging:
                    event, group = events.get(), None
                    if isinstance(event, Ended):
                        more = False
                        if event.error is not None:
                            raise event.error
                    elif isinstance(event, Taken):
                        group, new = groups.join(event.index, event.job)
                        if new:
                            future = threads.submit(self._verify, *event.job, None, stopped)
                            judging[future] = group
                            future.add_done_callback(events.put)
                    else:
                        group = judging.pop(event)
                        groups.judged(group, event.result())
                    if group is not None and group.verdict is not None:
                        for told in groups.told(group):
                            feeding.release()
                            yield told
            finally:
                feeding.stop()
                if judging:
                    threads.shutdown(wait=False, cancel_futures=True)
                    self._court.stop(stopped)

    def close(self) -> None:
        """End the zygotes and every runner."""
        self._court.bench.close(self._lent)
        if self._cache is not None:
            self._cache.close()

    def kill(self) -> None:
        """End at once what judges a candidate, unasked: a signal's handler may call it, whatever it interrupted."""
        self._court.bench.kill()

    def __enter__(self) -> "Verifier":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def use(self) -> Use:
        """How GPUs were used so far, by all processes that judge."""
        return self._court.bench.use()

    def _bench(self, extensions: ExtensionsConfig, gpus: int, lender: Bench | None, apart: bool) -> Bench:
        """Threads of this process that judge, or processes; those of a lender of the same kind."""
        gates = [scratch.new() for _ in range(gpus)]
        if self.judges == 1 and not apart:
            parts = gpu.parts(gates, self.workers, self._settings.spare)
            return Crew(self._settings, extensions, self.device, parts, lender if isinstance(lender, Crew) else None)
        places = _places(self.judges, self.workers, gates)
        before = lender if isinstance(lender, Panel) else None
        return Panel(self._settings, extensions, self.device, places, before)

    @property
    def _crew(self) -> Crew:
        bench = self._court.living()
        if not isinstance(bench, Crew):
            raise TypeError("the judges are processes")
        return bench

    @property
    def _zygotes(self) -> dict[str, Zygote]:
        return self._crew.zygotes

    def _verify(self, task: Task, candidate: Candidate, began: float | None, stopped: threading.Event) -> Verdict:
        verdict = self._cache.get(task.source, candidate.source) if self._cache is not None else None
        if verdict is None:
            with self._seats:
                verdict = self._court.judge(task, candidate, began, stopped)
            if self._cache is not None:
                self._cache.put(task.source, candidate.source, verdict)
        verdict = verdict.model_copy(update={"task": task.id, "sample": candidate.sample})
        if self._score is not None:
            verdict.reward = self._score(verdict)
        return verdict


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


def gpu_names(settings: VerifyConfig, device: str) -> list[str]:
    """What the GPUs are called that are used, none on the CPU; raises ConfigError if there are not as many."""
    return (
        [torch.cuda.get_device_name(index) for index in range(choose_gpus(settings.gpus))] if device == "cuda" else []
    )


def choose_judges(wanted: int | None, device: str, workers: int, gpus: int) -> int:
    """How many processes judge; 1 stands for this one. Each has one candidate at a time at least."""
    usual = max(workers // _THREADS, gpus) if device == "cuda" and workers >= 2 * _THREADS else 1
    return min(wanted or usual, workers)


def _places(judges: int, workers: int, gates: Sequence[Path]) -> list[Place]:
    """This machine, divided among judge processes: candidates, cores and GPUs, of which several may share one."""
    threads, numbers = max(1, cores() // judges), range(len(gates))
    places = []
    for number in range(judges):
        gpus = tuple(numbers[number % len(gates) :: judges]) if gates else ()
        beside = -(-judges // len(gates)) if gates else 1
        seats = workers // judges + (number < workers % judges)
        places.append(Place(seats, threads, gpus, tuple(gates[gpu] for gpu in gpus), beside))
    return places
