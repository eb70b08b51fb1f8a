"""The rows of a data set, as plain data: a pair in TRL's form with where it came from, and a wrong candidate likewise.

Does not make any: see `build` and `export`.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from tritonsmith.types import Verdict

Split = Literal["train", "validation", "heldout"]
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")


class Row(BaseModel):
    """One pair in TRL's conversational prompt/completion form, with where it came from."""

    model_config = ConfigDict(extra="forbid")

    prompt: list[dict[str, str]]
    completion: list[dict[str, str]]
    """One message of the assistant."""
    task: str
    graph: str


class Summary(BaseModel):
    """A verdict in a few columns."""

    model_config = ConfigDict(extra="forbid")

    correct: bool
    stage: str
    """Last stage passed; empty if not even `ast` was."""
    reason: str
    """Why it was rejected, in one or two words: the rule that it broke, or `wrong values`; `correct` if it was not."""
    message: str
    """One line for a person: what was found, or the sizes and the number of variants it was right on."""
    kernels: int
    """Distinct launches of a forward at tiny sizes."""
    registers: int
    """Most registers a thread of one of them needs; 0 where the target's tools do not tell."""
    spills: int
    """Bytes they spill, together."""
    seconds: float
    """Time the verifier took."""

    @classmethod
    def of(cls, verdict: Verdict) -> "Summary":
        """The summary of a verdict."""
        return cls(
            correct=verdict.correct,
            stage=verdict.stage or "",
            reason=reason(verdict),
            message=_message(verdict),
            kernels=len(verdict.kernels),
            registers=max((kernel.registers or 0 for kernel in verdict.kernels), default=0),
            spills=sum(kernel.spills or 0 for kernel in verdict.kernels),
            seconds=round(verdict.seconds, 3),
        )


class PairRow(Row):
    """A verified pair: what a model is trained on, and what a person wants to know of it."""

    level: int
    depth: int
    """Operators of the task's graph."""
    family: str
    operators: list[str]
    """ATen operators of the task's trace, in order; empty for a task that cannot be traced."""
    style: int
    """Which of the task's writings this is, from 0."""
    source: str
    """Where the answer comes from: `inductor`, `templates`, ..."""
    plan: str
    kernel: str
    """The candidate's source, as it stands in the completion."""
    module: str
    """The task's source."""
    split: Split
    form: str = ""
    """The task's canonical form as it was traced: what tells equal computations of different graphs; empty without."""
    verdict: Summary


class ContrastiveRow(PairRow):
    """A wrong candidate, with the same columns and why it is wrong."""

    planted: str
    """The kind of bug that was planted into a right candidate; empty where the source itself gave a wrong one."""
    right: str
    """The right candidate that a bug was planted into; empty where there is none."""


def reason(verdict: Verdict) -> str:
    """Why a candidate was rejected, in one or two words; `correct` if it was not."""
    if verdict.correct:
        return "correct"
    if verdict.findings:
        return verdict.findings[0].rule
    if verdict.mismatch is not None:
        return "wrong values"
    failed = next((stage.name for stage in verdict.stages if not stage.ok), None)
    return f"{failed} failed" if failed else "rejected"


def _message(verdict: Verdict) -> str:
    if verdict.findings:
        return " ".join(verdict.findings[0].message.split())[:500]
    if (wrong := verdict.mismatch) is not None:
        return f"{wrong.variant}: {wrong.output}: {wrong.message}"[:500]
    return next((stage.detail for stage in reversed(verdict.stages) if stage.detail), "")[:500]
