"""The page of a data set that `data build` made: one self-contained HTML file, `histogram.html`.

Like the report of a run it loads nothing from elsewhere and runs no script.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
from markupsafe import Markup

from tritonsmith import __version__, jsonl
from tritonsmith.data import census as censuses
from tritonsmith.data.census import Census
from tritonsmith.data.rows import SPLITS, ContrastiveRow, PairRow
from tritonsmith.data.store import Settings, said
from tritonsmith.report import figures, html
from tritonsmith.report.plots import Plot

MOST_OPERATORS = 48
"""Bars of the histogram of operators."""
EXAMPLES = 24
READ = 2048
"""Rows that examples are drawn from, a file."""


def build(out: Path) -> Path:
    """Write `out/histogram.html` from the census and the rows below `out`, and return its path."""
    census = censuses.read(out)
    settings = Settings.model_validate_json((out / "settings.json").read_text())
    rng = random.Random(0)
    pairs = [PairRow.model_validate(row) for row in _rows(out, SPLITS, rng)]
    wrong = [ContrastiveRow.model_validate(row) for row in _rows(out, ("contrastive",), rng)]
    page = html.environment()
    page.filters["source"] = html.code
    text = page.get_template("dataset.html.j2").render(
        name=out.resolve().name,
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        census=census,
        total=sum(census.rows.values()),
        splits={split: census.rows[split] for split in SPLITS if split in census.rows},
        leaked=any(census.leaks.values()),
        facts=_facts(settings),
        plots=_plots(census),
        examples=list({(row.family, row.source): row for row in pairs}.values())[:EXAMPLES],
        wrong=list({(row.planted, row.verdict.reason): row for row in wrong}.values())[:EXAMPLES],
        share=_share,
        mean=_mean,
        light=html.colours("friendly"),
        dark=html.colours("github-dark"),
    )
    path = out / "histogram.html"
    with said(path):
        jsonl.write(path, text)
    return path


def _rows(out: Path, stems: Sequence[str], rng: random.Random) -> Iterator[dict[str, object]]:
    """Rows in random order, from the beginning of each file."""
    found: list[dict[str, object]] = []
    for path in sorted(path for stem in stems for path in (out / "data").glob(f"{stem}-*.parquet")):
        batches = pq.ParquetFile(path).iter_batches(READ)
        found += next(iter(batches)).to_pylist()
    rng.shuffle(found)
    yield from found


def _facts(settings: Settings) -> dict[str, str]:
    facts = {"tasks": settings.tasks, "seed": str(settings.seed), "sources": ", ".join(settings.sources)}
    if settings.styles > 1:
        facts["writings of each graph"] = f"up to {settings.styles}"
    return facts


def _plots(census: Census) -> list[Plot]:
    titles = {
        "level": ("Level", "1 = one operator, 2 = a fusion, 3 = a network."),
        "depth": ("Depth", "Operators of the graph."),
        "family": ("Family", "By the operator that dominates the work."),
        "source": ("Source", "Which source the kernel comes from."),
        "operator": ("Operators", f"Rows whose ATen trace holds the operator; the {MOST_OPERATORS} most frequent."),
    }
    plots = []
    for key, (title, caption) in titles.items():
        if values := census.by.get(key):
            svg = figures.counts(_by_split(values, key in ("level", "depth")), key, f"Rows by {key}")
            plots.append(Plot(title, Markup(svg), caption))
    if census.characters:
        prompts, completions = zip(*census.characters, strict=True)
        lengths = {"module": prompts, "plan and kernel": completions}
        svg = figures.histogram(lengths, "characters", "length", "Rows by length")
        plots.append(Plot("Length", Markup(svg), "Characters of prompt and completion."))
    if census.stages:
        total = sum(census.stages.values()) or 1.0
        shares = {name: seconds / total for name, seconds in census.stages.items()}
        svg = figures.shares({"seconds": shares}, "stages", "Where the verifier's time goes")
        plots.append(Plot("Where the verifier's time goes", Markup(svg), f"Of {total:.2f} s a right candidate."))
    return plots


def _by_split(values: dict[str, dict[str, int]], numeric: bool) -> dict[str, dict[str, int]]:
    """Turn counts by value and split into counts by split and value, the largest value first or in order."""
    keys = sorted(values, key=lambda key: int(key) if numeric else -sum(values[key].values()))[:MOST_OPERATORS]
    present = [split for split in SPLITS if any(split in counts for counts in values.values())]
    return {split: {key: values[key].get(split, 0) for key in keys} for split in present}


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _mean(total: float, count: int) -> str:
    return f"{total / count:.2f}" if count else "–"
