"""What came of runs of `rl.py`: read from their folders, set side by side in tables, and left as `result.json`."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, combinations
from pathlib import Path
from statistics import fmean, geometric_mean

import torch
from rich import box
from rich.table import Table
from rl_training import POINTS, SETS, steps_of

from tritonsmith import config as configuration
from tritonsmith import evaluate, metrics
from tritonsmith.config import Config
from tritonsmith.errors import UserError
from tritonsmith.types import Record, Verdict

PARTS = ("seconds", "sample", "verify", "wait", "train")
LONG = 40
"""Letters of a setting in a label."""
DEPTHS = "depths.json"
"""In a run's folder: operators of each deep task."""


@dataclass
class Result:
    """What one run's folder holds."""

    out: Path
    config: Config
    method: str
    records: dict[str, dict[str, list[Record]]] = field(default_factory=dict)
    """By point and set."""
    depths: dict[str, int] = field(default_factory=dict)
    """Of the deep tasks, as far as they are known."""
    given: dict[str, object] = field(default_factory=dict)
    """What a run is besides its configuration: its minutes, and its tasks, long ones by a hash."""

    @classmethod
    def of(cls, out: Path) -> "Result":
        """Read a folder; raises UserError where it is none of these."""
        try:
            settings = json.loads((out / "settings.json").read_text())
            config = configuration.load(out / "resolved.toml")
        except OSError as error:
            raise UserError(f"{out} holds no run of this benchmark: {error.strerror}") from error
        known = out / DEPTHS
        depths = json.loads(known.read_text()) if known.exists() else {}
        given = {key: brief(value) for key, value in settings.items() if key != "method"}
        found = cls(out, config, settings["method"], depths=depths, given=given)
        for point in POINTS:
            folder = out / "eval" / point
            found.records[point] = {name: evaluate.read(folder / f"{name}.jsonl") for name in SETS}
        return found

    @property
    def setting(self) -> str:
        """Method and reward."""
        return f"{self.method}, {self.config.reward.scheme}"

    @property
    def numbers(self) -> dict[str, object]:
        """All that seeds of one setting have in common: its method's settings by name, and the others' by section."""
        tree = self.config.model_dump()
        own, _ = (
            tree.pop(name) for name in (("grpo", "best_of_n") if self.method == "grpo" else ("best_of_n", "grpo"))
        )
        others = {f"{name}.{key}": value for name, section in tree.items() for key, value in section.items()}
        # Where a run lies, and how many judge, changes none of its answers.
        apart = {"run.dir", "run.seed", "verify.workers", "verify.judges"}
        return {**own, **{key: value for key, value in {**others, **self.given}.items() if key not in apart}}

    @property
    def folder(self) -> Path:
        """Where its training is."""
        return self.out / ("grpo" if self.method == "grpo" else "rl")

    def drawn(self) -> Iterator[Record]:
        """What was drawn in training, as far as the folder still has it; of a step that was done again the latter."""
        for path in [self.folder / "records.jsonl", *sorted(self.folder.glob("round-*/records.jsonl"))]:
            found = evaluate.read(path)
            yield from {(one.step, one.task, one.sample, one.turn): one for one in found}.values()

    def training(self) -> list[dict[str, float]]:
        """By step or round: minutes since the start, share of correct ones among what was drawn, and its time."""
        rates: defaultdict[int, list[float]] = defaultdict(list)
        for record in self.drawn():
            rates[record.step].append(float(record.verdict.correct))
        rows, seconds = [], 0.0
        for step in steps_of(self.folder):
            seconds += step["seconds"]
            # A step of GRPO counts from 1, what it drew from 0.
            drawn = rates[int(step["step"]) - (self.method == "grpo")]
            mean = sum(drawn) / len(drawn) if drawn else None
            rows.append({**step, "minutes": seconds / 60, "candidates": len(drawn), "correct": mean})
        return rows

    def write(self) -> None:
        """Leave `result.json`."""
        curve = {
            point: {name: metrics.bootstrap(_rates(some)).model_dump() for name, some in sets.items()}
            for point, sets in self.records.items()
        }
        change = {
            name: metrics.difference(self.records["start"][name], self.records["end"][name]).model_dump()
            for name in SETS
        }
        steps = self.training()
        content = {
            "method": self.method,
            "reward": self.config.reward.scheme,
            "seed": self.config.run.seed,
            "curve": curve,
            "change": change,
            "steps": steps,
            "step": {part: _median([row[part] for row in steps]) for part in PARTS},
            "hidden": hidden(steps),
        }
        (self.out / "result.json").write_text(json.dumps(content, indent=1))


