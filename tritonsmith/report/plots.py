"""Which figures a run's page has, and what is in them. How they are drawn is in `figures`."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup

from tritonsmith import gains, metrics, reward
from tritonsmith.config import Config
from tritonsmith.gains import Given
from tritonsmith.report import figures
from tritonsmith.report.run import Midend, Run, Training, passed, reason
from tritonsmith.types import STAGES, Record

MOST_REASONS = 12
"""Bars of the histogram of reasons."""

_Parts = Sequence[tuple[int, Sequence[Record]]]
"""Rounds or steps: number and candidates."""
_Lines = dict[str, list[tuple[int, float]]]


@dataclass(frozen=True)
class Plot:
    """A figure on the page."""

    title: str
    svg: Markup
    caption: str


def of_run(run: Run, summaries: Mapping[str, Sequence[metrics.Row]]) -> list[Plot]:
    """The frontend's: held-out rates, training, where candidates end and why."""
    plots: list[Plot] = []
    if summaries:
        bars = {
            name: {"all levels" if row.level is None else f"level {row.level}": row.correct for row in rows}
            for name, rows in summaries.items()
        }
        svg = figures.rates(bars, "correct", "Correct rate on held-out tasks by level")
        caption = "Share of candidates that are correct; bars span 95 % over tasks."
        plots.append(Plot("Correct on held-out tasks", Markup(svg), caption))
    plots += _training(run.training, "", run.config, [])
    if run.evals:
        funnel = {name: _funnel(records) for name, records in run.evals.items()}
        svg = figures.shares(funnel, "funnel", "Share of candidates that reach each stage")
        caption = "Share of all held-out candidates that get past each stage of the verifier."
        plots.append(Plot("The funnel", Markup(svg), caption))
    reasons = {name: _reasons(records, run) for name, records in run.evals.items()}
    if any(reasons.values()):
        svg = figures.shares(reasons, "reasons", "Why candidates were rejected")
        caption = "First finding of each rejected candidate, as a share of all."
        plots.append(Plot("Why candidates were rejected", Markup(svg), caption))
    return plots


def of_midend(midend: Midend, config: Config | None) -> list[Plot]:
    """The mid-end's: held-out kernels before and after, and its training."""
    plots: list[Plot] = []
    if midend.asked and midend.answers:
        svg = figures.against(
            gains.speedups(midend.asked, midend.answers),
            ("speedup of the kernel given", "of the best afterwards"),
            "midend-speedups",
            "Speedups over eager of held-out kernels before and after the mid-end",
        )
        caption = (
            "Each held-out kernel: its speedup over eager as given, and after the mid-end. Above the line is gained."
        )
        plots.append(Plot("Speedups, before and after", Markup(svg), caption))
    return plots + _training(midend.training, "midend-", config, midend.given)


def _training(training: Training, prefix: str, config: Config | None, given: Sequence[Given]) -> list[Plot]:
    """One agent's training; `given` are the kernels it was to make faster, none for the frontend."""
    plots: list[Plot] = []
    if training.sft_loss:
        svg = figures.loss_curve(training.sft_loss, f"{prefix}sft-loss")
        plots.append(Plot("SFT loss", Markup(svg), "Loss on completion tokens, as the trainer logged it."))
    rounds = [(part.number + 1, part.records) for part in training.rounds]
    if rounds:
        caption = "On the training tasks drawn in each round, before fine-tuning on it."
        plots += _by_step(rounds, "Best-of-N", "round", f"{prefix}rl", caption, config, given)
    plots += _curriculum(training, prefix)
    steps: defaultdict[int, list[Record]] = defaultdict(list)
    for record in training.grpo:
        if record.turn == 1:
            steps[record.step].append(record)
    if steps:
        caption = "On the training tasks of each step."
        plots += _by_step(sorted(steps.items()), "GRPO", "step", f"{prefix}grpo", caption, config, given)
    return plots


