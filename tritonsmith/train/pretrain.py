"""Make nano from nothing: generate tasks, verify their pairs, learn a tokenizer, train, check, save.

    python -m tritonsmith.train.pretrain --out runs/nano --generate 20000 --minutes 4

reproduces the shipped weights on one GPU in about ten minutes; `--device cpu --minutes 0.2 --generate 64` is a
smoke test. Trains on completions only, from graphs of depth 1 to `--depth` of the train split. Verified pairs are kept
in `pairs.jsonl` as they come, and `--pairs` takes them back. Each graph's kernel is verified once, on one writing
of its task; training sees the task in `--styles` writings.
"""

import json
import logging
import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import count, islice
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Annotated

import torch
import torch.nn.functional as F
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast, Qwen3ForCausalLM

from tritonsmith import jsonl
from tritonsmith.config import ModelConfig, VerifyConfig
from tritonsmith.data import build
from tritonsmith.extract import extract
from tritonsmith.prompts import messages
from tritonsmith.tasks import synthetic
from tritonsmith.tasks.graph import Graph
from tritonsmith.train import models
from tritonsmith.train import tokenizer as bpe
from tritonsmith.train.generate import Sampler
from tritonsmith.types import Candidate, Task
from tritonsmith.verify.pool import Verifier

log = logging.getLogger(__name__)

BATCH = 16
"""Tasks that a worker verifies before the clock is looked at again."""
WARMUP = 100
"""Steps of linear warm-up."""


@dataclass(frozen=True)
class Recipe:
    """How long and how to train."""

    minutes: float = 4.0
    batch: int = 1024
    """Sequences a step; one is about 70 tokens long."""
    lr: float = 2e-3
    seed: int = 0


# -- data --------------------------------------------------------------------------------------------------


