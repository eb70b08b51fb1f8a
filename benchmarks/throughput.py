"""Candidates judged a second: the warm pool against one fresh interpreter a candidate, and staged against unstaged.

    python benchmarks/throughput.py [--candidates 100]

The mix is that of a model in training: 30 % fail the static rules, 20 % do not compile, 15 % are wrong, 35 % are
right, all made from the suite's hand-written kernels. A fresh interpreter is `tritonsmith verify --json` in a process
of its own, as many at a time as the pool has workers. The verdicts of all three ways must be equal, or it fails.
The pool's start, some seconds once, is not counted; it is printed. Nothing is written.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "examples" / "kernels"
sys.path.insert(0, str(ROOT / "tests"))

from kernel_bugs_level1 import BUGS as LEVEL1  # noqa: E402
from kernel_bugs_level2 import BUGS as LEVEL2  # noqa: E402

SHARES = {"static": 0.30, "compile": 0.20, "wrong": 0.15, "right": 0.35}
Job = tuple[Task, Candidate]
Outcome = tuple[str | None, bool, bool, bool]
"""Stage, valid, compiled, correct."""


STATIC: tuple[Callable[[str], str], ...] = (
    lambda source: source[: 2 * len(source) // 3].rstrip() + "(",
    lambda source: source.replace("import torch\n", "import os\nimport torch\n", 1),
    lambda source: source.replace("class ModelNew", "class Model"),
    lambda source: source.replace("        return ", "        return 1.0 * torch.relu(x) + ", 1),
    lambda source: "Here is the kernel you asked for.\n" + source,
)
"""What models do that the static rules find: cut off, forbidden import, wrong name, torch, prose."""
COMPILE: tuple[Callable[[str], str], ...] = (
    lambda source: source.replace("tl.store(", "tl.stare(", 1),
    lambda source: source.replace("tl.program_id(0)", "tl.program_id(x)", 1),
    lambda source: source.replace("tl.load(", "torch.load_tile(", 1),
    lambda source: source.replace(": tl.constexpr", ": int"),
)
"""What the compiler refuses: unknown functions, undefined names, a block size that is no constant."""


def mix(count: int) -> list[Job]:
    """`count` distinct candidates in SHARES' proportions, in random order, the same each time."""
    draw = random.Random(0)
    tasks = {task.id: task for task in load_spec("suite")}
    ids = sorted(path.relative_to(KERNELS).with_suffix("").as_posix() for path in KERNELS.rglob("*.py"))
    right = {id: (KERNELS / f"{id}.py").read_text() for id in ids}
    wrong = [bug for bug in LEVEL1 + LEVEL2 if "compile" not in bug.stages]
    sources: list[tuple[str, str]] = []
    for kind, share in SHARES.items():
        for number in range(round(share * count)):
            if kind == "wrong":
                bug = wrong[number % len(wrong)] if count > 300 else draw.choice(wrong)
                sources.append((bug.task, bug.plant(right[bug.task])))
                continue
            id = ids[number % len(ids)] if kind == "right" else draw.choice(ids)
            edits = {"static": STATIC, "compile": COMPILE, "right": (str,)}[kind]
            sources.append((id, edits[number % len(edits)](right[id])))
    # A last line of its own makes every candidate new to the pool, which judges equal sources once.
    jobs = [
        (tasks[id], Candidate(task=id, sample=number, source=f"{source}\n# {number}\n"))
        for number, (id, source) in enumerate(sources)
    ]
    draw.shuffle(jobs)
    return jobs


def outcome(verdict: Verdict) -> Outcome:
    """What must be the same however a candidate is judged.

    Inputs are drawn anew each time, so a wrong value may show at the tiny sizes or only at the full ones.
    """
    stage = "wrong" if verdict.compiled and not verdict.correct else verdict.stage
    return stage, verdict.valid, verdict.compiled, verdict.correct


def fresh(jobs: list[Job], workers: int) -> tuple[float, list[Outcome]]:
    """Judge each candidate in a process that starts for it."""
    with tempfile.TemporaryDirectory() as folder:

        def one(number: int) -> Outcome:
            task, candidate = jobs[number]
            paths = [Path(folder) / f"{number}_{name}.py" for name in ("task", "kernel")]
            for path, text in zip(paths, (task.source, candidate.source), strict=True):
                path.write_text(text or "")
            command = [sys.executable, "-m", "tritonsmith.cli", "verify", *map(str, paths), "--json", "--device", "cpu"]
            done = subprocess.run(command, capture_output=True, text=True)
            return outcome(Verdict.model_validate(json.loads(done.stdout)))

        start = time.perf_counter()
        with ThreadPoolExecutor(workers) as threads:
            outcomes = list(threads.map(one, range(len(jobs))))
        return time.perf_counter() - start, outcomes


def pooled(jobs: list[Job], staged: bool) -> tuple[float, float, list[Verdict]]:
    """Judge all candidates in one pool; seconds it took to warm up, seconds for the candidates, verdicts."""
    start = time.perf_counter()
    with Verifier(VerifyConfig(device="cpu"), extensions=ExtensionsConfig(staged=staged)) as verifier:
        id = "level1/relu"
        task = next(task for task in load_spec("suite") if task.id == id)
        verifier.verify(task, Candidate(task=id, source=(KERNELS / f"{id}.py").read_text()))
        warm = time.perf_counter()
        verdicts = verifier.verify_many(jobs)
        return warm - start, time.perf_counter() - warm, verdicts


def main(candidates: int = 100, workers: int = 0) -> None:
    """Measure, print, and fail where the ways disagree."""
    jobs, console = mix(candidates), Console()
    with Verifier(VerifyConfig(device="cpu")) as probe:
        workers = workers or probe.workers
    warm_up, staged_seconds, staged = pooled(jobs, staged=True)
    _, unstaged_seconds, unstaged = pooled(jobs, staged=False)
    fresh_seconds, alone = fresh(jobs, workers)
    _print(console, len(jobs), workers, fresh_seconds, staged_seconds, unstaged_seconds)
    console.print(f"the pool's start: {warm_up:.1f} s, once; of the candidates {_kinds(staged)}")
    wanted = [outcome(verdict) for verdict in staged]
    for name, found in (("a fresh interpreter", alone), ("unstaged", [outcome(verdict) for verdict in unstaged])):
        differ = [(job[0].id, one, two) for job, one, two in zip(jobs, wanted, found, strict=True) if one != two]
        if differ:
            raise SystemExit(f"{len(differ)} of the verdicts differ between staged and {name}, the first: {differ[0]}")
    console.print("all three ways reach the same verdicts")


def _print(console: Console, count: int, workers: int, fresh: float, staged: float, unstaged: float) -> None:
    table = Table("", "seconds", "candidates/s", "times fresh", title=f"{count} candidates, {workers} at a time")
    for name, seconds in (
        ("fresh interpreter", fresh),
        ("warm pool, staged", staged),
        ("warm pool, unstaged", unstaged),
    ):
        table.add_row(name, f"{seconds:.1f}", f"{count / seconds:.2f}", f"{fresh / seconds:.1f}")
    console.print(table)


def _kinds(verdicts: list[Verdict]) -> str:
    counts = {
        "fail the static rules": sum(verdict.stage is None for verdict in verdicts),
        "do not compile": sum(verdict.stage == "ast" for verdict in verdicts),
        "are wrong": sum(verdict.compiled and not verdict.correct for verdict in verdicts),
        "are right": sum(verdict.correct for verdict in verdicts),
    }
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


if __name__ == "__main__":
    typer.run(main)
