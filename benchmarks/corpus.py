"""The labelled corpus of `tests/hacks`, judged side by side as a training run would: what was accepted wrongly.

    python benchmarks/corpus.py [--device cuda] [--isolation process] [--no-timing] [--only pooling] --out runs/corpus

One line of JSON a case, kept as it comes, so that a run that is stopped has its verdicts and goes on from there. Prints
the cheats that were accepted and the honest that were refused, where the time went, and the slowest; fails if
a verdict is wrong. Cases that only the interpreter can tell are left out on a GPU.
"""

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Literal

import typer
from commands import same_settings, start
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tritonsmith import jsonl
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate, Verdict
from tritonsmith.verify.pool import Verifier, choose_device

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from labelled import Case, cases

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
SLOWEST = 12
"""Cases that are named with their seconds."""


def read(path: Path) -> dict[str, Verdict]:
    """Verdicts by case, as far as they are there."""
    return {str(row["case"]): Verdict.model_validate(row["verdict"]) for row in jsonl.read(path)}


def judge(missing: list[Case], settings: VerifyConfig, path: Path) -> None:
    """Judge cases of one policy and keep each verdict as it comes."""
    with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as verifier, Progress() as bar:
        asked = bar.add_task(f"{settings.policy}", total=len(missing))
        jobs = ((case.task, Candidate(task=case.task.id, source=case.path.read_text())) for case in missing)
        for index, verdict in verifier.stream(jobs):
            jsonl.append(path, json.dumps({"case": missing[index].id, "verdict": verdict.model_dump(mode="json")}))
            bar.advance(asked)


def wrong(wanted: list[Case], verdicts: dict[str, Verdict]) -> list[str]:
    """A line for each cheat that was accepted and each honest one that was refused."""
    lines = []
    for case in wanted:
        verdict = verdicts[case.id]
        if case.honest != (verdict.valid and verdict.correct):
            told = [finding.message for finding in verdict.findings[:1]]
            told += [f"{verdict.mismatch.variant}: {verdict.mismatch.message}"] if verdict.mismatch else []
            lines.append(f"{case.id}: {'refused: ' + '; '.join(told) if case.honest else 'accepted'}")
    return lines


def show(console: Console, verdicts: dict[str, Verdict]) -> None:
    """Where the time went."""
    stages: defaultdict[str, list[float]] = defaultdict(list)
    for verdict in verdicts.values():
        for stage in verdict.stages:
            stages[stage.name].append(stage.seconds)
    table = Table("stage", "candidates", "seconds in all", "mean", "most")
    for name, each in stages.items():
        table.add_row(name, str(len(each)), f"{sum(each):.1f}", f"{fmean(each):.2f}", f"{max(each):.1f}")
    console.print(table)
    for case in sorted(verdicts, key=lambda case: -verdicts[case].seconds)[:SLOWEST]:
        one = verdicts[case]
        spent = ", ".join(f"{stage.name} {stage.seconds:.1f}" for stage in one.stages)
        console.print(f"{one.seconds:6.1f} s  {case}  ({spent})", soft_wrap=True)
    rules = Counter(finding.rule for one in verdicts.values() for finding in one.findings[:1])
    console.print("found by: " + ", ".join(f"{rule} {count}" for rule, count in rules.most_common()), soft_wrap=True)


@app.command()
def main(
    out: Path = Path("runs/corpus"),
    device: Literal["auto", "cpu", "cuda"] = "auto",
    isolation: Literal["process", "pooled"] = "pooled",
    timing: bool = True,
    workers: int = 0,
    only: str = "",
) -> None:
    """Judge what has no verdict yet, and print."""
    chosen, console = choose_device(device), Console()
    same_settings(out, {"device": chosen, "isolation": isolation, "timing": timing}, out / "verdicts.jsonl")
    wanted = [case for case in cases() if only in case.id and (case.device != "cpu" or chosen == "cpu")]
    began, before = time.perf_counter(), len(read(out / "verdicts.jsonl"))
    for policy in ("strict", "lenient"):
        known = read(out / "verdicts.jsonl")
        settings = VerifyConfig.model_validate(
            {"device": chosen, "isolation": isolation, "policy": policy, "timing": timing, "workers": workers or None}
        )
        if missing := [case for case in wanted if case.policy == policy and case.id not in known]:
            judge(missing, settings, out / "verdicts.jsonl")
    verdicts = read(out / "verdicts.jsonl")
    show(console, {case.id: verdicts[case.id] for case in wanted})
    lines, cheats = wrong(wanted, verdicts), sum(not case.honest for case in wanted)
    console.print(f"{len(verdicts) - before} verdicts in {time.perf_counter() - began:.0f} s")
    console.print(f"{cheats} cheats, {len(wanted) - cheats} honest; wrong verdicts: {len(lines)}")
    if lines:
        raise SystemExit("\n".join(lines))


if __name__ == "__main__":
    start(app)