def collect(n: int, path: Path, depth: int, seed: int, minutes: float, workers: int) -> list[build.Row]:
    """Verified pairs of up to n distinct train graphs of depth 1 to `depth`, appended to `path` as they are found."""
    deadline = time.monotonic() + 60 * minutes
    rows = build.read_pairs(path)
    batches = _batches_of_tasks({row.graph for row in rows}, depth, seed)
    with _judges(workers) as pool:
        waiting: set[Future[list[build.Row]]] = set()
        while len(rows) < n and time.monotonic() < deadline:
            missing = min(3 * workers, -(-(n - len(rows)) // BATCH)) - len(waiting)
            waiting |= {pool.submit(_verified, batch) for batch in islice(batches, max(0, missing))}
            done, waiting = wait(waiting, timeout=5, return_when=FIRST_COMPLETED)
            fresh = [row for future in done for row in future.result()]
            for row in fresh:
                jsonl.append(path, row.model_dump_json())
            rows += fresh
            log.info("%d verified pairs", len(rows))
        pool.shutdown(wait=True, cancel_futures=True)
    return rows


def _batches_of_tasks(known: set[str], depth: int, seed: int) -> Iterator[list[Task]]:
    """Batches of tasks whose graphs are neither known nor repeated, without end."""
    for one in count(1000 * seed):
        # Every other batch is shallow: the deepest graphs are seldom seen, so that depth stays a matter of degree.
        deepest = depth if one % 2 else min(depth, 3)
        tasks = [task for task in synthetic.generate(256, one, (1, deepest)) if task.graph not in known]
        known |= {str(task.graph) for task in tasks}
        yield from (tasks[i : i + BATCH] for i in range(0, len(tasks), BATCH))


_verifier: Verifier | None = None
"""A worker's own verifier: judges in 16 threads of one process would wait for its interpreter lock."""


def _open_verifier() -> None:
    global _verifier
    torch.set_num_threads(1)
    _verifier = Verifier(VerifyConfig(device="cpu", timing=False, workers=1))
    Finalize(None, _verifier.close, exitpriority=10)


def _judges(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"), initializer=_open_verifier)


def _own_verifier() -> Verifier:
    if _verifier is None:
        raise RuntimeError("only a worker of `_judges` has a verifier")
    return _verifier


def _verified(tasks: list[Task]) -> list[build.Row]:
    return build.verified_pairs(tasks, _own_verifier())


def spell_out(rows: Sequence[build.Row], styles: int, workers: int) -> list[tuple[str, str]]:
    """Prompt and completion of every row in that many writings of its task."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = [(row.graph, row.completion[0]["content"], styles) for row in rows]
        return [pair for pairs in pool.map(_writings, jobs, chunksize=64) for pair in pairs]


def _writings(job: tuple[str, str, int]) -> list[tuple[str, str]]:
    text, completion, styles = job
    graph = Graph.parse(text)
    tasks = (synthetic.task(graph, style) for style in range(styles))
    return [(messages(task, "bare")[0]["content"], completion) for task in tasks]


def encode(tokenizer: PreTrainedTokenizerFast, pairs: Sequence[tuple[str, str]]) -> tuple[Tensor, Tensor]:
    """Token ids (N, L), padded on the right, and the labels: -100 everywhere but on completion and end."""
    pad, end, task, answer = (tokenizer.get_vocab()[t] for t in (bpe.PAD, bpe.END, bpe.TASK, bpe.ANSWER))
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    prompts = [[task, *one.ids, answer] for one in backend.encode_batch([prompt for prompt, _ in pairs])]
    answers = [[*one.ids, end] for one in backend.encode_batch([completion for _, completion in pairs])]
    length = max(len(a) + len(b) for a, b in zip(prompts, answers, strict=True))
    ids = torch.full((len(pairs), -(-length // 16) * 16), pad, dtype=torch.int32)
    labels = torch.full_like(ids, -100)
    for i, (a, b) in enumerate(zip(prompts, answers, strict=True)):
        ids[i, : len(a) + len(b)] = torch.tensor(a + b)
        labels[i, len(a) : len(a) + len(b)] = torch.tensor(b)
    return ids, labels


# -- training ----------------------------------------------------------------------------------------------


def fit(model: PreTrainedModel, ids: Tensor, labels: Tensor, recipe: Recipe, device: str) -> None:
    """Train in place until the time is over: AdamW, cosine over the time, bfloat16 and compiled on a GPU.

    Sequences are padded on the right and attention is causal, so padding needs no mask.
    """
    cuda = device == "cuda"
    torch.set_float32_matmul_precision("high")
    torch.nn.Module.to(model, device)
    model.train()
    ids, labels = ids.to(device), labels.to(device)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.lr, betas=(0.9, 0.95), fused=cuda)

    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        with torch.autocast(device, torch.bfloat16, enabled=cuda):
            logits = model(input_ids=x, use_cache=False).logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), y[:, 1:].flatten().long(), ignore_index=-100)

    step_loss = torch.compile(loss_of) if cuda else loss_of
    begin, reported = time.monotonic(), 0.0
    for step, batch in enumerate(_batches(len(ids), recipe, device), start=1):
        progress = (time.monotonic() - begin) / (60 * recipe.minutes)
        if progress >= 1:
            break
        scale = min(1.0, step / WARMUP) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = recipe.lr * scale
        loss = step_loss(ids[batch], labels[batch])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step == 1:
            loss.item()
            begin = time.monotonic()  # compiling is not training
        if time.monotonic() - reported > 10:
            reported = time.monotonic()
            rate = step * batch.numel() * ids.shape[1] / max(reported - begin, 1e-3)
            epoch = step * batch.numel() / len(ids)
            log.info("step %d  epoch %.2f  loss %.4f  %.0f tokens/s", step, epoch, loss.item(), rate)


def _batches(n: int, recipe: Recipe, device: str) -> Iterator[Tensor]:
    """Indices without end, every row once an epoch; all batches have one size."""
    generator = torch.Generator().manual_seed(recipe.seed)
    size = min(recipe.batch, n)
    while True:
        order = torch.randperm(n, generator=generator).to(device)
        yield from order[: n // size * size].view(-1, size)


# -- check -------------------------------------------------------------------------------------------------


def check(path: Path, trained: int, size: int, samples: int, workers: int, seed: int) -> list[dict[str, object]]:
    """Share correct on held-out graphs by depth, of the model as saved; up to three deeper than it was
    trained on, which are also sampled.

    Writes each depth's row to `check.jsonl` beside the model as soon as it is known.
    """
    sampler = Sampler(*models.load(ModelConfig(id=str(path))), "bare")
    rows: list[dict[str, object]] = []
    with _judges(workers) as judges:
        for depth in range(1, trained + 4):
            tasks = _heldout(depth, size, seed)
            row: dict[str, object] = {"depth": depth, "tasks": len(tasks)}
            greedy = _judge(sampler, judges, tasks, 1, 0.0)
            row["greedy"] = _share(greedy)
            for family in synthetic.FAMILIES:
                row[family] = _share(
                    [hit for task, hit in zip(tasks, greedy, strict=True) if family in str(task.graph)]
                )
            if depth > trained:
                hits = _judge(sampler, judges, tasks, samples, 0.8)
                row["sampled"] = _share(hits)
                row[f"any of {samples}"] = sum(map(any, hits)) / len(hits)
            rows.append(row)
            with (path / "check.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")
            log.info("%s", row)
    return rows


def _heldout(depth: int, size: int, seed: int) -> list[Task]:
    """Held-out tasks of one depth; of the few graphs of depth 1, those there are."""
    rng = random.Random(seed)
    while True:
        try:
            return synthetic.generate(size, rng.randrange(1 << 30), (depth, depth), "heldout")
        except ValueError:
            size -= max(1, size // 8)


def _judge(
    sampler: Sampler, judges: ProcessPoolExecutor, tasks: Sequence[Task], n: int, temperature: float
) -> list[list[bool]]:
    texts = sampler.sample([messages(t, "bare") for t in tasks], n, temperature=temperature, max_new_tokens=256)
    return list(judges.map(_are_correct, tasks, texts))


def _are_correct(task: Task, texts: Sequence[str]) -> list[bool]:
    candidates = [Candidate(task=task.id, sample=i, source=extract(text).source) for i, text in enumerate(texts)]
    return [verdict.correct for verdict in _own_verifier().verify_many([(task, one) for one in candidates])]


def _share(hits: Sequence[Sequence[bool]]) -> float | None:
    flat = [hit for row in hits for hit in row]
    return sum(flat) / len(flat) if flat else None


def show(rows: Sequence[dict[str, object]]) -> None:
    """Print the check as a table."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(*columns, title="share correct on held-out graphs")
    for row in rows:
        cells = (row.get(column) for column in columns)
        table.add_row(*("" if c is None else f"{c:.0%}" if isinstance(c, float) else str(c) for c in cells))
    Console().print(table)


# -- command -----------------------------------------------------------------------------------------------


def main(
    out: Annotated[Path, typer.Option(help="Folder for pairs, model and check.")],
    generate: Annotated[int, typer.Option(help="Verified pairs to have in all.")] = 20_000,
    pairs: Annotated[list[Path] | None, typer.Option(help="Files of verified pairs to start from.")] = None,
    depth: Annotated[int, typer.Option(help="Deepest graphs to train on.")] = 5,
    verify_minutes: Annotated[float, typer.Option(help="Time for generating and verifying.")] = 5.0,
    minutes: Annotated[float, typer.Option(help="Time for training.")] = 4.0,
    styles: Annotated[int, typer.Option(help="Writings of each task.")] = 16,
    vocabulary: Annotated[int, typer.Option(help="Size of the tokenizer at most.")] = 2048,
    batch: int = 1024,
    lr: float = 2e-3,
    check_tasks: Annotated[int, typer.Option(help="Held-out tasks of each depth; 0: no check.")] = 40,
    check_samples: int = 10,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as there are cores if not given.")] = None,
    seed: int = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Train nano and leave it in OUT/model, ready to be copied to the package."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    workers = workers or os.cpu_count() or 1
    rows = [row for path in pairs or [] for row in build.read_pairs(path)]
    if len(rows) < generate:
        rows += collect(generate - len(rows), out / "pairs.jsonl", depth, seed, verify_minutes, workers)
    texts = spell_out(rows, styles, workers)
    log.info("%d pairs in %d writings", len(rows), len(texts))
    sample = random.Random(seed).sample(texts, min(len(texts), 20_000))
    tokenizer = bpe.train([text for pair in sample for text in pair], vocabulary)
    ids, labels = encode(tokenizer, texts)
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(models.nano_config(tokenizer))
    counts = model.num_parameters(), len(tokenizer), tuple(ids.shape), int((labels >= 0).sum()) // len(labels)
    log.info("%d parameters, vocabulary %d, data %s, %d tokens a completion", *counts)
    fit(model, ids, labels, Recipe(minutes, batch, lr, seed), device)
    path = out / "model"
    torch.nn.Module.to(model, "cpu", torch.bfloat16)
    models.save(model, tokenizer, path)
    log.info("saved %s", path)
    if check_tasks:
        show(check(path, depth, check_tasks, check_samples, workers, seed))


if __name__ == "__main__":
    typer.run(main)
