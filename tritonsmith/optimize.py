"""From a task to the best verified kernel: frontend, mid-end, backend, and an account of what each gained.

The frontend's agent writes candidates until some are correct; the mid-end's agent rewrites the best of them, told what
the compiler said of it; the backend turns launch parameters (`backend`). Every kernel that goes on has been called
correct by the verifier, and the last one is verified once more before it is given back: one that fails then is never
returned, the one before it is. Agents are samplers; which model stands behind them is the caller's business.
"""

import logging
import time
from bisect import insort_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from tritonsmith import backend, credit, reward
from tritonsmith.config import OptimizeConfig
from tritonsmith.evaluate import Judge, Sampler
from tritonsmith.extract import extract
from tritonsmith.prompts import Message, Style, messages, midend_messages, replied
from tritonsmith.types import Candidate, Task, Verdict

log = logging.getLogger(__name__)


class Compiler(Protocol):
    """Judges as far as the compile stage."""

    def __call__(self, task: Task, candidate: Candidate) -> Verdict:
        """The verdict, whose last stage is `compile` at most."""
        ...


@dataclass(frozen=True)
class Found:
    """A correct kernel."""

    source: str
    verdict: Verdict
    agent: str
    """Who wrote it: `frontend`, `compiler`, `midend`, `backend`."""

    @property
    def speedup(self) -> float:
        """Over eager, 1 where it is not significant."""
        return reward.speedup(self.verdict)


@dataclass
class Step:
    """What one agent did."""

    agent: str
    candidates: int
    correct: int
    best: float | None
    """Speedup of the best correct kernel so far; None where there is none."""
    seconds: float
    note: str = ""
    found: Found | None = None
    """That kernel."""


@dataclass
class Account:
    """What was done for a task, and the kernel it led to."""

    task: str
    steps: list[Step] = field(default_factory=list)
    found: Found | None = None
    """None where no correct kernel was found."""
    last: Verdict | None = None
    """The verdict on the best candidate, or on one that failed where none was correct."""


def optimize(
    task: Task,
    verifier: Judge,
    compiles: Compiler,
    config: OptimizeConfig,
    frontend: Sampler | None,
    midend: Sampler | None = None,
    lowering: Callable[[Task], str | None] | None = None,
    rewriting: Callable[[Task], str | None] | None = None,
    seed: int = 0,
) -> Account:
    """The best verified kernel for a task, with the account of how it was found.

    `lowering` gives a kernel without a model, which enters as the frontend's first candidate; `rewriting` a faster form
    of that, which enters as the mid-end's. An agent that is None is left out.
    """
    run = _Run(task, verifier, config, seed, Account(task.id))
    run.frontend(frontend, lowering)
    if midend is not None or rewriting is not None:
        run.midend(midend, rewriting)
    if config.tune_seconds > 0:
        run.backend(compiles)
    run.confirm()
    return run.account


