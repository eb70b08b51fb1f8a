"""The report of a run: one self-contained HTML file; and a Markdown table that compares runs.

Loads nothing from elsewhere and runs no script: the page is the same offline, in print, and in ten years.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from jinja2 import Environment
from markupsafe import Markup

from tritonsmith import __version__, evaluate, metrics
from tritonsmith.report import figures, html
from tritonsmith.report.run import Run, best, load, passed, reason, worst
from tritonsmith.types import STAGES, Record

KS = (1, 10)
"""The k of pass@k where a run's settings do not say."""
MOST_REASONS = 12
"""Bars of the histogram of reasons."""
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
class Plot:
    """A figure on the page."""

    title: str
    svg: Markup
    caption: str


def build(run_dir: Path) -> Path:
    """Write `run_dir/report.html` from what the folder holds, and return its path.

    Pieces that are not there yet are named in the page. Raises ReportError where there is no such folder.
    """
    run = load(run_dir)
    ks = tuple(run.config.eval.ks) if run.config else KS
    summaries = {name: metrics.summary(records, ks) for name, records in run.evals.items()}
    shown = [k for k in ks if any(k in row.passes for rows in summaries.values() for row in rows)]
    records = [record for part in run.evals.values() for record in part]
    last = list(run.evals.values())[-1] if run.evals else [r for part in run.rounds for r in part.records] or run.grpo
    trained = sum(len(part.records) for part in run.rounds) + len(run.grpo)
    page = _environment().get_template("page.html.j2")
    text = page.render(
        run=run,
        name=run_dir.resolve().name,
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        summaries=summaries,
        ks=shown,
        changes=_changes(run),
        facts=_facts(run, records or last, len(records) + trained),
        plots=_plots(run, summaries),
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
        kinds = {record.verdict.timing.kind for record in records if record.verdict.timing}
        names = {"predicted": "predicted (roofline)", "measured": "measured"}
        facts["speedups"] = " and ".join(names[kind] for kind in sorted(kinds)) or "none"
    facts["candidates judged"] = f"{judged:,}"
    return facts


def _plots(run: Run, summaries: dict[str, list[metrics.Row]]) -> list[Plot]:
    plots: list[Plot] = []

    def add(title: str, svg: str, caption: str) -> None:
        plots.append(Plot(title, Markup(svg), caption))

    if summaries:
        bars = {
            name: {"all levels" if row.level is None else f"level {row.level}": row.correct for row in rows}
            for name, rows in summaries.items()
        }
        svg = figures.rates(bars, "correct", "Correct rate on held-out tasks by level")
        add("Correct on held-out tasks", svg, "Share of candidates that are correct; bars span 95 % over tasks.")
    if run.sft_loss:
        add("SFT loss", figures.loss_curve(run.sft_loss), "Loss on completion tokens, as the trainer logged it.")
    if run.rounds:
        lines = _by_step([(part.number + 1, part.records) for part in run.rounds])
        svg = figures.over_steps(lines, "round", "rl", "Reward and correct rate by round")
        add("Best-of-N by round", svg, "On the training tasks drawn in each round, before fine-tuning on it.")
    p = [(part.number + 1, part.p_level2) for part in run.rounds if part.p_level2 is not None]
    accuracy = [(part.number + 1, part.acc_level1) for part in run.rounds if part.acc_level1 is not None]
    if p and accuracy:
        lines = {"p(level 2)": p, "level-1 accuracy (moving average)": accuracy}
        svg = figures.over_steps(lines, "round", "curriculum", "Curriculum by round")
        add("Curriculum", svg, "After each round: how often level 2 is drawn next, and the average that decides it.")
    if run.grpo:
        steps: defaultdict[int, list[Record]] = defaultdict(list)
        for record in run.grpo:
            steps[record.step].append(record)
        svg = figures.over_steps(_by_step(sorted(steps.items())), "step", "grpo", "Reward and correct rate by step")
        add("GRPO by step", svg, "On the training tasks of each step.")
    if run.evals:
        funnel = {name: _funnel(records) for name, records in run.evals.items()}
        svg = figures.shares(funnel, "funnel", "Share of candidates that reach each stage")
        add("The funnel", svg, "Share of all held-out candidates that get past each stage of the verifier.")
    reasons = {name: _reasons(records, run) for name, records in run.evals.items()}
    if any(reasons.values()):
        svg = figures.shares(reasons, "reasons", "Why candidates were rejected")
        add("Why candidates were rejected", svg, "First finding of each rejected candidate, as a share of all.")
    return plots


def _by_step(parts: Sequence[tuple[int, Sequence[Record]]]) -> dict[str, list[tuple[int, float]]]:
    lines: dict[str, list[tuple[int, float]]] = {
        "mean reward": [(step, fmean(record.verdict.reward for record in records)) for step, records in parts]
    }
    for level in sorted({record.level for _, records in parts for record in records}):
        own = [(step, [r.verdict.correct for r in records if r.level == level]) for step, records in parts]
        lines[f"correct, level {level}"] = [(step, fmean(values)) for step, values in own if values]
    return lines


def _funnel(records: Sequence[Record]) -> dict[str, float]:
    total = len(records)
    counts = {"drawn": total, "code found": sum(record.source is not None for record in records)}
    for stage in STAGES[:-1]:
        counts[stage] = sum(passed(record.verdict, stage) for record in records)
    counts["correct"] = sum(record.verdict.correct for record in records)
    return {name: count / total for name, count in counts.items()}


def _reasons(records: Sequence[Record], run: Run) -> dict[str, float]:
    """Shares of this evaluation's candidates by reason; the reasons are those most frequent over all evaluations."""
    everyone = Counter(reason(record) for part in run.evals.values() for record in part if not record.verdict.correct)
    own = Counter(reason(record) for record in records)
    return {name: own[name] / len(records) for name, _ in everyone.most_common(MOST_REASONS)}


def _source(record: Record) -> Markup:
    """The candidate's source, or where there is none the start of what the model wrote."""
    if record.source is not None:
        return html.code(record.source[:LONGEST_SOURCE])
    return html.code(record.completion[:LONGEST_SOURCE] or "(nothing was written)", "text")


def _environment() -> Environment:
    environment = html.environment()
    filters = {"percent": evaluate.percent, "speed": evaluate.speed, "source": _source, "reason": reason}
    environment.filters.update({**filters, "level": _level})
    return environment
