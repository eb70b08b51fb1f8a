"""The report of a run: one self-contained HTML file; and a Markdown table that compares runs.

Loads nothing from elsewhere and runs no script: the page is the same offline, in print, and in ten years.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from tritonsmith import __version__, evaluate, gains, metrics, reward, turns
from tritonsmith.gains import Given
from tritonsmith.report import html, plots
from tritonsmith.report.run import Run, best, load, reason, worst
from tritonsmith.types import STAGES, Record, Verdict

KS = (1, 10)
"""The k of pass@k where a run's settings do not say."""
MOST_GAINS = 3
"""Kernels that are shown with the mid-end's answers."""
LONGEST_SOURCE = 20_000
"""Characters of a candidate that are shown."""


@dataclass(frozen=True)
class Change:
    """How the correct rate moved from one evaluation to another, over the tasks they share."""

    before: str
    after: str
    level: str
    points: metrics.Estimate
    """In percentage points."""


@dataclass(frozen=True)
class Gained:
    """What the mid-end made of the held-out kernels."""

    estimates: dict[str, metrics.Estimate]
    """As `gains.gains` gives them."""
    kernels: int
    faster: int
    """Of these, how many it made clearly faster."""
    kind: str
    """`predicted (roofline)` or `measured`."""
    summary: list[metrics.Row]
    examples: list[tuple[Given, Record]]
    """The largest gains: what was given, and the answer."""


def build(run_dir: Path) -> Path:
    """Write `run_dir/report.html` from what the folder holds, and return its path.

    Pieces that are not there yet are named in the page. Raises ReportError where there is no such folder.
    """
    run = load(run_dir)
    ks = tuple(run.config.eval.ks) if run.config else KS
    summaries = {name: metrics.summary(records, ks) for name, records in run.evals.items()}
    shown = [k for k in ks if any(k in row.passes for rows in summaries.values() for row in rows)]
    records = [record for part in run.evals.values() for record in part]
    drawn = [record for part in run.training.rounds for record in part.records] or run.training.grpo
    last = list(run.evals.values())[-1] if run.evals else drawn
    trained = run.training.judged
    answered = sum(len(turn) for found in run.conversations.values() for turn in found[1:])
    if run.midend is not None:
        trained += run.midend.training.judged + len(run.midend.answers)
    page = _environment().get_template("page.html.j2")
    text = page.render(
        run=run,
        name=run_dir.resolve().name,
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        summaries=summaries,
        ks=shown,
        ps=metrics.PS,
        changes=_changes(run),
        facts=_facts(run, records or last, len(records) + answered + trained),
        plots=plots.of_run(run, summaries),
        gained=_gained(run, ks),
        midend_plots=plots.of_midend(run.midend, run.config) if run.midend is not None else [],
        solved={name: turns.solved(found) for name, found in run.conversations.items()},
        origin=f"Of {list(run.evals)[-1]} on held-out tasks" if run.evals else "Of training",
        best=best(last),
        worst=worst(last),
        stages=STAGES,
        light=html.colours("friendly"),
        dark=html.colours("github-dark"),
        settings=html.code(run.config_text, "toml"),
    )
    out = run_dir / "report.html"
    out.write_text(text, encoding="utf-8")
    return out


def compare(run_dirs: Sequence[Path]) -> str:
    """A Markdown table of the first and the last evaluation of each run, by level, with the paired difference."""
    lines = [
        "| run | seed | level | tasks | model | valid | compiled | correct | pass@1 | pass@10 | speedup | change |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for run_dir in run_dirs:
        run = load(run_dir)
        seed = str(run.config.run.seed) if run.config else "?"
        names = list(run.evals)
        names = names if len(names) < 3 else [names[0], names[-1]]
        changes = {change.level: change.points for change in _changes(run)}
        rows = [(name, row) for name in names for row in metrics.summary(run.evals[name], KS)]
        for name, row in sorted(rows, key=lambda item: (item[1].level is None, item[1].level or 0)):
            level = _level(row.level)
            change = changes.get(level) if name != names[0] else None
            cells = [
                run_dir.name,
                seed,
                level,
                str(row.tasks),
                name,
                *(evaluate.percent(rate) for rate in (row.valid, row.compiled, row.correct)),
                *(evaluate.percent(row.passes[k]) if k in row.passes else "-" for k in KS),
                evaluate.speed(row),
                f"{change.value:+.1f} points ({change.low:+.1f} to {change.high:+.1f})" if change else "",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _level(level: int | None) -> str:
    return "all" if level is None else str(level)


def _changes(run: Run) -> list[Change]:
    """From the first evaluation to the last, by level and over all; nothing where there is only one."""
    if len(run.evals) < 2:
        return []
    before, *_, after = run.evals
    levels: list[int | None] = [*sorted({record.level for record in run.evals[after]}), None]
    changes = []
    for level in levels:
        first, last = (
            [record for record in run.evals[name] if level is None or record.level == level] for name in (before, after)
        )
        raw = metrics.difference(first, last)
        if math.isnan(raw.value):
            continue
        points = metrics.Estimate(value=100 * raw.value, low=100 * raw.low, high=100 * raw.high)
        changes.append(Change(before, after, _level(level), points))
    return changes


def _gained(run: Run, ks: Sequence[int]) -> Gained | None:
    """What the mid-end gained; None where it was not evaluated."""
    if run.midend is None or not run.midend.asked or not run.midend.answers:
        return None
    asked, answers = run.midend.asked, run.midend.answers
    pairs = [(one, better) for one, better in zip(asked, gains.faster(asked, answers), strict=True) if better]
    best_first = sorted(pairs, key=lambda pair: -reward.speedup(pair[1].verdict) / reward.speedup(pair[0].verdict))
    return Gained(
        estimates=gains.gains(asked, answers),
        kernels=len(asked),
        faster=len(pairs),
        kind=_kinds([one.verdict for one in asked]),
        summary=metrics.summary(answers, ks),
        examples=best_first[:MOST_GAINS],
    )


def _kinds(verdicts: Sequence[Verdict]) -> str:
    """How the speedups came about."""
    kinds = {verdict.timing.kind for verdict in verdicts if verdict.timing}
    names = {"predicted": "predicted (roofline)", "measured": "measured"}
    return " and ".join(names[kind] for kind in sorted(kinds)) or "none"


def _facts(run: Run, records: Sequence[Record], judged: int) -> dict[str, str]:
    """What stands beside the title: model, tasks, device, how much was judged."""
    facts: dict[str, str] = {}
    if run.config is not None:
        facts["model"] = run.config.model.id
        facts["seed"] = str(run.config.run.seed)
        facts["held-out tasks"] = run.config.tasks.heldout
        facts["training tasks"] = run.config.tasks.train
    if records:
        verdict = records[-1].verdict
        facts["judged on"] = f"{verdict.device}, kernels compiled for {verdict.target}, {verdict.policy} policy"
        facts["speedups"] = _kinds([record.verdict for record in records])
    facts["candidates judged"] = f"{judged:,}"
    return facts


def _source(record: Record | Given) -> Markup:
    """The candidate's source, or where there is none the start of what the model wrote."""
    if isinstance(record, Given):
        return html.code(record.kernel[:LONGEST_SOURCE])
    if record.source is not None:
        return html.code(record.source[:LONGEST_SOURCE])
    return html.code(record.completion[:LONGEST_SOURCE] or "(nothing was written)", "text")


def _environment() -> Environment:
    environment = html.environment()
    filters = {"percent": evaluate.percent, "speed": evaluate.speed, "source": _source, "reason": reason}
    environment.filters.update({**filters, "level": _level})
    return environment
