"""The report's figures: plain data in, an SVG element out that takes its colours and its font from the page.

matplotlib draws with marker colours that are then replaced by CSS variables, so that one SVG serves the light page,
the dark page and the printed one. Does not read files.
"""

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from html import escape

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullLocator, PercentFormatter

from tritonsmith.metrics import Estimate

INK, MUTED, GRID = "#000001", "#000002", "#000003"
SERIES = ("#000011", "#000012", "#000013", "#000014")
_VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--line"} | {c: f"--series-{i}" for i, c in enumerate(SERIES, 1)}


def loss_curve(points: Sequence[tuple[int, float]], name: str) -> str:
    """SFT loss by training step."""
    with _style():
        figure, axes = _axes(5.2, 2.8)
        axes.plot(*zip(*points, strict=True), color=SERIES[1], marker="o" if len(points) < 4 else "", linewidth=1.8)
        axes.set(xlabel="training step", ylabel="loss (nats per token)")
        axes.set_ylim(bottom=0)
        return _svg(figure, name, "SFT loss by training step")


def over_steps(
    lines: Mapping[str, Sequence[tuple[int, float]]], xlabel: str, name: str, title: str, shares: bool = True
) -> str:
    """Shares between 0 and 1 (rates, rewards, probabilities) by round or step; or not `shares`: any numbers."""
    with _style():
        figure, axes = _axes(5.2, 2.8)
        for colour, (label, points) in zip(_colours(len(lines)), lines.items(), strict=True):
            few = len(points) < 30
            axes.plot(*zip(*points, strict=True), color=colour, marker="o" if few else "", linewidth=1.8, label=label)
        axes.set(xlabel=xlabel)
        if shares:
            axes.set_ylim(0, 1.02)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        _legend(axes, len(lines))
        return _svg(figure, name, title)


def against(points: Sequence[tuple[float, float]], labels: tuple[str, str], name: str, title: str) -> str:
    """Positive numbers before and after, a dot each, on logarithmic axes of one range, with the line of no change."""
    low, high = min(map(min, points)) / 1.15, max(map(max, points)) * 1.15
    with _style():
        figure, axes = _axes(5.2, 3.8)
        axes.plot([low, high], [low, high], color=MUTED, linewidth=1)
        axes.scatter(*zip(*points, strict=True), s=26, color=SERIES[1], alpha=0.7, linewidths=0)
        axes.set(xlabel=labels[0], ylabel=labels[1], xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
            axis.set_minor_locator(NullLocator())
        return _svg(figure, name, title)


def rates(groups: Mapping[str, Mapping[str, Estimate]], name: str, title: str) -> str:
    """Grouped bars with 95 % intervals: `groups[series][category]`."""
    categories = list(dict.fromkeys(key for bars in groups.values() for key in bars))
    with _style():
        figure, axes = _axes(5.2, 2.8)
        axes.grid(axis="x", visible=False)
        width = 0.8 / max(len(groups), 1)
        for i, (colour, (label, bars)) in enumerate(zip(_colours(len(groups)), groups.items(), strict=True)):
            places = [categories.index(key) + (i - (len(groups) - 1) / 2) * width for key in bars]
            values = [bar.value for bar in bars.values()]
            below = [max(bar.value - bar.low, 0.0) for bar in bars.values()]
            above = [max(bar.high - bar.value, 0.0) for bar in bars.values()]
            axes.bar(places, values, width * 0.9, color=colour, label=label)
            axes.errorbar(places, values, yerr=[below, above], fmt="none", ecolor=INK, elinewidth=1, capsize=2.5)
        axes.set_xticks(range(len(categories)), categories)
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        _legend(axes, len(groups))
        return _svg(figure, name, title)


def shares(groups: Mapping[str, Mapping[str, float]], name: str, title: str) -> str:
    """Horizontal bars of shares with their percentage written behind: `groups[series][category]`, first on top."""
    categories = list(dict.fromkeys(key for bars in groups.values() for key in bars))
    with _style():
        rows = max(len(categories), 3)
        figure, axes = _axes(5.2, 0.9 + 0.2 * rows * (len(groups) + 0.6))
        axes.grid(axis="y", visible=False)
        height = 0.8 / max(len(groups), 1)
        for i, (colour, (label, bars)) in enumerate(zip(_colours(len(groups)), groups.items(), strict=True)):
            places = [categories.index(key) + (i - (len(groups) - 1) / 2) * height for key in bars]
            drawn = axes.barh(places, list(bars.values()), height * 0.9, color=colour, label=label)
            axes.bar_label(drawn, [f"{100 * value:.0f} %" for value in bars.values()], padding=3, fontsize=8)
        axes.set_yticks(range(len(categories)), categories)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(rows - 0.5, -0.5)
        largest = max((value for bars in groups.values() for value in bars.values()), default=1.0)
        axes.set_xlim(0, max(largest, 0.05) * 1.12)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        _legend(axes, len(groups))
        return _svg(figure, name, title)


def counts(groups: Mapping[str, Mapping[str, int]], name: str, title: str) -> str:
    """Horizontal bars, the series stacked: `groups[series][category]`; a category's number is the sum."""
    categories = list(dict.fromkeys(key for bars in groups.values() for key in bars))
    with _style():
        figure, axes = _axes(5.2, 0.6 + 0.26 * max(len(categories), 2) + 0.3 * (len(groups) > 1))
        axes.grid(axis="y", visible=False)
        left = dict.fromkeys(categories, 0)
        for colour, (label, bars) in zip(_stacked(len(groups)), groups.items(), strict=True):
            values = [bars.get(key, 0) for key in categories]
            axes.barh(range(len(categories)), values, 0.75, left=list(left.values()), color=colour, label=label)
            left = {key: before + value for (key, before), value in zip(left.items(), values, strict=True)}
        most = max(left.values(), default=1)
        for place, value in enumerate(left.values()):
            axes.text(value + 0.012 * most, place, f"{value:,}", va="center", fontsize=8)
        axes.set_yticks(range(len(categories)), categories)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(categories) - 0.5, -0.5)
        axes.set_xlim(0, 1.14 * most)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        _legend(axes, len(groups))
        return _svg(figure, name, title)


