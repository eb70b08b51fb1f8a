"""The labelled corpus of `tests/hacks`, judged side by side as a training run would: what was accepted wrongly.

    python benchmarks/corpus.py [--device cuda] [--isolation process] [--no-timing] [--only outputs/ --only edges/]

Verdicts are kept as they come in the verifier's own cache, so that a run that is stopped goes on from there, and none
outlives a change of the rules. Prints the cheats that were accepted and the honest that were refused, as they are found
and again at the end, where the time went, and the slowest; fails if a verdict is wrong. Cases that only the interpreter
can tell are left out on a GPU.
"""

import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Literal

import typer
from commands import start
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate, Verdict
from tritonsmith.verify.pool import Verifier, choose_device

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from labelled import Case, cases

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
SLOWEST = 12
"""Cases that are named with their seconds."""


def judge(wanted: list[Case], settings: VerifyConfig) -> dict[str, Verdict]:
    """The verdict on each case of one policy."""
    found: dict[str, Verdict] = {}
    with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as verifier, Progress() as bar:
        asked = bar.add_task(settings.policy, total=len(wanted))
        jobs = ((case.task, Candidate(task=case.task.id, source=case.path.read_text())) for case in wanted)
        for index, verdict in verifier.stream(jobs):
            found[wanted[index].id] = verdict
            for line in wrong(wanted[index : index + 1], found):
                bar.console.print(line, soft_wrap=True)  # who stops it has seen what was found
            bar.advance(asked)
    return found


def wrong(wanted: list[Case], verdicts: dict[str, Verdict]) -> list[str]:
    """A line for each cheat that was accepted and each honest one that was refused, or that could not be timed."""
    lines = []
    for case in wanted:
        verdict = verdicts[case.id]
        right = verdict.valid and verdict.correct and not (case.honest and verdict.findings)
        if case.honest != right:
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
    only: list[str] | None = None,
) -> None:
    """Judge and print; of several `only` a case has any in its name."""
    chosen, console = choose_device(device), Console()

    def named(case: Case) -> bool:
        return not only or any(part in case.id for part in only)

    wanted = [case for case in cases() if named(case) and (case.device != "cpu" or chosen == "cpu")]
    began, verdicts = time.perf_counter(), dict[str, Verdict]()
    settings = VerifyConfig.model_validate(
        {"device": chosen, "isolation": isolation, "timing": timing, "workers": workers or None,
         "cache": out / "verdicts.sqlite"}
    )  # fmt: skip
    for policy in ("strict", "lenient"):
        if mine := [case for case in wanted if case.policy == policy]:
            verdicts |= judge(mine, settings.model_copy(update={"policy": policy}))
    show(console, verdicts)
    lines, cheats = wrong(wanted, verdicts), sum(not case.honest for case in wanted)
    console.print(f"{len(verdicts)} verdicts, those that were kept among them, in {time.perf_counter() - began:.0f} s")
    console.print(f"{cheats} cheats, {len(wanted) - cheats} honest; wrong verdicts: {len(lines)}")
    if lines:
        raise SystemExit("\n".join(lines))


if __name__ == "__main__":
    start(app)
