"""What a run folder holds, read for the report: settings, logs, records, of the frontend and of the mid-end.

Missing pieces become notes, not errors.
Draws nothing and computes nothing beyond selection.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from tritonsmith import config as configuration
from tritonsmith import evaluate, jsonl, turns
from tritonsmith.config import Config, ConfigError
from tritonsmith.errors import UserError
from tritonsmith.gains import Given
from tritonsmith.types import STAGES, Record, StageName, Verdict

PARTS = ("resolved.toml", "sft", "rl", "grpo", "midend", "eval")
"""What makes a folder that of a run: one of these."""
EVAL_ORDER = ("base", "sft", "rl", "grpo")
LABELS = {"base": "base model", "sft": "SFT", "rl": "RL", "grpo": "GRPO"}
"""How the parts of a run are called on the page."""


class ReportError(UserError):
    """A folder of which no report can be made; its text is one line."""


@dataclass(frozen=True)
class Round:
    """One round of best-of-N."""

    number: int
    records: list[Record]
    p_level2: float | None
    """Probability of a level-2 task after the round, where a curriculum was kept."""
    acc_level1: float | None
    """Moving average of the level-1 correct rate after the round."""
    later: int = 0
    """Candidates of its turns after the first."""


@dataclass
class Training:
    """How one agent was trained."""

    sft_loss: list[tuple[int, float]] = field(default_factory=list)
    """(training step, loss) as the trainer logged them."""
    rounds: list[Round] = field(default_factory=list)
    grpo: list[Record] = field(default_factory=list)

    @property
    def judged(self) -> int:
        """How many candidates were judged in it."""
        return sum(len(part.records) + part.later for part in self.rounds) + len(self.grpo)


@dataclass
class Midend:
    """The second agent's part of a run."""

    training: Training
    given: list[Given]
    """The kernels it was trained on."""
    asked: list[Given]
    """The held-out tasks' kernels."""
    answers: list[Record]
    """To those."""


@dataclass
class Run:
    """A run folder."""

    dir: Path
    config: Config | None = None
    config_text: str = ""
    training: Training = field(default_factory=Training)
    """The frontend's, or that of the only agent."""
    evals: dict[str, list[Record]] = field(default_factory=dict)
    """Held-out records by label, in the order of training; of several turns the first."""
    conversations: dict[str, list[list[Record]]] = field(default_factory=dict)
    """The records of each turn by the same label, where there were several."""
    midend: Midend | None = None
    notes: list[str] = field(default_factory=list)
    """One line for each piece that is not there or cannot be read."""


def load(run_dir: Path) -> Run:
    """Read a run folder. Raises ReportError where there is none; whatever else is amiss is in `notes`."""
    if not any((run_dir / name).exists() for name in PARTS):
        raise ReportError(f"{run_dir} is not a run folder: it holds none of {', '.join(PARTS)}")
    run = Run(run_dir)
    _settings(run)
    run.training = _training(run, run_dir)
    files = {path.stem: path for path in (run_dir / "eval").glob("*.jsonl") if "." not in path.stem}
    known = [name for name in EVAL_ORDER if name in files]
    for name in [*known, *sorted(set(files) - set(known))]:
        records = _records(run, files[name])
        if records:
            label = LABELS.get(name, name)
            run.evals[label] = records
            drawn = len(evaluate.drawn(files[name].with_suffix(".completions.jsonl")))
            if len(records) < drawn:
                run.notes.append(
                    f"Evaluation of {label}: {len(records)} of {drawn} answers are judged so far, and what is refused "
                    "at once comes first: the rates are not its rates."
                )
            later = [_records(run, path) for path in turns.later(files[name])]
            if later:
                run.conversations[label] = [records, *later]
    if (run_dir / "midend").exists():
        run.midend = _midend(run, run_dir / "midend")
    steps = run.config.run.steps if run.config is not None else ["sft", "grpo"]
    if not run.training.sft_loss and "sft" in steps:
        run.notes.append("No SFT curve: sft/model/trainer_state.json is not there.")
    if not run.evals:
        run.notes.append("No evaluation: eval/ holds no records yet.")
    if not run.training.judged and {"best_of_n", "grpo"} & set(steps):
        run.notes.append("No reinforcement learning: neither rl/ nor grpo/ holds records yet.")
    return run


