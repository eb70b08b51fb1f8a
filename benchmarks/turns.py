"""Feedback turns: how many held-out tasks a model solves at once, and with what the verifier said of its failures.

    python benchmarks/turns.py --model runs/base/rl/model --out runs/turns > benchmarks/turns.md

Each conversation has up to four turns; a candidate that failed is answered with the verifier's words and drawn again,
or, with `--retry redraw`, its end is drawn anew from the line that the verifier blames. pass@1 after a turn is the
share of conversations with a correct candidate by then. Beside it stands the same number of independent draws
(pass@k): what the turns are worth is the difference, paired by task. Judged strictly, with extension 1, without
timing. Records are kept in `--out`; a second call goes on.

A dry run: --model nano --tasks graphs:2:seed=5:depth=3:split=heldout --samples 2 --tokens 64 --device cpu
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from commands import same_settings, start

from tritonsmith import evaluate, metrics, turns
from tritonsmith.config import Config, EvalConfig, ExtensionsConfig, ModelConfig, Retry, VerifyConfig
from tritonsmith.metrics import Estimate
from tritonsmith.progress import Watched
from tritonsmith.tasks.format import load_spec
from tritonsmith.train.policy import Drawer
from tritonsmith.types import Record
from tritonsmith.verify.pool import Verifier

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

SHOWN = (1, 2, 4)
"""Turns that the claim names."""


@app.command(help=__doc__)
def main(
    model: Annotated[str, typer.Option(help="nano, a hub id, or a path")] = "nano",
    tasks: str = "graphs:100:seed=78:depth=3-8:split=heldout",
    samples: Annotated[int, typer.Option(min=1, help="conversations a task; at least four for the comparison")] = 8,
    temperature: Annotated[float, typer.Option(min=0.0)] = 0.8,
    tokens: Annotated[int, typer.Option(min=1, help="tokens a completion may have")] = 768,
    batch: Annotated[int, typer.Option(min=1, help="completions decoded together")] = 64,
    retry: Annotated[Retry, typer.Option(help="what a later turn is")] = "feedback",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    seed: int = 0,
    out: Path = Path("runs/bench-turns"),
) -> None:
    """Converse, judge, print."""
    chosen, path = load_spec(tasks), out / "turns.jsonl"
    drawn = {"model": model, "tasks": tasks, "samples": samples, "temperature": temperature, "tokens": tokens}
    same_settings(
        out, {**drawn, "retry": retry, "seed": seed, "device": device}, path.with_suffix(".completions.jsonl")
    )
    sampler = Drawer(Config(model=ModelConfig(id=model))).of(None)
    drawing = EvalConfig(samples=samples, temperature=temperature, max_new_tokens=tokens, batch=batch, retry=retry)
    settings = VerifyConfig(device=device, timing=False)
    with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as judge:
        found = turns.converse(sampler, chosen, Watched(judge), drawing, path, turns=max(SHOWN), seed=seed)
    typer.echo(f"# Feedback turns: {model}\n\n{len(chosen)} tasks of `{tasks}`, {samples} conversations each.\n")
    typer.echo(table(found))


def table(found: Sequence[Sequence[Record]]) -> str:
    """A Markdown table: a line for each of SHOWN."""
    lines = ["| turns | pass@1 | as many independent draws | worth of the turns, points |", "|---|---|---|---|"]
    for turn in SHOWN:
        solved, draws = by_turn(found, turn), independent(found[0], turn)
        shared = [task for task in solved if task in draws]
        cells = [str(turn), evaluate.percent(metrics.bootstrap(list(solved.values())))]
        if shared:
            worth = metrics.bootstrap([solved[task] - draws[task] for task in shared])
            cells += [evaluate.percent(metrics.bootstrap([draws[task] for task in shared])), _points(worth)]
        lines.append(f"| {' | '.join([*cells, '', ''][:4])} |")
    return "\n".join(lines)


def by_turn(found: Sequence[Sequence[Record]], turn: int) -> dict[str, float]:
    """By task, the share of conversations that have a correct candidate by then."""
    right: dict[str, dict[int, bool]] = {}
    for record in found[0]:
        right.setdefault(record.task, {})[record.sample] = False
    for record in (record for records in found[:turn] for record in records):
        right[record.task][record.sample] |= record.verdict.correct
    return {task: sum(one.values()) / len(one) for task, one in right.items()}


def independent(first: Sequence[Record], k: int) -> dict[str, float]:
    """By task, pass@k of the first turn's candidates; nothing where a task has fewer than k."""
    right: dict[str, list[bool]] = {}
    for record in first:
        right.setdefault(record.task, []).append(record.verdict.correct)
    return {task: metrics.pass_at_k(len(one), sum(one), k) for task, one in right.items() if len(one) >= k}


def _points(one: Estimate) -> str:
    return f"{100 * one.value:+.1f} ({100 * one.low:+.1f} to {100 * one.high:+.1f})"


if __name__ == "__main__":
    start(app)
