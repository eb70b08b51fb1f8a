"""A base model from nothing on this machine: tokens a second trained and drawn, and what it can do afterwards.

    python benchmarks/pretrain.py [--data runs/data] [--minutes 5] [--tasks 200]

Trains `--size` on what `tritonsmith data build` wrote; without `--data`, on pairs made here that nobody has verified,
which is enough for speed. Then draws `--completions` for held-out tasks: under CUDA graphs (`train.slots`), by
transformers' `generate` with a static cache and a compiled step, and with a dynamic cache (`--slow` completions only).
Each way is called twice and the second call is timed, so that compiling is not. Last, greedy completions of `--tasks`
held-out tasks are judged. On a CPU, with `--size nano --minutes 0.1 --pairs 40 --completions 6 --slow 4 --batch 2
--length 1024 --at-once 4 --tokens 24 --tasks 2`, it is a dry run.
"""

import json
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, cast

import torch
import typer
from rich.console import Console
from rich.table import Table
from transformers import GenerationConfig

from tritonsmith.config import ModelConfig
from tritonsmith.data.lower.convert import templates
from tritonsmith.data.pair import Pair
from tritonsmith.prompts import messages, render_completion
from tritonsmith.tasks import graphs
from tritonsmith.train import models, trainer
from tritonsmith.train.generate import Sampler
from tritonsmith.train.pretrain import __main__ as command
from tritonsmith.train.pretrain import loop, rows
from tritonsmith.train.pretrain.check import check
from tritonsmith.types import Task

log = logging.getLogger(__name__)

Messages = list[list[dict[str, str]]]


# -- data


def make(out: Path, n: int, seed: int) -> Path:
    """Unverified pairs of up to n graphs, a JSONL file a split; kept, so that a second call has them."""
    if (out / "train.jsonl").exists():
        return out
    out.mkdir(parents=True, exist_ok=True)
    tasks = graphs.generate(n, seed, split="all")
    lines: dict[str, list[str]] = {split: [] for split in rows.SPLITS}
    with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for task, answer in zip(tasks, pool.map(_answer, tasks, chunksize=8), strict=True):
            split = graphs.Graph.parse(cast(str, task.graph)).split
            if answer is not None:
                lines[split].append(json.dumps({**answer, "split": split}))
    for split, some in lines.items():
        (out / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in some))
    log.info("%s", {split: len(some) for split, some in lines.items()})
    return out


def _answer(task: Task) -> dict[str, object] | None:
    pair = templates(task)
    if not isinstance(pair, Pair):
        return None
    return {
        "prompt": messages(task, "bare"),
        "completion": [{"role": "assistant", "content": render_completion(pair.plan, pair.source)}],
        "task": task.id,
        "module": task.source,
        "level": task.level,
        "graph": task.graph,
    }


# -- drawing