def histogram(groups: Mapping[str, Sequence[int]], xlabel: str, name: str, title: str) -> str:
    """How numbers are distributed, a step line a series, bins of equal ratio: `groups[series]`."""
    numbers = [max(number, 1) for series in groups.values() for number in series]
    with _style():
        figure, axes = _axes(5.2, 2.8)
        bins = np.geomspace(min(numbers), max(max(numbers), min(numbers) + 1), 33)
        for colour, (label, series) in zip(_stacked(len(groups)), groups.items(), strict=True):
            axes.hist(series, bins=bins.tolist(), histtype="stepfilled", color=colour, alpha=0.6, label=label)
        axes.set(xlabel=xlabel, ylabel="rows", xscale="log")
        axes.xaxis.set_major_formatter(EngFormatter())
        axes.xaxis.set_minor_formatter(EngFormatter())
        axes.tick_params(axis="x", which="both", labelsize=8, labelrotation=30)
        _legend(axes, len(groups))
        return _svg(figure, name, title)


def _stacked(number: int) -> list[str]:
    """Colours of series that are parts of one whole: the strong one first."""
    return [SERIES[(i + 1) % len(SERIES)] for i in range(number)]


def _style() -> AbstractContextManager[None]:
    """matplotlib's settings while a figure is drawn."""
    return mpl.rc_context(
        {
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 10,
            "text.color": INK,
            "text.parse_math": False,
            "axes.edgecolor": MUTED,
            "axes.labelcolor": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "grid.color": GRID,
            "grid.linewidth": 0.8,
            "xtick.color": MUTED,
            "ytick.color": MUTED,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "legend.frameon": False,
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
        }
    )


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _colours(number: int) -> list[str]:
    """Grey for what came first, colours after it; a lone series has a colour."""
    return [SERIES[(i + (number == 1)) % len(SERIES)] for i in range(number)]


def _legend(axes: Axes, lines: int) -> None:
    if lines > 1:
        axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=min(lines, 4))


def _svg(figure: Figure, name: str, title: str) -> str:
    """The figure as an SVG element with ids of its own, for several stand in one page."""
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([\w.]+?_\d+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r' width="[\d.]+pt" height="[\d.]+pt"| height="[\d.]+pt"| width="[\d.]+pt"', "", svg, count=2)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    label = escape(title, quote=True)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
