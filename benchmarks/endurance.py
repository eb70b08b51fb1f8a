"""Candidates that crash, hang, eat memory or corrupt CUDA, a tenth of all, through `verify-batch`, killed half way.

    python benchmarks/endurance.py [--device cuda] [--candidates 1000] [--isolation pooled] [--timeout 10]

The other nine tenths are throughput.py's mix. The command is killed with SIGKILL when half of the verdicts are there,
and started again. Then every candidate must have exactly one verdict, what was judged before the kill must not have
been judged again, every right candidate must be correct and no harmful one, and of neither command a process or a
temporary file may be left; otherwise it fails. It works in a temporary folder of its own and leaves nothing.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console
from rich.table import Table
from throughput import KERNELS, mix

from tritonsmith import jsonl
from tritonsmith.verify.pool import choose_device

HEAD = (KERNELS / "level1" / "relu.py").read_text()
"""A right candidate for level1/relu; each harm is put into it."""
FORWARD = "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
LOAD = "tl.load("
HARMS = {
    "hangs in forward": (FORWARD, FORWARD + "        while x is not None:\n            pass\n"),
    "hangs when it is loaded": ("class ModelNew", "while nn is not None:\n    pass\n\n\nclass ModelNew"),
    "overflows the C stack": (
        FORWARD,
        FORWARD + "        deep = iter([1])\n        for _ in range(1 << 20):\n            deep = filter(None, deep)\n"
        "        next(deep)\n",
    ),
    "eats memory at once": (FORWARD, FORWARD + "        hoard = torch.empty(1 << 42, device=x.device)\n"),
    "eats memory bit by bit": (
        FORWARD,
        FORWARD + "        hoard = []\n        while x is not None:\n"
        "            hoard.append(torch.ones(1 << 26, device=x.device))\n",
    ),
    "raises without end": (
        FORWARD, FORWARD + "        again = lambda depth: again(depth + 1)\n        again(0)\n",
    ),
    "stores far outside": ("tl.store(out_ptr +", "tl.store(out_ptr + (1 << 36) +"),
    "loads far outside": ("tl.load(x_ptr +", "tl.load(x_ptr + (1 << 36) +"),
    "hangs in the kernel": (
        "    offsets = ",
        "    while tl.program_id(0) >= 0:\n        tl.atomic_add(out_ptr, 1.0)\n    offsets = ",
    ),
    "traps": (
        "    offsets = ",
        '    tl.inline_asm_elementwise("trap; mov.u32 $0, $1;", "=r,r", [tl.program_id(0)], tl.int32, False, 1)\n'
        "    offsets = ",
    ),
}  # fmt: skip
"""What is replaced in the right candidate, and by what."""


@dataclass
class Ended:
    """One run of the command."""

    seconds: float
    verdicts: int
    """Lines there when it ended."""
    left: list[str]
    """Processes and files that outlived it."""


def harmful() -> dict[str, str]:
    """A source for each kind of harm; raises ValueError for one that cannot be put into the right candidate."""
    sources = {}
    for name, (old, new) in HARMS.items():
        if old not in HEAD:
            raise ValueError(f"{name}: the candidate holds no {old!r}")
        sources[name] = HEAD.replace(old, new, 1)
    return sources


def rows(count: int) -> list[tuple[str, dict[str, object]]]:
    """Kind and row of each candidate; every tenth is harmful."""
    harms = list(harmful().items())
    usual = iter(mix(count))
    made: list[tuple[str, dict[str, object]]] = []
    for number in range(count):
        if number % 10 == 9:
            kind, source = harms[number // 10 % len(harms)]
            made.append((kind, {"task": "level1/relu", "sample": number, "source": f"{source}\n_NUMBER = {number}\n"}))
        else:
            kind, (task, candidate) = next(usual)
            made.append((kind, {"task": task.id, "sample": number, "source": candidate.source}))
    return made


def run(folder: Path, options: list[str], kill_at: int | None) -> Ended:
    """Start the command in a folder, kill it when there are so many verdicts, and see what it leaves."""
    out, start = folder / "out.jsonl", time.perf_counter()
    command = [sys.executable, "-m", "tritonsmith.cli", "verify-batch", "in.jsonl", "--tasks", "suite"]
    command += ["--out", out.name, *options]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        while process.poll() is None:
            if kill_at is not None and _lines(out) >= kill_at:
                process.send_signal(signal.SIGKILL)
                process.wait()
            time.sleep(0.05)
    if process.returncode != (0 if kill_at is None else -signal.SIGKILL):
        raise SystemExit(f"verify-batch ended with {process.returncode}:\n{(folder / 'log').read_text()[-4000:]}")
    seconds = time.perf_counter() - start
    until = time.monotonic() + 10
    while (left := _left(folder)) and time.monotonic() < until:
        time.sleep(0.1)
    return Ended(seconds, _lines(out), left)


def main(
    candidates: int = 1000,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    isolation: Literal["process", "pooled"] = "pooled",
    timeout: float = 10.0,
    workers: int = 0,
) -> None:
    """Run, kill, run again, check, print."""
    console, made = Console(), rows(candidates)
    options = ["--device", choose_device(device), "--set", f"verify.timeout={timeout}"]
    # Some planted bugs bite at other sizes only.
    options += ["--set", "extensions.multi_input=true"]
    options += ["--set", f"verify.isolation={isolation}", *(["--workers", str(workers)] if workers else [])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "tmp").mkdir()
        (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for _, row in made))
        first = run(folder, options, kill_at=candidates // 2)
        before = (folder / "out.jsonl").read_bytes()
        second = run(folder, options, kill_at=None)
        after = (folder / "out.jsonl").read_bytes()
        verdicts = list(jsonl.read(folder / "out.jsonl"))
    wrongs = _wrongs(made, verdicts, first, second, after.startswith(before))
    console.print(_table(made, verdicts))
    for word, ended in (("killed", first), ("resumed", second)):
        console.print(f"{word} after {ended.seconds:.1f} s with {ended.verdicts} lines; left behind: {ended.left or 0}")
    if wrongs:
        raise SystemExit("\n".join(wrongs))
    console.print(f"{len(verdicts)} candidates, {len(verdicts)} verdicts: none lost, none doubled, nothing left")


def _wrongs(
    made: list[tuple[str, dict[str, object]]],
    verdicts: list[dict[str, object]],
    first: Ended,
    second: Ended,
    kept: bool,
) -> list[str]:
    counts = Counter(verdict["sample"] for verdict in verdicts)
    correct = {verdict["sample"] for verdict in verdicts if verdict["correct"]}
    wrongs = [f"left behind: {', '.join(ended.left)}" for ended in (first, second) if ended.left]
    if not kept:
        wrongs.append("the second run changed verdicts of the first")
    for number, (kind, _) in enumerate(made):
        if counts[number] != 1:
            wrongs.append(f"candidate {number} ({kind}) has {counts[number]} verdicts")
        elif (number in correct) != (kind == "right"):
            wrongs.append(f"candidate {number} ({kind}) is {'' if number in correct else 'not '}correct")
    return wrongs


def _table(made: list[tuple[str, dict[str, object]]], verdicts: list[dict[str, object]]) -> Table:
    by_number = {verdict["sample"]: verdict for verdict in verdicts}
    table = Table("kind", "candidates", "correct", "mean seconds", "findings")
    for kind in dict.fromkeys(kind for kind, _ in made):
        own = [by_number[n] for n, (other, _) in enumerate(made) if other == kind and n in by_number]
        rules = Counter(finding["rule"] for v in own for finding in v["findings"][:1])  # type: ignore[index, union-attr]
        seconds = sum(float(str(verdict["seconds"])) for verdict in own) / max(1, len(own))
        row = kind, str(len(own)), str(sum(bool(v["correct"]) for v in own)), f"{seconds:.2f}"
        table.add_row(*row, ", ".join(f"{rule} {count}" for rule, count in rules.most_common(4)))
    return table


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _left(folder: Path) -> list[str]:
    # torchinductor_USER is torch's own cache, one a user, which importing torch makes.
    files = [path.relative_to(folder / "tmp") for path in (folder / "tmp").rglob("*")]
    found = [str(path) for path in files if not path.parts[0].startswith("torchinductor_")]
    for entry in Path("/proc").iterdir():
        try:
            here = entry.name.isdigit() and Path(os.readlink(entry / "cwd")).is_relative_to(folder)
            if here and (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                found.append(f"process {entry.name}")
        except OSError:
            continue
    return found


if __name__ == "__main__":
    typer.run(main)
