"""Seconds for the whole verdict on a large task: ReLU at 4096 x 393216 in float32, 6.4 GB in and 6.4 GB out.

    python benchmarks/large.py [--device cuda]

Every variant and timing are included; the pool's start is not, a small candidate before it takes that. On a machine
without a GPU the task is scaled to what the interpreter bears, and the verdict says to what.
"""

import time
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Candidate
from tritonsmith.verify.pool import Verifier

KERNEL = (Path(__file__).parents[1] / "examples/kernels/level1/relu.py").read_text()
SIZES = """
batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
"""


def main(device: Literal["auto", "cpu", "cuda"] = "auto") -> None:
    """Judge and print."""
    console = Console()
    small = next(task for task in load_spec("suite:level1") if task.id == "level1/relu")
    source = f"import torch\nfrom torch import nn\n\n\n{_model(small.source)}{SIZES}"
    large = small.model_copy(update={"id": "relu/4096x393216", "source": source})
    with Verifier(VerifyConfig(device=device), extensions=ExtensionsConfig(multi_input=True)) as verifier:
        verifier.verify(small, Candidate(task=small.id, source=KERNEL))
        start = time.perf_counter()
        verdict = verifier.verify(large, Candidate(task=large.id, source=KERNEL))
        seconds = time.perf_counter() - start
    for stage in verdict.stages:
        console.print(f"{stage.name:8} {stage.seconds:7.2f} s  {stage.detail}")
    console.print(f"{seconds:.1f} s in all on {verdict.device}; {'correct' if verdict.correct else 'NOT correct'}")
    if not verdict.correct:
        raise SystemExit(1)


def _model(source: str) -> str:
    """The text of the class Model."""
    start = source.index("class Model")
    return source[start : source.index("\n\n\n", start) + 3]


if __name__ == "__main__":
    typer.run(main)