def _training(run: Run, folder: Path) -> Training:
    """What was logged of one agent's training."""
    found = Training(_sft_loss(folder / "sft"))
    for part in sorted((folder / "rl").glob("round-*")):
        records = _records(run, part / "records.jsonl")
        if records and part.name.rpartition("-")[2].isdigit():
            weights, accuracy = _curriculum(part / "curriculum.json")
            later = sum(len(_records(run, path)) for path in turns.later(part / "records.jsonl"))
            found.rounds.append(Round(int(part.name.rpartition("-")[2]), records, weights, accuracy, later))
    # A step that was under way at a kill is drawn again, and rounding may change a word: the later one was trained on.
    drawn = _records(run, folder / "grpo" / "records.jsonl")
    found.grpo = list({(record.step, record.task, record.sample, record.turn): record for record in drawn}.values())
    return found


def _midend(run: Run, folder: Path) -> Midend:
    asked = folder / "eval" / "kernels.jsonl"
    found = Midend(
        _training(run, folder),
        _givens(run, folder / "kernels.jsonl"),
        _givens(run, asked),
        _records(run, folder / "eval" / "midend.jsonl"),
    )
    if asked.exists() and not found.asked:
        run.notes.append("The mid-end is not evaluated: no held-out task has a right kernel.")
    elif not found.answers:
        run.notes.append("The mid-end is not evaluated yet: midend/eval/ holds no records.")
    return found


def _settings(run: Run) -> None:
    path = run.dir / "resolved.toml"
    try:
        run.config_text = path.read_text()
        run.config = configuration.load(path)
    except OSError:
        run.notes.append("No settings: resolved.toml is not there.")
    except (ConfigError, UnicodeDecodeError) as error:
        run.notes.append(f"The settings are those of another version: {error}")


def _sft_loss(folder: Path) -> list[tuple[int, float]]:
    for state in [folder / "model" / "trainer_state.json", *folder.rglob("trainer_state.json")]:
        history = _json(state).get("log_history")
        if not isinstance(history, list):
            continue
        logged = [entry for entry in history if isinstance(entry, dict) and "loss" in entry and "step" in entry]
        if logged:
            return [(int(entry["step"]), float(entry["loss"])) for entry in logged]
    return []


def _curriculum(path: Path) -> tuple[float | None, float | None]:
    state = _json(path)
    return _number(state.get("weights"), "2"), _number(state.get("acc"), "1")


def _number(values: object, key: str) -> float | None:
    value = values.get(key) if isinstance(values, dict) else None
    return float(value) if isinstance(value, int | float) else None


def _json(path: Path) -> dict[str, object]:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _records(run: Run, path: Path) -> list[Record]:
    try:
        return evaluate.read(path)
    except (OSError, ValidationError) as error:
        _leave_out(run, path, error)
        return []


def _givens(run: Run, path: Path) -> list[Given]:
    try:
        return [Given.model_validate(row) for row in jsonl.read(path)]
    except (OSError, ValidationError) as error:
        _leave_out(run, path, error)
        return []


def _leave_out(run: Run, path: Path, error: Exception) -> None:
    reason = "another version" if isinstance(error, ValidationError) else str(error)
    run.notes.append(f"{path.relative_to(run.dir)} is left out: {reason}.")


def passed(verdict: Verdict, stage: StageName) -> bool:
    """Whether a candidate got past a stage of the funnel."""
    return verdict.stage is not None and STAGES.index(verdict.stage) >= STAGES.index(stage)


def reason(record: Record) -> str:
    """Why a candidate was rejected, in one or two words; `correct` if it was not."""
    verdict = record.verdict
    if verdict.correct:
        return "correct"
    if record.source is None:
        return "no code"
    if verdict.findings:
        return verdict.findings[0].rule
    if verdict.mismatch is not None:
        return "wrong values"
    failed = next((stage.name for stage in verdict.stages if not stage.ok), None)
    return f"{failed} failed" if failed else "rejected"


def best(records: Sequence[Record], count: int = 3) -> list[Record]:
    """The correct candidates of highest reward, the larger speedup first among equals, no task twice."""
    ranked = sorted((r for r in records if r.verdict.correct), key=lambda r: (-r.verdict.reward, -_speed(r.verdict)))
    firsts: dict[str, Record] = {}
    for record in ranked:
        firsts.setdefault(record.task, record)
    return list(firsts.values())[:count]


def worst(records: Sequence[Record], count: int = 4) -> list[Record]:
    """One rejected candidate for each of the most frequent reasons, that of lowest reward; the worst first."""
    rejected = sorted((record for record in records if not record.verdict.correct), key=lambda r: r.verdict.reward)
    firsts: dict[str, Record] = {}
    for record in rejected:
        firsts.setdefault(reason(record), record)
    frequent = Counter(map(reason, rejected)).most_common(count)
    return sorted((firsts[name] for name, _ in frequent), key=lambda r: r.verdict.reward)


def _speed(verdict: Verdict) -> float:
    return verdict.speedup.median if verdict.speedup else 0.0
