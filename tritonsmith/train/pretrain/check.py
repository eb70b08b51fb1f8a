"""What a trained model can do: draw completions of tasks it has not seen, judge them, print a table.

This is `evaluate` with the model as it was saved; the records lie beside it and a second call goes on with them.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console

from tritonsmith import evaluate
from tritonsmith.config import EvalConfig, ModelConfig, VerifyConfig
from tritonsmith.progress import Watched
from tritonsmith.train import models, trainer
from tritonsmith.train.generate import Sampler
from tritonsmith.types import Record, Task
from tritonsmith.verify.pool import Verifier

TOKENS = 1536
"""Tokens that a completion may have."""


def check(model: Path, tasks: Sequence[Task], samples: int, out: Path) -> list[Record]:
    """Judge `samples` completions of each task (one: the greedy one) on this machine's device; print the shares."""
    cuda = torch.cuda.is_available()
    config = ModelConfig(id=str(model), dtype="bfloat16" if cuda else "float32")
    loaded, tokenizer = models.load(config)
    sampler = Sampler(trainer.to_device(loaded), tokenizer, models.prompt_style(config))
    drawing = EvalConfig(
        samples=samples,
        temperature=0.0 if samples == 1 else 0.8,
        max_new_tokens=TOKENS,
        batch=512 if cuda else 32,
    )
    name = "greedy" if samples == 1 else f"drawn-{samples}"
    with Verifier(VerifyConfig(device="cpu", timing=False)) as verifier:
        records = evaluate.evaluate(sampler, tasks, Watched(verifier), drawing, out / "check" / f"{name}.jsonl")
    Console().print(evaluate.table({"all": records, **_by_family(tasks, records)}, title=str(model)))
    return records


def _by_family(tasks: Sequence[Task], records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records by the first word of their task's graph, which names its family, where there is one."""
    family = {task.id: (task.graph or "").partition(":")[0] for task in tasks}
    groups: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        if family[record.task]:
            groups[family[record.task]].append(record)
    return dict(sorted(groups.items())) if len(groups) > 1 else {}
