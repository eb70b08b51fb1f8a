"""How many of the built-in suite's tasks a model solves: with its greedy completion, and with any of ten.

    python benchmarks/suite.py [--model nano] [--samples 10] [--out runs/bench-suite] > benchmarks/suite.md

No model is trained on the suite (`data build` sees to that), so this is what somebody finds who gives nano a module of
their own: one `tritonsmith eval --samples 10` a task. Each completion is judged as `data build` judges pairs: strict
policy, other sizes, values and half precision too (extension 1), no timing. Wanted: any of ten is right for half of the
pointwise and reduction tasks; the other families are beside. Records are kept in `--out`; a second call goes on.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from tritonsmith.config import EvalConfig, ExtensionsConfig, ModelConfig, VerifyConfig
from tritonsmith.data.survey import survey
from tritonsmith.evaluate import evaluate
from tritonsmith.progress import Watched
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import models, trainer
from tritonsmith.train.generate import Sampler
from tritonsmith.types import Record, Task
from tritonsmith.verify.pool import Verifier

ASKED = ("pointwise", "reduction")
"""Families that half of is wanted of."""
WANTED = 0.5


def main(
    model: str = "nano",
    tasks: str = "suite",
    families: Annotated[str, typer.Option(help="only these, with commas between; all where none is named")] = "",
    samples: int = 10,
    temperature: float = 0.8,
    tokens: Annotated[int, typer.Option(help="Tokens a completion may have.")] = 768,
    batch: Annotated[int, typer.Option(help="Completions decoded together.")] = 64,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    out: Path = Path("runs/bench-suite"),
) -> None:
    """Draw, judge, print; fails where less than WANTED of the families in ASKED is solved."""
    trainer.quiet()
    family = {task.id: survey(task).family for task in load_spec(tasks)}
    chosen = [task for task in load_spec(tasks) if not families or family[task.id] in families.split(",")]
    config = ModelConfig(id=model)
    loaded, tokenizer = models.load(config)
    sampler = Sampler(trainer.to_device(loaded), tokenizer, models.prompt_style(config))
    drawing = EvalConfig(samples=1, temperature=0.0, max_new_tokens=tokens, batch=batch)
    several = drawing.model_copy(update={"samples": samples, "temperature": temperature})
    begin = time.monotonic()
    with Verifier(VerifyConfig(device=device, timing=False), extensions=ExtensionsConfig(multi_input=True)) as judge:
        greedy = evaluate(sampler, chosen, Watched(judge), drawing, out / "greedy.jsonl")
        any_of = evaluate(sampler, chosen, Watched(judge), several, out / "samples.jsonl")
    minutes = (time.monotonic() - begin) / 60
    given = f"--model {model}" + (f" --families {families}" if families else "")
    typer.echo(f"# The suite, which no model is trained on: {model}\n\n`python benchmarks/suite.py {given}`\n")
    typer.echo(table(chosen, family, _solved(greedy), _solved(any_of), samples))
    asked = [task for task in chosen if family[task.id] in ASKED]
    solved = len(_solved(any_of).keys() & {task.id for task in asked})
    typer.echo(f"\n{' and '.join(ASKED)}: {_share(solved, len(asked))} with any of {samples}; {minutes:.1f} minutes.")
    if solved < WANTED * len(asked):
        raise typer.Exit(1)


def table(
    tasks: Sequence[Task], families: Mapping[str, str], greedy: Counter[str], any_of: Counter[str], samples: int
) -> str:
    """A Markdown table: a line for each level and family, those in ASKED first."""
    lines = [f"| level | family | tasks | greedy | any of {samples} | not solved |", "|---|---|---|---|---|---|"]
    groups = {(task.level, families[task.id]) for task in tasks}
    for level, family in sorted(groups, key=lambda group: (group[0], group[1] not in ASKED, group[1])):
        ids = [task.id for task in tasks if (task.level, families[task.id]) == (level, family)]
        cells = [_share(len(found.keys() & set(ids)), len(ids)) for found in (greedy, any_of)]
        missed = ", ".join(id.rpartition("/")[2] for id in ids if id not in any_of)
        lines.append(f"| {level} | {family} | {len(ids)} | {' | '.join(cells)} | {missed} |")
    return "\n".join(lines)


def _solved(records: Sequence[Record]) -> Counter[str]:
    """Right completions by task."""
    return Counter(record.task for record in records if record.verdict.correct)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / max(whole, 1):.0f} %)"


if __name__ == "__main__":
    typer.run(main)