@dataclass
class _Run:
    """One task while it is worked on."""

    task: Task
    verifier: Judge
    config: OptimizeConfig
    seed: int
    account: Account
    verified: list[Found] = field(default_factory=list)
    """Correct kernels, the best last."""

    @property
    def best(self) -> Found | None:
        return self.verified[-1] if self.verified else None

    def frontend(self, agent: Sampler | None, lowering: Callable[[Task], str | None] | None) -> None:
        """Candidates until some are right: the lowering's, the agent's, and its answers to what was wrong."""
        started = time.monotonic()
        tried = right = 0
        plain = lowering(self.task) if lowering is not None else None
        if plain is not None:
            tried, right = 1, self.judge([plain], "compiler")[0]
        chats = (
            [messages(self.task, cast(Style, agent.prompt_style))] * self.config.samples if agent is not None else []
        )
        for turn in range(self.config.turns):
            if agent is None or not chats:
                break
            texts = self.draw(agent, chats, turn)
            count, verdicts = self.judge([extract(text).source for text in texts], "frontend")
            tried, right = tried + len(texts), right + count
            if self.best is not None:
                break
            chats = [replied(*one) for one in zip(chats, texts, verdicts, strict=True)]
        self.close("frontend", tried, right, started)

    def midend(self, agent: Sampler | None, rewriting: Callable[[Task], str | None] | None) -> None:
        """Faster forms of the best kernel, by rules and then by the agent, round after round while they gain."""
        started = time.monotonic()
        tried = right = 0
        plain = rewriting(self.task) if rewriting is not None else None
        if plain is not None:
            tried, right = 1, self.judge([plain], "midend")[0]
        for turn in range(self.config.midend_rounds):
            before = self.best
            if before is None or agent is None:
                break
            style = cast(Style, agent.prompt_style)
            chat = midend_messages(self.task, before.source, before.verdict, style)
            texts = self.draw(agent, [chat] * self.config.midend_samples, 100 + turn)
            count, _ = self.judge([extract(text).source for text in texts], "midend")
            tried, right = tried + len(texts), right + count
            if self.best is before:
                break
        self.close("midend", tried, right, started)

    def backend(self, compiles: Compiler) -> None:
        """Launch parameters of the best kernel."""
        started = time.monotonic()
        before = self.best
        if before is None:
            return
        tuned = backend.tune(
            before.source,
            lambda source: self.verdicts([source])[0],
            lambda source: compiles(self.task, Candidate(task=self.task.id, source=source)),
            seconds=self.config.tune_seconds,
            trials=self.config.tune_trials,
            seed=self.seed,
        )
        right = self.judge([tuned.source], "backend")[0] if tuned.settings else 0
        note = tuned.described() or (
            "nothing was faster" if tuned.before_ms is not None else "no measurement: nothing to turn"
        )
        self.close("backend", tuned.trials, right, started, note)

    def confirm(self) -> None:
        """Verify the best kernel once more; where it fails, the one before it, and so on."""
        while self.best is not None:
            found = self.verified.pop()
            again = self.verdicts([found.source])[0]
            self.account.last = again
            if again.correct:
                self.account.found = Found(found.source, again, found.agent)
                return
            log.warning("%s: the %s's kernel failed when verified again", self.task.id, found.agent)

    def draw(self, agent: Sampler, chats: Sequence[list[Message]], turn: int) -> list[str]:
        """A completion of each chat."""
        own = self.config
        seed = self.seed + 1000 * turn
        rows = agent.sample(chats, 1, own.temperature, own.top_p, own.max_new_tokens, own.batch, seed, None)
        return [row[0] for row in rows]

    def verdicts(self, sources: Sequence[str | None]) -> list[Verdict]:
        """Judge sources."""
        jobs = [(self.task, Candidate(task=self.task.id, sample=i, source=one)) for i, one in enumerate(sources)]
        return self.verifier.verify_many(jobs)

    def judge(self, sources: Sequence[str | None], agent: str) -> tuple[int, list[Verdict]]:
        """How many are right, and the verdicts; the best of all so far is noted."""
        verdicts = self.verdicts(sources)
        right = [
            Found(source, verdict, agent)
            for source, verdict in zip(sources, verdicts, strict=True)
            if source is not None and verdict.correct
        ]
        if verdicts and self.account.last is None:
            self.account.last = verdicts[0]
        known = {credit.normalise(one.source) for one in self.verified}
        distinct = {credit.normalise(one.source): one for one in reversed(right)}
        for one in (one for program, one in distinct.items() if program not in known):
            insort_left(self.verified, one, key=lambda found: found.speedup)  # as fast as the best is not better
        return len(distinct), verdicts

    def close(self, agent: str, tried: int, right: int, started: float, note: str = "") -> None:
        """Enter a step into the account."""
        best = self.best.speedup if self.best is not None else None
        self.account.steps.append(Step(agent, tried, right, best, time.monotonic() - started, note, self.best))
