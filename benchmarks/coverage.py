"""Share of the suite's tasks that a source of answers gives a correct strict candidate for, by source and by family.

    python benchmarks/coverage.py [--tasks suite] [--sources inductor,templates] [--device cpu] [--out FILE]

Every answer is judged under the strict policy with all of extension 1's variants; a task counts as correct only if the
verifier says so. Wanted: 90 % of level 1 and of level 2 by all sources together. What is missed is listed with its
reason: the source's own words where it has no answer, and the verifier's where the answer is rejected. Nothing is
cached. `--out` writes a JSONL line for each answer.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console
from rich.table import Table

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data.pair import Miss
from tritonsmith.data.sources import Source, source
from tritonsmith.progress import Watched, bar
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier

WANTED = 0.9
FAMILIES = {
    "convolution": ("conv",),
    "product": ("gemm", "matmul", "bmm", "matvec", "linear", "attention", "lora", "highway", "mlp"),
    "pooling": ("pool", "upsample"),
    "normalisation": ("norm", "squeeze_excite"),
    "loss": ("loss", "entropy", "hinge", "kl_div", "mse", "smooth_l1", "triplet", "nll", "cosine"),
    "softmax": ("softmax", "logsumexp"),
    "scan": ("cumsum", "cumprod"),
    "indexing": ("embedding", "transpose", "rotary"),
    "reduction": ("_dim", "mean", "sum"),
}
"""Families by words of a task's name, the first that fits; what fits none is pointwise."""


@dataclass
class Answer:
    """What one source gave for one task."""

    source: str
    task: Task
    reason: str
    """Why it is not correct; nothing where it is."""
    plan: str = ""
    candidate: str | None = None


def family(task: Task) -> str:
    """A task's family."""
    name = task.id.rpartition("/")[2]
    return next((family for family, words in FAMILIES.items() if any(word in name for word in words)), "pointwise")


def answers(name: str, convert: Source, tasks: Sequence[Task]) -> list[Answer]:
    """One source's answers, not judged yet."""
    found = []
    with bar(f"converting ({name})", len(tasks)) as advance:
        for task in tasks:
            given = convert(task)
            if isinstance(given, Miss):
                found.append(Answer(name, task, given.reason))
            else:
                found.append(Answer(name, task, "", given.plan, given.source))
            advance(1)
    return found


def judge(found: Sequence[Answer], settings: VerifyConfig) -> None:
    """Have every answer judged with all variants, and note why one is rejected."""
    given = [answer for answer in found if answer.candidate is not None]
    jobs = [(answer.task, Candidate(task=answer.task.id, source=answer.candidate)) for answer in given]
    with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as verifier:
        for answer, verdict in zip(given, Watched(verifier).verify_many(jobs), strict=True):
            answer.reason = "" if verdict.correct else _why(verdict)


def _why(verdict: Verdict) -> str:
    if verdict.mismatch is not None:
        return f"{verdict.mismatch.variant}: {verdict.mismatch.message}"
    if verdict.findings:
        return f"{verdict.findings[0].rule}: {verdict.findings[0].message}"
    return verdict.stages[-1].detail if verdict.stages else "not judged"


def table(found: Sequence[Answer], sources: Sequence[str]) -> Table:
    """Correct of all, by level and family, a column a source and one for all together."""
    shown = Table("level", "family", *sources, "together", title="tasks with a correct strict candidate")
    groups = sorted({(a.task.level, family(a.task)) for a in found})
    levels = sorted({level for level, _ in groups})
    for level in levels:
        for group in [*(name for number, name in groups if number == level), "all"]:
            rows = [a for a in found if a.task.level == level and group in (family(a.task), "all")]
            cells = [_share([a for a in rows if a.source == source]) for source in sources]
            shown.add_row(str(level), group, *cells, _share(rows), end_section=group == "all")
    return shown


def _share(rows: Sequence[Answer]) -> str:
    tasks, right = {a.task.id for a in rows}, {a.task.id for a in rows if not a.reason}
    return f"{len(right)} of {len(tasks)} ({100 * len(right) / max(len(tasks), 1):.0f} %)"


def main(
    tasks: str = "suite",
    sources: str = "inductor,templates",
    device: Literal["auto", "cpu", "cuda"] = "cpu",
    timeout: float = 120.0,
    out: Path | None = None,
) -> None:
    """Convert, judge, print; fails where a level has less than WANTED by all sources together."""
    console, chosen = Console(), load_spec(tasks)
    settings = VerifyConfig(device=device, timing=False, timeout=timeout)
    found: list[Answer] = []
    names = sources.split(",")
    for name in names:
        start = time.monotonic()
        found += answers(name, source(name), chosen)
        seconds = (time.monotonic() - start) / max(len(chosen), 1)
        console.print(f"{name}: {seconds:.2f} s a task to convert")
    judge(found, settings)
    if out is not None:
        lines = [
            {"source": a.source, "task": a.task.id, "reason": a.reason, "plan": a.plan, "candidate": a.candidate}
            for a in found
        ]
        out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for answer in found:
        if answer.reason:
            console.print(f"{answer.source} misses {answer.task.id}: {answer.reason}", markup=False)
    console.print(table(found, names))
    for level in sorted({task.level for task in chosen}):
        ids = {task.id for task in chosen if task.level == level}
        right = {a.task.id for a in found if a.task.id in ids and not a.reason}
        if len(right) < WANTED * len(ids):
            raise SystemExit(f"level {level}: {len(right)} of {len(ids)}, less than {WANTED:.0%}")


if __name__ == "__main__":
    typer.run(main)
