"""A/A: a kernel timed against itself, as reference and as candidate, 30 kernels of 3 us to 10 ms; needs a GPU.

    python benchmarks/timing.py [--kernels 30] [--sessions 20] [--minutes 8]

The same Triton kernel is the task's `Model`, run by the judge, and the candidate's `ModelNew`, run in a runner's
process, so every speedup but 1 is the timing's own error. Each session is a runner and inputs of its own. Three ways
are compared on the same processes: `calibrated` as the verifier does it, `trimmed` (the source documents': 10 warm-ups,
50 event-timed trials, 10 % trimmed at each end, reference first and candidate after, launches not hidden) and `single`
(extension 4 off). The first records its trials as CUDA graphs, the others launch. Printed: the share of sessions whose
speedup is within 1 % of 1, once as it was measured and once as it counts (1 where it is not significant), the
coefficient of variation of the candidate's time over the sessions, the share of sessions whose interval excludes 1, and
of those that were recorded. Each kernel has its first session before any has its second, and no second begins after the
given minutes: how many there were is printed.
"""

import contextlib
import math
import time
from dataclasses import dataclass

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tritonsmith import reward
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.format import TaskModule
from tritonsmith.types import Finding, Mismatch, Task, Timing
from tritonsmith.verify import measure, numerics, timing
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.process.zygote import Zygote
from tritonsmith.verify.rechecked import Subject

KERNEL = """
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def repeated_kernel(x_ptr, y_ptr, n, repeats, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    for _ in range(repeats):
        x = x * 1.0001 + 0.5
    tl.store(y_ptr + offsets, x, mask=offsets < n)


class {name}(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        repeated_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), {repeats}, BLOCK=1024)
        return y
"""
INPUTS = """

def get_inputs():
    return [torch.randn({size})]


def get_init_inputs():
    return []
"""
WAYS = ("calibrated", "trimmed", "single")
COLUMNS = ("measured within 1 %", "counted within 1 %", "CV %", "significant")


@dataclass(frozen=True)
class Session:
    """One way's result in one session."""

    speedup: float
    """As it was measured."""
    counted: float
    """As it counts; see `reward.counted`."""
    milliseconds: float
    significant: bool
    recorded: bool
    """Whether its trials were CUDA graphs."""


def kernels(count: int) -> list[tuple[int, int]]:
    """Sizes and repeats whose times spread evenly, on a logarithmic scale, over 3 us to 10 ms on one H200.

    Odd ones below a millisecond are bound by memory (8 bytes an element), the others by arithmetic (2 operations a
    repeat).
    """
    chosen = []
    for number, seconds in enumerate(np.geomspace(3e-6, 10e-3, count)):
        if number % 2 and seconds < 1e-3:
            chosen.append((max(1024, int((seconds - 2e-6) * 3.9e12 / 8)), 1))
        else:
            elements = 132 * 4 * 1024
            chosen.append((elements, max(1, int((seconds - 2e-6) * 25e12 / 2 / elements))))
    return chosen


def session(judge: Judge, size: int, repeats: int) -> dict[str, Session]:
    """Time one kernel against itself in each way, with one runner."""
    source = KERNEL.format(name="Model", repeats=repeats) + INPUTS.format(size=size)
    task = Task(id=f"{size}x{repeats}", level=1, source=source)
    found = {}
    for way, result in _timings(judge, task, KERNEL.format(name="ModelNew", repeats=repeats)).items():
        speedup = result.speedup
        significant = speedup.low > 1 or speedup.high < 1
        found[way] = Session(speedup.median, reward.counted(speedup), result.candidate_ms, significant, result.recorded)
    return found


