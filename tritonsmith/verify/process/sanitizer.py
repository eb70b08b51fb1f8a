"""NVIDIA's compute-sanitizer on request: an accepted candidate runs once more, at tiny sizes, under its tools.

The tool must start the process that it watches, so this is no fork of the zygote but a fresh interpreter (`sanitized`),
given the candidate and its inputs in a file. Each tensor is an allocation of its own there, so that memcheck sees an
access one byte beyond it. The report is written where the candidate may not write. Checks no values: those were
compared before. Not covered: accesses that stay within another tensor, and races in global memory, which racecheck does
not look at.
"""

import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from tritonsmith.types import Finding
from tritonsmith.verify.process import scratch, wire
from tritonsmith.verify.process.zygote import Zygote
from tritonsmith.verify.sandbox import Limits

Tool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
TOOLS: tuple[Tool, ...] = get_args(Tool)
SECONDS = 120.0
"""How long a candidate may take under a tool; starting an interpreter and CUDA is most of it."""
FRAME, ANSWER = "frame", "answer"
"""Files in the program's folder: what it is to do, and what came of it."""
_ROOT = str(Path(__file__).resolve().parents[3])
_PRINTED = 50
"""Errors that a report lists."""
_SHOWN = 8
"""Findings that a verdict lists."""
AT_ONCE = threading.Semaphore(4)
"""Candidates at a time, to be waited for before the GPU is used: each needs some GB of the host's memory."""


def find() -> Path | None:
    """The program, on PATH or in the CUDA toolkit's folder; None where it is not installed."""
    if (found := shutil.which("compute-sanitizer")) is not None:
        return Path(found)
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [Path(home) / "bin" / "compute-sanitizer" for home in homes if home]
    return next((place for place in places if os.access(place, os.X_OK)), None)


@dataclass(frozen=True)
class Report:
    """What one run of a tool found."""

    findings: list[Finding]
    complete: bool
    """Whether the tool came to its summary, without an error of its own."""
    trouble: str
    """What the tool says of itself where it is not complete."""


@dataclass(frozen=True)
class Sanitizer:
    """Runs the tools on one GPU."""

    program: Path
    tools: tuple[Tool, ...]
    zygote: Zygote
    limits: Callable[[Path], Limits]
    """What the candidate may use, given its folder."""
    gpu: int
    seconds: float = SECONDS

    def check(self, header: dict[str, object], tree: object) -> list[Finding]:
        """What the tools find; `header` and `tree` as `sanitized` reads them. A run that tells nothing is a finding."""
        for tool in self.tools:
            if found := self._run(tool, header, tree):
                return found
        return []

    def _run(self, tool: Tool, header: dict[str, object], tree: object) -> list[Finding]:
        folder, log = scratch.new(), scratch.new() / "report.txt"
        limits = self.limits(folder)
        limits = replace(limits, readable=(*limits.readable, str(self.program.resolve().parent)))
        frame = wire.encode({**header, "limits": asdict(limits)}, tree)  # type: ignore[arg-type]
        (folder / FRAME).write_bytes(b"".join(frame))
        running = self.zygote.run(command(self.program, tool, log, folder / FRAME), folder, self.gpu)
        deadline = time.monotonic() + self.seconds
        try:
            while not (ended := self.zygote.ended(running)) and time.monotonic() < deadline:
                time.sleep(0.05)
            answer = _answer(folder / ANSWER)
        finally:
            self.zygote.end(running)
        report = parse(log.read_text(errors="replace") if log.exists() else "")
        shutil.rmtree(log.parent, ignore_errors=True)
        return judge(tool, report, answer, ended)


def command(program: Path, tool: Tool, log: Path, frame: Path) -> list[str]:
    """The command line that runs `sanitized` under a tool (Compute Sanitizer manual, "Command Line Options")."""
    options = ["--tool", tool, "--log-file", str(log), "--print-limit", str(_PRINTED), "--show-backtrace", "no"]
    # Errors of API calls are the echo of a kernel's; the children are compilers.
    options += ["--report-api-errors", "no", "--target-processes", "application-only"]
    options += ["--destroy-on-device-error", "kernel"] if tool == "memcheck" else []
    # It starts in a folder of its own, from which a checkout that is not installed would not be found.
    begin = "from tritonsmith.verify.process import sanitized; sanitized.main()"
    start = f"import sys; sys.path.insert(0, {_ROOT!r}); {begin}"
    return [str(program), *options, sys.executable, "-c", start, str(frame)]