def static(sampler: Sampler, chats: Messages, at_once: int, tokens: int) -> list[str]:
    """Greedy completions by `generate` with a static cache, in batches of one shape, as transformers compiles them."""
    config = GenerationConfig(
        max_new_tokens=tokens,
        do_sample=False,
        eos_token_id=sampler.eos,
        pad_token_id=sampler.pad,
        cache_implementation="static",
    )
    encoded = sorted(sampler._encode(chats), key=len)
    width = -(-len(encoded[-1]) // 256) * 256
    texts: list[str] = []
    for start in range(0, len(encoded), at_once):
        part = encoded[start : start + at_once]
        ids, mask = sampler._left_padded(part + [part[-1]] * (at_once - len(part)), width)
        with torch.inference_mode():
            out = sampler._generate(input_ids=ids, attention_mask=mask, generation_config=config)
        texts += [sampler._text(row) for row in out[: len(part), width:].tolist()]
    return texts


def timed(draw: Callable[[], Sequence[str]], sampler: Sampler) -> tuple[float, int]:
    """Seconds of the second call, and tokens that it drew."""
    draw()
    _wait()
    begin = time.monotonic()
    texts = draw()
    _wait()
    return time.monotonic() - begin, sum(len(sampler.tokenizer(text).input_ids) + 1 for text in texts)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def race(sampler: Sampler, chats: Messages, at_once: int, slow: int, tokens: int) -> Table:
    """Every way of drawing, by the clock."""
    table = Table("way", "completions", "seconds", "tokens/s", "steps", "ms a step")
    only: dict[str, object] = {"n": 1, "temperature": 0.0, "max_new_tokens": tokens, "batch": at_once}
    one_by_one = Sampler(sampler.model, sampler.tokenizer, sampler.prompt_style)
    one_by_one._has_slots = lambda: False  # type: ignore[method-assign]
    sampler._has_slots = lambda: True  # type: ignore[method-assign]

    def flat(which: Sampler, some: Messages) -> list[str]:
        return [text for row in which.sample(some, **only) for text in row]  # type: ignore[arg-type]

    seconds, drawn = timed(lambda: flat(sampler, chats), sampler)
    steps = 0 if sampler._slots is None else sampler._slots.steps
    ways = [("slots, CUDA graphs", len(chats), seconds, drawn, steps)]
    sampler.release()
    few = chats[:slow]
    ways.append(("generate, dynamic cache", len(few), *timed(lambda: flat(one_by_one, few), sampler), 0))
    if torch.cuda.is_available():
        seconds, drawn = timed(lambda: static(sampler, chats, at_once, tokens), sampler)
        ways.append(("generate, static cache, compiled", len(chats), seconds, drawn, 0))
    for name, count, seconds, drawn, steps in ways:
        each = f"{1000 * seconds / steps:.1f}" if steps else ""
        table.add_row(name, str(count), f"{seconds:.1f}", f"{drawn / seconds:,.0f}", str(steps or ""), each)
    return table


# -- command


def main(
    data: Annotated[Path | None, typer.Option(help="What `data build` wrote; without it pairs are made here.")] = None,
    out: Path = Path("runs/bench-pretrain"),
    size: str = "base",
    minutes: float = 5.0,
    length: int = 2048,
    batch: int = 64,
    optimizer: loop.Kind = "adamw",
    pairs: Annotated[int, typer.Option(help="Tasks to make pairs of where there is no data.")] = 4000,
    completions: int = 1800,
    slow: Annotated[int, typer.Option(help="Completions drawn with a dynamic cache.")] = 256,
    at_once: Annotated[int, typer.Option(help="Rows decoded together.")] = 1024,
    tokens: Annotated[int, typer.Option(help="Tokens a completion may have.")] = 1024,
    tasks: Annotated[int, typer.Option(help="Held-out tasks to judge greedy completions of.")] = 200,
    seed: int = 0,
) -> None:
    """Train, draw, judge, print."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    trainer.quiet()
    cuda = torch.cuda.is_available()
    source = data or make(out / "data", pairs, seed)
    recipe = loop.Recipe(minutes=minutes, batch=batch, optimizer=optimizer, seed=seed)
    begin = time.monotonic()
    model = command.train([source], out, models.SIZES[size], recipe, length, device="cuda" if cuda else "cpu")
    log.info("trained in %.0f s, everything counted", time.monotonic() - begin)
    Console().print((out / "outcome.json").read_text())
    config = ModelConfig(id=str(model), dtype="bfloat16" if cuda else "float32")
    loaded, words = models.load(config)
    sampler = Sampler(trainer.to_device(loaded), words, models.prompt_style(config))
    chosen = rows.heldout([source], max(completions, tasks))
    chats = [messages(task, "bare") for task, _ in chosen]
    chats = (chats * -(-completions // len(chats)))[:completions]
    Console().print(race(sampler, chats, at_once, slow, tokens))
    if tasks:
        sampler.release()
        families = {task.id: family for task, family in chosen[:tasks] if family}
        check(model, [task for task, _ in chosen[:tasks]], 1, out, families, tokens)


if __name__ == "__main__":
    typer.run(main)