def brief(value: object) -> object:
    """The value; of a long text the hash's beginning."""
    return sha256(value.encode()).hexdigest()[:6] if isinstance(value, str) and len(value) > LONG else value


def hidden(steps: Sequence[Mapping[str, float]]) -> float:
    """The share of all judging during which other work was done."""
    judging = sum(row["verify"] for row in steps)
    return 1.0 - sum(row["wait"] for row in steps) / judging if judging else float("nan")


def by_depth(results: Sequence[Result]) -> list[str]:
    """A line for each setting: how the share of right answers to deep graphs changed, by their number of operators."""
    lines = []
    for setting, some in by_setting(results).items():
        rates: defaultdict[int, dict[str, list[float]]] = defaultdict(lambda: {"start": [], "end": []})
        for result in some:
            for point in ("start", "end"):
                for record in result.records[point]["deep"]:
                    if record.task in result.depths:
                        rates[result.depths[record.task]][point].append(float(record.verdict.correct))
        changes = [
            f"{depth}: {100 * fmean(own['start']):.0f} % -> {100 * fmean(own['end']):.0f} % of {len(own['end'])}"
            for depth, own in sorted(rates.items())
            if own["start"] and own["end"]
        ]
        if changes:
            lines.append(f"{setting}, by operators of a deep graph, start -> end: {', '.join(changes)}")
    return lines


