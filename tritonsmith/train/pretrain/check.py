"""What a trained model can do: draw completions of tasks it has not seen, judge them, print a table.

This is `evaluate` with the model as it was saved; the records lie beside it and a second call goes on with them.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from rich.console import Console

from tritonsmith import evaluate
from tritonsmith.config import EvalConfig, ExtensionsConfig, ModelConfig, VerifyConfig
from tritonsmith.progress import Watched
from tritonsmith.train import models, trainer
from tritonsmith.train.generate import Sampler
from tritonsmith.types import Record, Task
from tritonsmith.verify.pool import Verifier

TOKENS = 1536
"""Tokens that a completion may have: the longest of a hundred graphs of 7 to 12 operators had some 1,100."""


def check(
    model: Path,
    tasks: Sequence[Task],
    samples: int,
    out: Path,
    families: Mapping[str, str] | None = None,
    tokens: int = TOKENS,
) -> list[Record]:
    """Judge `samples` completions of each task (one: the greedy one) as `data build` judges pairs; print the shares.

    That is without timing, and at other sizes, in half precision and on other values too (extension 1). The tasks'
    `families` by their ids, where they are known, give the table a line each.
    """
    cuda = torch.cuda.is_available()
    config = ModelConfig(id=str(model), dtype="bfloat16" if cuda else "float32")
    loaded, tokenizer = models.load(config)
    sampler = Sampler(trainer.to_device(loaded), tokenizer, models.prompt_style(config))
    drawing = EvalConfig(
        samples=samples,
        temperature=0.0 if samples == 1 else 0.8,
        max_new_tokens=tokens,
        batch=512 if cuda else 32,
    )
    name = hashlib.sha256("\n".join([str(samples), *(task.id for task in tasks)]).encode()).hexdigest()[:10]
    with Verifier(VerifyConfig(timing=False), extensions=ExtensionsConfig(multi_input=True)) as verifier:
        records = evaluate.evaluate(sampler, tasks, Watched(verifier), drawing, out / "check" / f"{name}.jsonl")
    Console().print(evaluate.table({"all": records, **_grouped(records, families or {})}, title=str(model)))
    return records


def _grouped(records: Sequence[Record], families: Mapping[str, str]) -> dict[str, list[Record]]:
    groups: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.task in families:
            groups[families[record.task]].append(record)
    return dict(sorted(groups.items())) if len(groups) > 1 else {}