def _timings(judge: Judge, task: Task, candidate: str) -> dict[str, Timing]:
    gpu = judge.gpu
    if gpu is None:
        raise SystemExit("benchmarks/timing.py needs a GPU")
    talk = judge.conversation()
    try:
        talk.load("cuda", candidate, judge.target)
        module = TaskModule.of(task)
        subject = Subject(
            talk=talk,
            beside=gpu.shared,
            model=lambda: module.model(0, "cuda"),
            draw=lambda _: module.inputs(0, "cuda"),
            build=lambda model: _build(talk),
            truth=lambda model, inputs: numerics.Truth(model(*inputs), model(*inputs)),
            sets=3,
        )
        results = {
            way: measure.measure(subject, gpu, preset)
            for way, preset in (("calibrated", timing.CALIBRATED), ("trimmed", TRIMMED), ("single", timing.SINGLE))
        }
    finally:
        talk.close(clean=True)
    for result in results.values():
        if isinstance(result, (Finding, Mismatch)):
            raise SystemExit(f"the kernel was refused: {result}")
    return {way: result for way, result in results.items() if isinstance(result, Timing)}


TRIMMED = timing.Preset(10, 50, 0.1, blocks=1, hide=False)


def _build(talk: Conversation) -> None:
    talk.ask("cuda", {"do": "build", "seed": 0, "dtype": None}, {"init": [], "state": {}})


def main(
    count: int = typer.Option(30, "--kernels"),
    repeated: int = typer.Option(20, "--sessions"),
    minutes: float = 60.0,
    isolation: str = "process",
) -> None:
    """Measure and print."""
    console = Console(width=180)
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks/timing.py needs a GPU")
    settings = VerifyConfig.model_validate({"device": "cuda", "isolation": isolation, "workers": 1})
    chosen, ends = kernels(count), time.monotonic() + 60 * minutes
    found: list[dict[str, list[Session]]] = [{way: [] for way in WAYS} for _ in chosen]
    zygote = Zygote(interpret=False)
    judge = Judge(settings, ExtensionsConfig(), "cuda", {"capture": zygote, "cuda": zygote})
    with contextlib.closing(zygote), contextlib.closing(judge), Progress(console=Console(stderr=True)) as bar:
        asked = bar.add_task("sessions", total=repeated * count)
        for number in range(repeated):
            if number and time.monotonic() > ends:
                break
            for kernel, (size, repeats) in zip(found, chosen, strict=True):
                for way, one in session(judge, size, repeats).items():
                    kernel[way].append(one)
                bar.advance(asked)
    show(console, found)


def show(console: Console, found: list[dict[str, list[Session]]]) -> None:
    """Print each kernel and, for each way, all of them."""
    table = Table("us", *(f"{way}: {what}" for way in WAYS for what in COLUMNS))
    for kernel in found:
        microseconds = 1e3 * np.median([one.milliseconds for one in kernel["calibrated"]])
        table.add_row(f"{microseconds:.1f}", *(cell for way in WAYS for cell in _cells(kernel[way])))
    console.print(table)
    for way in WAYS:
        flat = [one for kernel in found for one in kernel[way]]
        variations = [_variation(kernel[way]) for kernel in found]
        console.print(
            f"{way}: within 1 % of 1 in {_near(flat):.1%} of {len(flat)} as measured, "
            f"in {_near(flat, counted=True):.1%} as it counts; "
            f"CV median {np.median(variations):.2%}, worst {max(variations):.2%}, "
            f"at most 1 % for {_share(v <= 0.01 for v in variations):.0%} of the kernels; "
            f"significant in {_share(s.significant for s in flat):.1%}; "
            f"{_share(s.recorded for s in flat):.0%} of the sessions were recorded"
        )


def _cells(found: list[Session]) -> list[str]:
    near, counts, apart = _near(found), _near(found, counted=True), _share(s.significant for s in found)
    return [f"{near:.0%}", f"{counts:.0%}", f"{100 * _variation(found):.2f}", f"{apart:.0%}"]


def _near(found: list[Session], counted: bool = False) -> float:
    return _share(abs((one.counted if counted else one.speedup) - 1) <= 0.01 for one in found)


def _variation(found: list[Session]) -> float:
    times = np.array([session.milliseconds for session in found])
    return float(times.std(ddof=1) / times.mean()) if len(times) > 1 else math.nan


def _share(flags: object) -> float:
    return float(np.mean(list(flags)))  # type: ignore[call-overload]


if __name__ == "__main__":
    typer.run(main)
