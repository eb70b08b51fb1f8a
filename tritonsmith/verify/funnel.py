"""The funnel: stages in order, each reached only through the one before, or all of them.

Pure: it calls what it is given. With staging off every stage runs, and the verdict is still that of the
first one that failed, so both ways judge alike; they differ in cost alone.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tritonsmith.types import STAGES, Finding, KernelStats, Mismatch, StageName, StageResult, Timing, Verdict


@dataclass
class Outcome:
    """What one stage found."""

    ok: bool
    detail: str = ""
    findings: list[Finding] = field(default_factory=list)
    mismatch: Mismatch | None = None
    kernels: list[KernelStats] = field(default_factory=list)
    timing: Timing | None = None
    stands: StageName | None = None
    """Of a failure that takes an earlier stage back: the last one that stands."""


def refused(findings: Sequence[Finding], stands: StageName | None = None) -> Outcome:
    """A stage that ends with findings, one at least."""
    return Outcome(False, findings[0].message, list(findings), stands=stands)


def wrong(mismatch: Mismatch, stands: StageName | None = None) -> Outcome:
    """A stage that ends with a value that is not right."""
    message = f"{mismatch.variant}: {mismatch.output}: {mismatch.message}"
    return Outcome(False, message, mismatch=mismatch, stands=stands)


def invalid(reason: str) -> Outcome:
    """A stage that ends with a task on which nobody can be tried."""
    return refused([Finding(rule="task", message=reason)])


Stage = tuple[StageName, Callable[[], Outcome]]


def run(stages: Sequence[Stage], verdict: Verdict, staged: bool = True) -> Verdict:
    """Run the stages and write what they find into `verdict`, which is returned."""
    failed = False
    for name, stage in stages:
        if failed and staged:
            break
        start = time.perf_counter()
        outcome = stage()
        seconds = time.perf_counter() - start
        detail = outcome.detail.splitlines()[0] if outcome.detail else ""
        verdict.stages.append(StageResult(name=name, ok=outcome.ok, seconds=round(seconds, 4), detail=detail))
        if failed:
            continue
        verdict.findings += outcome.findings
        verdict.mismatch = verdict.mismatch or outcome.mismatch
        verdict.kernels = outcome.kernels or verdict.kernels
        if not outcome.ok:
            failed = True
            if outcome.stands is not None:
                verdict.stage, reached = outcome.stands, STAGES.index(outcome.stands)
                verdict.compiled = reached >= STAGES.index("compile")
                verdict.correct = reached >= STAGES.index("full")
            continue
        verdict.stage = name
        verdict.compiled = verdict.compiled or name == "compile"
        verdict.correct = verdict.correct or name == "full"
        if outcome.timing is not None:
            verdict.timing, verdict.speedup = outcome.timing, outcome.timing.speedup
    return verdict
