"""The backend agent: block sizes, warps and stages of a verified kernel, searched for one target.

What may be turned is read off the candidate's launches: keyword arguments that are powers of two, the same numbers
in the launch grid with them, and `num_warps` and `num_stages`. The search is optuna's; what is right and how fast
is the verifier's to say. Nothing else of the source changes, so a kernel that was wrong stays wrong.
"""

import ast
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import optuna

from tritonsmith.types import Verdict

log = logging.getLogger(__name__)

SMALLEST, LARGEST = 16, 8192
"""Block sizes tried; `tl.dot` needs 16, and more than 8192 elements a program only spill."""
WARPS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Knob:
    """One number of one launch."""

    launch: int
    """Which launch of the source, in its order."""
    name: str
    """`BLOCK`, `num_warps`, ..."""
    value: int | None
    """What it is now; None where the launch leaves it to Triton."""

    @property
    def choices(self) -> tuple[int, ...]:
        """Values worth a try: for a block from a quarter to four times as much."""
        if self.name == "num_warps":
            return WARPS
        if self.name == "num_stages":
            return STAGES
        assert self.value is not None
        near = (self.value * factor // 4 for factor in (1, 2, 4, 8, 16))
        return tuple(size for size in near if SMALLEST <= size <= LARGEST) or (self.value,)

    @property
    def key(self) -> str:
        """Its name in a search."""
        return f"{self.launch}.{self.name}"


def knobs(source: str) -> list[Knob]:
    """What can be turned in a candidate's source. Raises SyntaxError where it is no Python."""
    found = []
    for number, call in enumerate(_launches(ast.parse(source))):
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        for name, value in given.items():
            if name not in ("num_warps", "num_stages") and (size := _power(value)) is not None:
                found.append(Knob(number, name, size))
        for name in ("num_warps", "num_stages"):
            value = given.get(name)
            if value is None:
                found.append(Knob(number, name, None))
            elif isinstance(value, ast.Constant) and isinstance(value.value, int):
                found.append(Knob(number, name, value.value))
    return found


def turned(source: str, settings: Mapping[str, int]) -> str:
    """The source with other numbers, by `Knob.key`; what is not named stays as it is."""
    tree = ast.parse(source)
    for number, call in enumerate(_launches(tree)):
        for keyword in call.keywords:
            key = f"{number}.{keyword.arg}"
            if key not in settings or not isinstance(keyword.value, ast.Constant):
                continue
            if keyword.arg not in ("num_warps", "num_stages"):
                _turn_grid(call, keyword, settings[key])
            keyword.value = ast.Constant(settings[key])
        present = {keyword.arg for keyword in call.keywords}
        for name in ("num_warps", "num_stages"):
            if name not in present and f"{number}.{name}" in settings:
                call.keywords.append(ast.keyword(name, ast.Constant(settings[f"{number}.{name}"])))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _turn_grid(call: ast.Call, keyword: ast.keyword, size: int) -> None:
    """The grid counts blocks of the same size: its `cdiv`s by that number, the i-th for the i-th such keyword."""
    assert isinstance(call.func, ast.Subscript) and isinstance(keyword.value, ast.Constant)
    now = keyword.value.value
    twins = [k for k in call.keywords if _power(k.value) == now and k.arg not in ("num_warps", "num_stages")]
    divisions = [
        node
        for node in ast.walk(call.func.slice)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("cdiv")
        and len(node.args) == 2
        and _power(node.args[1]) == now
    ]
    if len(twins) == 1:
        for node in divisions:
            node.args[1] = ast.Constant(size)
    elif twins.index(keyword) < len(divisions):
        divisions[twins.index(keyword)].args[1] = ast.Constant(size)


def _launches(tree: ast.Module) -> list[ast.Call]:
    """Calls of the form `kernel[grid](...)`, in the order of the source."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript)]
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _power(node: ast.expr) -> int | None:
    """The power of two that a literal is."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int and value >= SMALLEST and value & (value - 1) == 0 else None


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    source: str
    """The best source; the one that was given where nothing was faster."""
    settings: dict[str, int]
    """What was turned, by `Knob.key`; empty where nothing was."""
    trials: int
    before_ms: float | None
    after_ms: float | None


def tune(
    source: str,
    judge: Callable[[str], Verdict],
    compiles: Callable[[str], Verdict],
    *,
    seconds: float,
    trials: int = 64,
    seed: int = 0,
) -> Tuned:
    """Search for the settings with the least measured time, within `seconds` and `trials`.

    `compiles` judges as far as the compile stage: what fails there, or spills where the given kernel does not, is not
    run. `judge` judges to the end. Where time is predicted, not measured, there is nothing to tell settings apart and
    the source is given back as it is.
    """
    first = judge(source)
    before = _time(first)
    known = knobs(source)
    if before is None or not known:
        return Tuned(source, {}, 1, before, before)
    spills = sum(kernel.spills or 0 for kernel in first.kernels)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True))
    study.enqueue_trial({knob.key: knob.value for knob in known if knob.value in knob.choices}, skip_if_exists=True)

    def objective(trial: optuna.Trial) -> float:
        settings = {knob.key: trial.suggest_categorical(knob.key, knob.choices) for knob in known}
        made = turned(source, settings)
        compiled = compiles(made)
        if not compiled.compiled or sum(kernel.spills or 0 for kernel in compiled.kernels) > spills:
            raise optuna.TrialPruned
        took = _time(judge(made))
        if took is None:
            raise optuna.TrialPruned
        return took

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    until = time.monotonic() + seconds
    study.optimize(objective, n_trials=trials, timeout=max(0.0, until - time.monotonic()))
    return _best(study, source, known, before)


def _best(study: optuna.Study, source: str, known: Sequence[Knob], before: float) -> Tuned:
    done = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    count = len(study.get_trials()) + 1
    if not done or study.best_value >= before:
        return Tuned(source, {}, count, before, before)
    settings = {key: int(value) for key, value in study.best_params.items()}
    changed = {knob.key: settings[knob.key] for knob in known if settings[knob.key] != knob.value}
    return Tuned(turned(source, changed), changed, count, before, study.best_value)


def _time(verdict: Verdict) -> float | None:
    """Milliseconds of a correct candidate that was measured."""
    timing = verdict.timing
    return timing.candidate_ms if verdict.correct and timing is not None and timing.kind == "measured" else None
