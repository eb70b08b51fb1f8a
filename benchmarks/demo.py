"""The demo over several seeds: does best-of-N beat SFT on held-out deeper fusions?

    python benchmarks/demo.py [--seeds 0,1,2] > benchmarks/demo.md

Each seed is `tritonsmith run configs/demo.toml` in a folder of its own; SFT, the baseline, is evaluated in the same
run, on the same tasks, with the same sampling seeds. Prints a Markdown report; a run that is there already is
resumed, so its time is then not the whole one.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import psutil
import typer

from tritonsmith.report.build import compare


def main(
    seeds: Annotated[str, typer.Option(help="run.seed of each run")] = "0,1,2",
    config: Path = Path("configs/demo.toml"),
    out: Annotated[Path, typer.Option(help="folder of the runs")] = Path("runs/demo-seeds"),
    set_: Annotated[list[str] | None, typer.Option("--set", help="as for `tritonsmith run`")] = None,
) -> None:
    """Run, measure, print."""
    folders, costs = [], []
    for seed in seeds.split(","):
        folder = out / f"seed-{seed}"
        costs.append((seed, *run(config, folder, [f"run.seed={seed}", *(set_ or [])])))
        folders.append(folder)
    typer.echo("# The demo over several seeds\n")
    typer.echo(f"`python benchmarks/demo.py --seeds {seeds} > benchmarks/demo.md`, two CPU cores, no GPU.\n")
    typer.echo(compare(folders))
    typer.echo("\n| seed | minutes | peak memory (GB, all processes) |\n|---|---|---|")
    for seed, seconds, peak in costs:
        typer.echo(f"| {seed} | {seconds / 60:.1f} | {peak / 1e9:.1f} |")


def run(config: Path, folder: Path, settings: list[str]) -> tuple[float, int]:
    """One run; returns its seconds and the peak of its processes' proportional memory in bytes."""
    command = [sys.executable, "-m", "tritonsmith.cli", "run", str(config)]
    for setting in (f"run.dir={folder}", *settings):
        command += ["--set", setting]
    start, peak = time.monotonic(), 0
    process = subprocess.Popen(command, stdout=sys.stderr)
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        time.sleep(1)
    if process.returncode != 0:
        raise typer.Exit(process.returncode)
    return time.monotonic() - start, peak


def memory(pid: int) -> int:
    """Bytes of a process and all below it, shared pages counted once."""
    total = 0
    try:
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            total += process.memory_full_info().pss
    except psutil.NoSuchProcess:
        return total
    return total


if __name__ == "__main__":
    typer.run(main)