def judge(tool: Tool, report: Report, answer: dict[str, object] | None, ended: bool) -> list[Finding]:
    """The findings of a run: the report's, else what kept the run from telling anything."""
    if report.findings:
        return report.findings[:_SHOWN]
    if not ended:
        return [Finding(rule="timeout", message=f"no end under compute-sanitizer's {tool} in time")]
    if isinstance(error := (answer or {}).get("error"), dict):
        message, line = f"{error.get('kind')}: {error.get('message')}", error.get("line")
        line = line if isinstance(line, int) else None
        return [Finding(rule="sanitizer", message=f"under {tool}: {message}"[:2000], line=line)]
    if answer is None or not report.complete:
        trouble = report.trouble or "the program it watched did not end as it should"
        return [Finding(rule="untold", message=f"compute-sanitizer's {tool} tells nothing: {trouble}")]
    return []


_PREFIX = "========="
_HEADS: tuple[tuple[str, str], ...] = (
    (r"(?:Potential )?[Ii]nvalid __\w+__ \w+ of size", "out-of-bounds"),
    (r"Uninitialized (?:__\w+__ )?\w* ?(?:memory )?read|Host API uninitialized memory access", "uninitialised"),
    (r"(?:Error|ERROR): (?:Race reported|Potential \w+ hazard)", "race"),
    (r"(?:Barrier|Syncwarp) (?:error|called)|Deadlock detected", "barrier"),
)
"""How the first line of a record begins, and the rule that it breaks; `_KNOWN` ones are not records."""
_KNOWN = re.compile(r"COMPUTE-SANITIZER|\w+ SUMMARY:|(?i:warning|warn|info)\b|Program hit|Target application|Tracking")
_TROUBLE = re.compile(r"Internal Sanitizer Error|Error: (?!Race|process didn't)|\w*[Ii]nstrumented API call")
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (?:\d+ hazards? displayed \()?(\d+) errors?")
_PLACE = re.compile(r"(?:^at|^Device Frame:| access at) ?(?P<kernel>[\w$]+).*? in (?P<file>\S+?):(?P<line>\d+)")
_KERNEL = re.compile(r"(?:at|.* access at) (?:0x[0-9a-f]+ in )?(?P<kernel>[\w$]+)")


def parse(text: str, file: str = "candidate.py") -> Report:
    """Read a report in the tools' text format; lines are those of `file`, and equal errors of threads count once."""
    findings: dict[tuple[str, str, int | None], Finding] = {}
    counts: dict[tuple[str, str, int | None], int] = {}
    trouble, summary = "", None
    for head, body in _records(text):
        if summary is None and (match := _SUMMARY.match(head)):
            summary = int(match[1])
        rule = next((rule for start, rule in _HEADS if re.match(start, head)), None)
        if rule is None and _TROUBLE.match(head):
            trouble = trouble or head
        if rule is None and (_KNOWN.match(head) or not any(line.startswith("at ") for line in body)):
            continue
        found = _finding(rule or "sanitizer", head, body, file)
        key = found.rule, found.message.partition(":")[0], found.line
        findings.setdefault(key, found)
        counts[key] = counts.get(key, 0) + 1
    told = [
        found.model_copy(update={"message": f"{found.message} ({counts[key]} threads)"}) if counts[key] > 1 else found
        for key, found in findings.items()
    ]
    if summary and not told:
        told = [Finding(rule="sanitizer", message=f"compute-sanitizer counts {summary} errors")]
    return Report(told, complete=summary is not None and not trouble, trouble=trouble)


def _records(text: str) -> Iterator[tuple[str, list[str]]]:
    """The first line of each record, and those below it, which are indented."""
    head, body = "", []
    for line in text.splitlines():
        if not line.strip().startswith(_PREFIX):
            continue
        rest = line.strip().removeprefix(_PREFIX)
        if rest.startswith("   ") and rest.strip():
            body.append(rest.strip())
            continue
        if head:
            yield head, body
        head, body = rest.strip(), []
    if head:
        yield head, body


def _finding(rule: str, head: str, body: list[str], file: str) -> Finding:
    lines = [head, *body]
    if rule == "out-of-bounds" and any("misaligned" in line for line in body):
        rule = "misaligned"
    kernel = next((match["kernel"] for line in lines if (match := _KERNEL.match(line))), "")
    places = [match for line in lines if (match := _PLACE.search(line))]
    mine = [int(match["line"]) for match in places if Path(match["file"]).name == file]
    details = [line for line in body if not line.startswith(("at ", "Saved host", "Host Frame", "Device Frame"))]
    name = f"kernel {kernel}" if kernel else "a kernel"
    message = f"{name}: {head}; {'; '.join(details)}" if details else f"{name}: {head}"
    return Finding(rule=rule, message=message[:1000], line=mine[0] if mine else None)


def _answer(path: Path) -> dict[str, object] | None:
    """What the program said; anything else that lies there is the candidate's."""
    try:
        found = json.loads(path.read_text(errors="replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
