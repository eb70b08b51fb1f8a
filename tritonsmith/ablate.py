"""Every setting of the four extensions, each a run of its own, and what each extension and each pair is worth.

The runs differ in how they train; their models are evaluated alike, with every extension on, so that no setting is
measured by its own ruler. Resumes run by run. Trains nothing itself: that is `train.run`.
"""

import itertools
import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict
from rich import box
from rich.table import Table

from tritonsmith import metrics
from tritonsmith.config import Config, ExtensionsConfig
from tritonsmith.metrics import Estimate
from tritonsmith.types import Record

log = logging.getLogger(__name__)

EXTENSIONS: tuple[str, ...] = ("multi_input", "staged", "curriculum", "calibrated")

_T = 2.571
"""Student's t, two-sided, 95 %, for the five contrasts of three and four extensions."""

Setting = tuple[bool, ...]
"""On or off, in the order of `EXTENSIONS`."""


class Effect(BaseModel):
    """What switching an extension on changes in the held-out correct rate, or what a pair adds to its two effects."""

    model_config = ConfigDict(frozen=True)

    of: tuple[str, ...]
    """One extension: its main effect. Two: their interaction."""
    estimate: Estimate
    """In units of the correct rate. Its interval is resampled over tasks, or that of the runs' own noise where that is
    wider."""


def settings() -> list[Setting]:
    """All of them, from everything off to everything on."""
    return list(itertools.product((False, True), repeat=len(EXTENSIONS)))


def name(setting: Setting) -> str:
    """The folder of a setting's run: `staged+calibrated`, or `none`."""
    return "+".join(itertools.compress(EXTENSIONS, setting)) or "none"


def configure(config: Config, setting: Setting) -> Config:
    """The configuration of a setting's run, in a folder below the whole one's; it trains and does not evaluate."""
    own = config.model_copy(deep=True)
    own.extensions = ExtensionsConfig(**dict(zip(EXTENSIONS, setting, strict=True)))
    own.run.dir = config.run.dir / name(setting)
    own.run.steps = [step for step in config.run.steps if step not in ("eval", "report")]
    return own


def effects(rates: Mapping[Setting, Mapping[str, float]]) -> list[Effect]:
    """Main effects and two-way interactions of a full factorial, from each setting's correct rate by task.

    A main effect is the mean over settings with the extension on less that with it off. An interaction is half of
    what one changes in the other's effect (Box, Hunter and Hunter, Statistics for Experimenters, chapter 5). Each
    setting is trained once, so that two runs differ by luck, which no resampling of tasks shows: the contrasts of three
    and four extensions, taken for noise, tell how much (the same, on unreplicated factorials).
    Tasks that not every setting has are left out. Raises ValueError where settings are missing.
    """
    missing = [one for one in settings() if one not in rates]
    if missing:
        raise ValueError(
            f"{len(missing)} of {2 ** len(EXTENSIONS)} settings have no result, such as {name(missing[0])}"
        )
    tasks = sorted(set.intersection(*(set(one) for one in rates.values())))
    table = np.array([[rates[setting][task] for task in tasks] for setting in settings()])
    signs = np.array([[1.0 if on else -1.0 for on in setting] for setting in settings()])
    contrasts = {
        chosen: 2.0 * (signs[:, chosen].prod(axis=1)[:, None] * table).mean(axis=0)
        for size in range(1, len(EXTENSIONS) + 1)
        for chosen in itertools.combinations(range(len(EXTENSIONS)), size)
    }
    noise = [float(by_task.mean()) for chosen, by_task in contrasts.items() if len(chosen) > 2]
    reach = _T * math.sqrt(sum(one**2 for one in noise) / len(noise))
    return [
        Effect(of=tuple(EXTENSIONS[i] for i in chosen), estimate=_widened(metrics.bootstrap(by_task.tolist()), reach))
        for chosen, by_task in contrasts.items()
        if len(chosen) <= 2
    ]


def _widened(estimate: Estimate, reach: float) -> Estimate:
    low, high = min(estimate.low, estimate.value - reach), max(estimate.high, estimate.value + reach)
    return estimate.model_copy(update={"low": low, "high": high})


def ablate(config: Config, dry_run: bool = False) -> list[Effect]:
    """Run every setting, evaluate each model alike, and leave `ablation.json` in `run.dir` (a dry run
    `ablation-dry-run.json`); resumes.

    Raises ConfigError as `train.run.run` does.
    """
    from tritonsmith.train import run

    configs = {setting: configure(config, setting) for setting in settings()}
    folders = {setting: own.run.dir / "dry-run" if dry_run else own.run.dir for setting, own in configs.items()}
    alike = config.model_copy(deep=True)
    alike.extensions = ExtensionsConfig(**dict.fromkeys(EXTENSIONS, True))
    with run.judges(alike) as verifier:
        for number, (setting, own) in enumerate(configs.items(), start=1):
            log.info("setting %d of %d: %s", number, len(configs), name(setting))
            run.run(own, dry_run=dry_run, beside=verifier)
        records = run.evaluate_alike(alike, folders, verifier, dry_run)
    rates = {setting: rate_by_task(found) for setting, found in records.items()}
    found = effects(rates)
    means = {name(setting): metrics.bootstrap(list(by_task.values())) for setting, by_task in rates.items()}
    _write(config.run.dir / f"ablation{'-dry-run' if dry_run else ''}.json", means, found)
    return found


def rate_by_task(records: Sequence[Record]) -> dict[str, float]:
    """The share of each task's candidates that is correct."""
    tasks: dict[str, list[float]] = {}
    for record in records:
        tasks.setdefault(record.task, []).append(float(record.verdict.correct))
    return {task: sum(values) / len(values) for task, values in tasks.items()}


def table(found: Sequence[Effect]) -> Table:
    """The effects for a terminal, in percentage points."""
    shown = Table("extension", "effect", "95 % interval", "", box=box.SIMPLE, title="held-out correct rate")
    for effect in found:
        one = effect.estimate
        clear = "" if one.low <= 0.0 <= one.high else "excludes 0"
        interval = f"{100 * one.low:+.1f} to {100 * one.high:+.1f}"
        shown.add_row(" x ".join(effect.of), f"{100 * one.value:+.1f}", interval, clear)
    return shown


def _write(path: Path, means: Mapping[str, Estimate], found: Sequence[Effect]) -> None:
    content = {
        "correct": {key: one.model_dump() for key, one in means.items()},
        "effects": [effect.model_dump() for effect in found],
    }
    path.write_text(json.dumps(content, indent=1))
