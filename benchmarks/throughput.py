"""Candidates judged a second: the warm pool against fresh interpreters, and staged against unstaged.

    python benchmarks/throughput.py [--device cuda] [--candidates 512] [--isolation pooled] [--fresh-at-a-time 14]
                                    [--workers 16] [--judges 4] [--only-staged] [--no-compilers]
                                    [--by-task] [--rounds 1]

The mix is that of a model in training: 30 % fail the static rules, 20 % do not compile, 15 % are wrong, 35 % are
right, all made from the suite's hand-written kernels, in random order or `--by-task`: those for one task come together,
as the samples of one prompt do in best-of-N and GRPO, and share what they are tried on. A fresh interpreter is
`tritonsmith verify --json` in a process of its own; since it is slow, only a random part of the candidates is judged
so, and its rate compared. The verdicts of all ways must be equal, or it fails. The pool's start, until each worker has
judged two candidates, is not counted; it is printed, and so are the mean seconds a candidate spends in each stage, how
the GPU was had (alone, or by how many on average), and how many kernels a runner found compiled for another; with
`--no-compilers` each runner compiles all of its own. Most tasks are new to the judges then, and so are the kernels of
their references; with `--rounds` the same pool judges as many candidates once more, each another program with kernels
of other names, and each round's rate is told. On the CPU tasks are scaled as always there. Nothing is written.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console
from rich.table import Table

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.cores import cores
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import STAGES, Candidate, Verdict
from tritonsmith.verify.pool import Job, Verifier, choose_device, choose_gpus
from tritonsmith.verify.process.gpu import Use

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "examples" / "kernels"
sys.path.insert(0, str(ROOT / "tests"))

from kernel_bugs_level1 import BUGS as LEVEL1  # noqa: E402
from kernel_bugs_level2 import BUGS as LEVEL2  # noqa: E402

SHARES = {"static": 0.30, "compile": 0.20, "wrong": 0.15, "right": 0.35}
_KERNEL = re.compile(r"@triton\.jit[^\n]*\n(?:@[^\n]*\n)*def (\w+)")
Outcome = tuple[str | None, bool, bool, bool]
"""Stage, valid, compiled, correct."""


STATIC: tuple[Callable[[str], str], ...] = (
    lambda source: source[: 2 * len(source) // 3].rstrip() + "(",
    lambda source: source.replace("import torch\n", "import torch\nimport torchvision\n_USED = torchvision\n", 1),
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


@dataclass
class Pooled:
    """What one pool made of all candidates."""

    start: float
    """Seconds until all its workers are warm."""
    seconds: float
    """Seconds for the candidates."""
    verdicts: list[Verdict]
    use: Use
    """How the GPU was had meanwhile."""
    later: list[float]
    """Seconds for as many once more, of each further round."""
    judges: int
    """Processes that judged."""
    gpus: int
    """GPUs that they judged on."""


def mix(count: int, by_task: bool = False) -> list[tuple[str, Job]]:
    """`count` distinct candidates in SHARES' proportions, each with its kind, in random order, the same each time.

    `by_task`: the tasks are, and the candidates for each.
    """
    draw = random.Random(0)
    tasks = {task.id: task for task in load_spec("suite")}
    ids = sorted(path.relative_to(KERNELS).with_suffix("").as_posix() for path in KERNELS.rglob("*.py"))
    right = {id: (KERNELS / f"{id}.py").read_text() for id in ids}
    wrong = [bug for bug in LEVEL1 + LEVEL2 if "compile" not in bug.stages]
    sources: list[tuple[str, str, str]] = []
    for kind, share in SHARES.items():
        for number in range(round(share * count)):
            if kind == "wrong":
                bug = wrong[number % len(wrong)] if count > 300 else draw.choice(wrong)
                sources.append((kind, bug.task, bug.plant(right[bug.task])))
                continue
            edits = {"static": STATIC, "compile": COMPILE, "right": (str,)}[kind]
            edit = edits[number % len(edits)]
            fit = ids if kind == "right" else [id for id in ids if edit(right[id]) != right[id]]
            id = ids[number % len(ids)] if kind == "right" else draw.choice(fit)
            sources.append((kind, id, edit(right[id])))
    # A last line of its own makes every candidate another program, for equal ones are judged once.
    jobs = [
        (kind, (tasks[id], Candidate(task=id, sample=number, source=f"{source}\n_NUMBER = {number}\n")))
        for number, (kind, id, source) in enumerate(sources)
    ]
    draw.shuffle(jobs)
    first = {job[0].id: place for place, (_, job) in reversed([*enumerate(jobs)])}
    return sorted(jobs, key=lambda one: first[one[1][0].id]) if by_task else jobs


def outcome(verdict: Verdict) -> Outcome:
    """What must be the same however a candidate is judged.

    Inputs are drawn anew each time, so a wrong value may show at the tiny sizes or only at the full ones.
    """
    stage = "wrong" if verdict.compiled and not verdict.correct else verdict.stage
    return stage, verdict.valid, verdict.compiled, verdict.correct


def fresh(jobs: Sequence[Job], at_a_time: int, device: str) -> tuple[float, list[Outcome]]:
    """Judge each candidate in a process that starts for it."""
    with tempfile.TemporaryDirectory() as folder:

        def one(number: int) -> Outcome:
            task, candidate = jobs[number]
            paths = [Path(folder) / f"{number}_{name}.py" for name in ("task", "kernel")]
            for path, text in zip(paths, (task.source, candidate.source), strict=True):
                path.write_text(text or "")
            command = [sys.executable, "-m", "tritonsmith.cli", "verify", *map(str, paths), "--json"]
            # Its own start is part of a candidate's time there, and slow when many start at once.
            command += ["--device", device, "--set", "verify.timeout=300"]
            done = subprocess.run(command, capture_output=True, text=True)
            if not done.stdout:
                raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
            return outcome(Verdict.model_validate(json.loads(done.stdout)))

        start = time.perf_counter()
        with ThreadPoolExecutor(at_a_time) as threads:
            outcomes = list(threads.map(one, range(len(jobs))))
        return time.perf_counter() - start, outcomes


def again(jobs: Sequence[Job], number: int) -> list[Job]:
    """The same candidates as other programs: their kernels have other names, for what was compiled is known."""
    return [(task, one.model_copy(update={"source": _renamed(one.source or "", number)})) for task, one in jobs]


def _renamed(source: str, number: int) -> str:
    for name in set(_KERNEL.findall(source)):
        source = re.sub(rf"\b{name}\b", f"{name}_{number}", source)
    return f"{source}\n_ROUND = {number}\n"


def pooled(jobs: Sequence[Job], settings: VerifyConfig, staged: bool, rounds: int = 1) -> Pooled:
    """Judge all candidates in one pool, and in further rounds as many; it fails where their verdicts are others."""
    start = time.perf_counter()
    with Verifier(settings, extensions=ExtensionsConfig(staged=staged)) as verifier:
        id = "level1/relu"
        task = next(task for task in load_spec("suite") if task.id == id)
        source = (KERNELS / f"{id}.py").read_text()
        first = [Candidate(task=id, source=f"{source}\n_NUMBER = {-n}\n") for n in range(1, 2 * verifier.workers + 1)]
        verifier.verify_many((task, candidate) for candidate in first)
        warm, before = time.perf_counter(), verifier.use()
        verdicts = verifier.verify_many(jobs)
        seconds, after = time.perf_counter() - warm, verifier.use()
        gpus = choose_gpus(settings.gpus) if verifier.device == "cuda" else 0
        later, wanted = [], [outcome(verdict) for verdict in verdicts]
        for number in range(1, rounds):
            begun = time.perf_counter()
            others = verifier.verify_many(again(jobs, number))
            later.append(time.perf_counter() - begun)
            _compare(f"round {number + 1}", jobs, wanted, [outcome(verdict) for verdict in others])
        return Pooled(warm - start, seconds, verdicts, after - before, later, verifier.judges, gpus)


def main(
    candidates: int = 0,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    isolation: Literal["process", "pooled"] = "pooled",
    workers: int = 0,
    judges: int = 0,
    only_staged: bool = False,
    compilers: bool = True,
    by_task: bool = False,
    rounds: int = 1,
    fresh_at_a_time: int = 0,
    fresh_candidates: int = 64,
) -> None:
    """Measure, print, and fail where the ways disagree; 0 stands for 512 candidates on cuda and 100 on the CPU,
    as many workers as cores, as many judge processes as the settings' default, and 14 fresh processes at a time on
    cuda, as many as workers on the CPU. `only_staged` measures that alone, to compare settings."""
    where = choose_device(device)
    candidates = candidates or (512 if where == "cuda" else 100)
    jobs, console = [job for _, job in mix(candidates, by_task)], Console()
    settings = VerifyConfig(
        device=where,  # type: ignore[arg-type]
        isolation=isolation,
        workers=workers or cores(),
        judges=judges or None,
        compilers=compilers,
    )
    at_a_time = fresh_at_a_time or (14 if where == "cuda" else settings.workers or 1)
    chosen = sorted(random.Random(1).sample(range(len(jobs)), min(fresh_candidates, len(jobs))))
    staged = pooled(jobs, settings, staged=True, rounds=rounds)
    title = f"{where}, {settings.workers} workers, {staged.judges} judge processes, isolation {isolation}"
    title += ", by task" if by_task else ""
    console.print(f"{title}; staged: {len(jobs) / staged.seconds:.2f} candidates/s; {_used(staged)}")
    for number, seconds in enumerate(staged.later, 2):
        console.print(f"round {number}: {len(jobs) / seconds:.2f} candidates/s")
    if only_staged:
        console.print(_stages(staged.verdicts, []))
        console.print(f"the pool's start: {staged.start:.1f} s, once; of the candidates {_kinds(staged.verdicts)}")
        return
    unstaged = pooled(jobs, settings, staged=False)
    console.print(f"unstaged: {len(jobs) / unstaged.seconds:.2f} candidates/s; {_used(unstaged)}")
    seconds, alone = fresh([jobs[place] for place in chosen], at_a_time, where)
    rates = {
        f"fresh interpreters, {at_a_time} at a time": (len(chosen), seconds),
        "warm pool, staged": (len(jobs), staged.seconds),
        "warm pool, unstaged": (len(jobs), unstaged.seconds),
    }
    console.print(_rates(rates, title))
    console.print(_stages(staged.verdicts, unstaged.verdicts))
    console.print(f"staged is {unstaged.seconds / staged.seconds:.2f} times as fast as unstaged")
    console.print(f"the pool's start: {staged.start:.1f} s, once; of the candidates {_kinds(staged.verdicts)}")
    wanted = [outcome(verdict) for verdict in staged.verdicts]
    _compare("unstaged", jobs, wanted, [outcome(verdict) for verdict in unstaged.verdicts])
    _compare("a fresh interpreter", [jobs[p] for p in chosen], [wanted[p] for p in chosen], alone)
    console.print("all three ways reach the same verdicts")


def _used(pool: Pooled) -> str:
    """How the GPU was had, in words."""
    if pool.use == Use():
        return "no GPU was used"
    seconds = pool.seconds * pool.gpus
    beside = pool.use.shared / max(seconds - pool.use.alone, 1e-9)
    timings = [verdict.timing for verdict in pool.verdicts if verdict.timing is not None]
    timed, recorded = len(timings), sum(timing.recorded for timing in timings)
    return (
        f"{pool.gpus} GPU(s) were had alone {pool.use.alone / seconds:.0%} of the time ({timed} timed, "
        f"{recorded} of them recorded, "
        f"{1e3 * pool.use.alone / max(timed, 1):.0f} ms each), else by {beside:.1f} candidates on average; "
        f"{pool.use.waited / len(pool.verdicts):.2f} s a candidate were spent waiting for it; of "
        f"{pool.use.kernels} kernels that were compiled for runners {pool.use.known} had been before"
    )


def _compare(name: str, jobs: Sequence[Job], wanted: Sequence[Outcome], found: Sequence[Outcome]) -> None:
    differ = [
        (job[0].id, job[1].sample, one, two) for job, one, two in zip(jobs, wanted, found, strict=True) if one != two
    ]
    if differ:
        raise SystemExit(f"{len(differ)} of the verdicts differ between staged and {name}, the first: {differ[0]}")


def _rates(rows: dict[str, tuple[int, float]], title: str) -> Table:
    table = Table("", "candidates", "seconds", "candidates/s", "times fresh", title=title)
    slow = None
    for name, (count, seconds) in rows.items():
        rate = count / seconds
        slow = slow or rate
        table.add_row(name, str(count), f"{seconds:.1f}", f"{rate:.2f}", f"{rate / slow:.1f}")
    return table


def _stages(staged: Sequence[Verdict], unstaged: Sequence[Verdict]) -> Table:
    table = Table("stage", "staged: reached by", "mean seconds", "unstaged: mean seconds", title="time in each stage")
    for name in STAGES:
        one, two = _seconds(staged, name), _seconds(unstaged, name)
        table.add_row(name, str(len(one)), f"{_mean(one):.3f}", f"{_mean(two):.3f}")
    return table


def _seconds(verdicts: Sequence[Verdict], name: str) -> list[float]:
    return [stage.seconds for verdict in verdicts for stage in verdict.stages if stage.name == name]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _kinds(verdicts: Sequence[Verdict]) -> str:
    counts = {
        "fail the static rules": sum(verdict.stage is None for verdict in verdicts),
        "do not compile": sum(verdict.stage == "ast" for verdict in verdicts),
        "are wrong": sum(verdict.compiled and not verdict.correct for verdict in verdicts),
        "are right": sum(verdict.correct for verdict in verdicts),
    }
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


if __name__ == "__main__":
    typer.run(main)