def groups(results: Sequence[Result]) -> list[str]:
    """A line for each run: of how many tasks none, some or all of a group's answers were right, early and late.

    Only the middle ones tell GRPO what is right, and best-of-N what it would not have written anyway. Those with none
    right whose rewards differ tell GRPO of parts of a reward, such as what compiles; divided by the group's deviation
    that counts as much.
    """
    lines = []
    for label, result in labelled(results):
        found: defaultdict[int, defaultdict[str, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
        for record in result.drawn():
            found[record.step][record.task].append(record.verdict)
        steps = [list(tasks.values()) for _, tasks in sorted(found.items())]
        if steps:
            third = -(-len(steps) // 3)
            early, late = _kinds([*chain(*steps[:third])]), _kinds([*chain(*steps[-third:])])
            kinds = "none (of these with rewards that differ), some and all right"
            lines.append(f"{label}, groups with {kinds}, first third: {early}; last: {late}")
    return lines


def speeds(results: Sequence[Result]) -> list[str]:
    """A line for each run whose right answers have a speed: whether they became faster, and whether groups tell it.

    Of a group that is all right speed alone tells one answer from another.
    """
    lines = []
    for label, result in labelled(results):
        drawn = [(record, _speed(record)) for record in result.drawn()]
        eighth = -(-len(drawn) // 8)
        early, late = ([speed for _, speed in part if speed] for part in (drawn[:eighth], drawn[-eighth:]))
        if not early or not late:
            continue
        found: defaultdict[tuple[int, str], list[tuple[str | None, float]]] = defaultdict(list)
        for record, speed in drawn:
            found[record.step, record.task].append((record.source, speed))
        whole = [group for group in found.values() if len(group) > 1 and all(speed for _, speed in group)]
        alike = sum(len({round(speed, 4) for _, speed in group}) == 1 for group in whole)
        one_program = sum(len({source for source, _ in group}) == 1 for group in whole)
        means = f"{geometric_mean(early):.2f} times eager in the first eighth, {geometric_mean(late):.2f} in the last"
        groups = f"of {len(whole)} groups that are all right {alike} have one speed, {one_program} one program"
        lines.append(f"{label}, right answers, geometric mean: {means}; {groups}")
    return lines


def _speed(record: Record) -> float:
    """A right answer's speedup; 0 where it is wrong, or has none."""
    verdict = record.verdict
    return verdict.speedup.median if verdict.correct and verdict.speedup is not None else 0.0


def _kinds(groups: Sequence[Sequence[Verdict]]) -> str:
    right = [sum(verdict.correct for verdict in group) for group in groups]
    none, whole = right.count(0), sum(count == len(group) for count, group in zip(right, groups, strict=True))
    wrong = [group for count, group in zip(right, groups, strict=True) if not count]
    differ = sum(len({verdict.reward for verdict in group}) > 1 for group in wrong)
    shares = [f"{100 * count / len(groups):.0f}" for count in (none, differ, len(groups) - none - whole, whole)]
    return f"{shares[0]} ({shares[1]}), {shares[2]}, {shares[3]} % of {len(groups)}"


def by_setting(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The seeds of each setting, named by method, reward, and what others of these have otherwise."""
    settings: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        others = [other.numbers for other in results if other.setting == result.setting]
        own = [
            f"{key} {value}" for key, value in result.numbers.items() if any(one.get(key) != value for one in others)
        ]
        settings[", ".join([result.setting, *own])].append(result)
    return settings


def labelled(results: Sequence[Result]) -> list[tuple[str, Result]]:
    """Each run with its setting and seed, the seeds of a setting one after the other."""
    return [
        (f"{setting}, seed {one.config.run.seed}", one) for setting, some in by_setting(results).items() for one in some
    ]


def against(results: Sequence[Result]) -> list[str]:
    """A line for each two settings: what one ends at above the other, in points, paired by task.

    The interval is over tasks: it speaks of these runs, and not of what other seeds would do.
    """
    ends = {
        setting: {name: [record for one in some for record in one.records["end"][name]] for name in SETS}
        for setting, some in by_setting(results).items()
    }
    lines = []
    for (one, mine), (other, theirs) in combinations(ends.items(), 2):
        if all(mine.values()) and all(theirs.values()):
            gains = [f"{name} {percent(metrics.difference(theirs[name], mine[name]), sign='+')}" for name in SETS]
            lines.append(f"{one}, the end of these runs above that of {other}, points: {', '.join(gains)}")
    return lines


def compare(results: Sequence[Result]) -> Table:
    """One line a run, and one for each setting of several seeds."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="greedy pass@1, strict, all kinds of inputs, %")
    for name in ("run", "set", *POINTS, "change, points"):
        shown.add_column(name, justify="left" if name in ("run", "set") else "right")
    for setting, some in by_setting(results).items():
        for result in some:
            _lines(shown, f"{setting}, seed {result.config.run.seed}", [result])
        if len(some) > 1:
            _lines(shown, f"{setting}, {len(some)} seeds", some)
    return shown


def _lines(shown: Table, label: str, results: Sequence[Result]) -> None:
    for name in SETS:
        records = {point: [r for one in results for r in one.records[point][name]] for point in POINTS}
        cells = [percent(metrics.bootstrap(_rates(some))) if some else "-" for some in records.values()]
        gain = metrics.difference(records["start"], records["end"])
        shown.add_row(label, name, *cells, percent(gain, sign="+") if records["end"] else "-")


def timings(results: Sequence[Result]) -> Table:
    """The median step of each run."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="a step (a round), medians, seconds")
    for name in ("run", "steps", "candidates", *PARTS, "judging hidden"):
        shown.add_column(name, justify="left" if name == "run" else "right")
    for label, result in labelled(results):
        steps = result.training()
        cells = [f"{_median([row[part] for row in steps]):.2f}" for part in PARTS]
        candidates = f"{_median([row['candidates'] for row in steps]):.0f}"
        share = f"{100 * hidden(steps):.0f} %"
        shown.add_row(label, str(len(steps)), candidates, *cells, share)
    return shown


def _rates(records: Sequence[Record]) -> list[float]:
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for record in records:
        by_task[record.task].append(float(record.verdict.correct))
    return [sum(values) / len(values) for values in by_task.values()]


def _median(values: Sequence[float]) -> float:
    return float(torch.tensor(values).float().median()) if values else float("nan")


def percent(rate: metrics.Estimate, sign: str = "") -> str:
    """A rate, or a change with `sign` "+", and its interval, without a unit."""
    low, high = (format(100 * value, f"{sign}.0f") for value in (rate.low, rate.high))
    return f"{format(100 * rate.value, f'{sign}.1f')} ({low} to {high})"