def _curriculum(training: Training, prefix: str) -> list[Plot]:
    p = [(part.number + 1, part.p_level2) for part in training.rounds if part.p_level2 is not None]
    accuracy = [(part.number + 1, part.acc_level1) for part in training.rounds if part.acc_level1 is not None]
    if not p or not accuracy:
        return []
    lines = {"p(level 2)": p, "level-1 accuracy (moving average)": accuracy}
    svg = figures.over_steps(lines, "round", f"{prefix}curriculum", "Curriculum by round")
    caption = "After each round: how often level 2 is drawn next, and the average that decides it."
    return [Plot("Curriculum", Markup(svg), caption)]


def _by_step(
    parts: _Parts, method: str, unit: str, name: str, caption: str, config: Config | None, given: Sequence[Given]
) -> list[Plot]:
    """Rates and rewards by round or step, in one figure where the rewards are shares too; the speedups of the mid-end's
    right answers beside those of the kernels they answer."""
    rates, rewards = _rates(parts, given), _rewards(parts, config)
    together = all(0.0 <= value <= 1.0 for line in rewards.values() for _, value in line)
    shown = {**rewards, **rates} if together else rates
    title = f"{'Reward and correct rate' if together else 'Rates'} by {unit}"
    plots = [Plot(f"{method} by {unit}", Markup(figures.over_steps(shown, unit, name, title)), caption)]
    if not together:
        svg = figures.over_steps(rewards, unit, f"{name}-reward", f"Reward by {unit}", shares=False)
        plots.append(Plot(f"{method}, reward by {unit}", Markup(svg), _scheme(config, given)))
    speeds = _speeds(parts, given) if given else {}
    if any(speeds.values()):
        svg = figures.over_steps(speeds, unit, f"{name}-speed", f"Speedups by {unit}", shares=False)
        text = "Geometric means over eager: the right answers, and the kernels that these answer."
        plots.append(Plot(f"{method}, speedup by {unit}", Markup(svg), text))
    return plots


def _rates(parts: _Parts, given: Sequence[Given]) -> _Lines:
    """Correct by level; for the mid-end over all, and clearly faster than what was given."""
    if given:
        before = {one.task.id: one.verdict for one in given}
        faster = [
            (step, fmean(reward.beats(r.verdict, before[r.task]) if r.task in before else False for r in records))
            for step, records in parts
        ]
        correct = [(step, fmean(record.verdict.correct for record in records)) for step, records in parts]
        return {"correct": correct, "clearly faster than the kernel given": faster}
    lines: _Lines = {}
    for level in sorted({record.level for _, records in parts for record in records}):
        own = [(step, [r.verdict.correct for r in records if r.level == level]) for step, records in parts]
        lines[f"correct, level {level}"] = [(step, fmean(values)) for step, values in own if values]
    return lines


def _rewards(parts: _Parts, config: Config | None) -> _Lines:
    """The mean reward, and where plan and code have their own (`hierarchical`) those."""
    lines = {"mean reward": [(step, fmean(r.verdict.reward for r in records)) for step, records in parts]}
    if config is not None and config.reward.scheme == "hierarchical":
        for part in ("plan", "code"):
            lines[f"reward of the {part}"] = [
                (step, fmean(reward.parts(r.verdict, "hierarchical", config.reward.cap)[part] for r in records))
                for step, records in parts
            ]
    return lines


def _speeds(parts: _Parts, given: Sequence[Given]) -> _Lines:
    before = {one.task.id: reward.speedup(one.verdict) for one in given}
    lines: _Lines = {"kernels given": [], "right answers": []}
    for step, records in parts:
        right = [record for record in records if record.verdict.correct and record.task in before]
        if right:
            lines["kernels given"].append((step, metrics.geometric_mean([before[r.task] for r in right])))
            answers = metrics.geometric_mean([reward.speedup(r.verdict) for r in right])
            lines["right answers"].append((step, answers))
    return lines


def _scheme(config: Config | None, given: Sequence[Given]) -> str:
    scheme = "midend" if given else config.reward.scheme if config is not None else ""
    texts = {
        "frontend": "-10 for what fails, 1 for what is right.",
        "midend": "-10 for what fails, 1 + speedup for what is right.",
        "hierarchical": "The plan's tokens earn the speedup of a right candidate, the code's that it is right.",
        "uniform": "Right candidates earn 1 and a tenth of their speedup.",
    }
    return texts.get(scheme, "Mean over the candidates.")


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
