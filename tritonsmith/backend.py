"""The backend agent: block sizes, warps and stages of a verified kernel, searched for one target.

What may be turned is read off the candidate's launches, in `forward` or in functions beside it: compile-time arguments
that are powers of two, by name or by place, written there or in a variable; the same numbers in the launch grid with
them; and `num_warps` and `num_stages`. Where products of float32 are asked for as IEEE has them, one number more says
whether each is made of three of TF32 instead, which runs on tensor cores and loses little. The search is optuna's; what
is right and how fast is the verifier's to say. Nothing else of the source changes.
"""

import ast
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import optuna

from tritonsmith.types import Verdict

log = logging.getLogger(__name__)

SMALLEST, LARGEST = 16, 8192
"""Block sizes tried; `tl.dot` needs 16, and more than 8192 elements a program only spill."""
WARPS = (1, 2, 4, 8, 16)
STAGES = (1, 2, 3, 4, 5)
OPTIONS = ("num_warps", "num_stages")
"""Launch options, which are no parameters of a kernel."""
PRECISIONS = ("ieee", "tf32x3")
"""What `input_precision` of the products may be, by its number as a knob."""
EVERYWHERE = -1
"""Stands for a launch where a knob turns all kernels."""


@dataclass(frozen=True)
class Knob:
    """One number of one launch."""

    launch: int
    """Which launch of the source, in its order; EVERYWHERE for what is the same in all of its kernels."""
    name: str
    """`BLOCK`, `num_warps`, ..."""
    value: int | None
    """What it is now; None where the launch leaves it to Triton."""

    @property
    def choices(self) -> tuple[int | None, ...]:
        """Values worth a try: for a block from a quarter to four times as much; None leaves it to Triton as it was."""
        if self.name in OPTIONS:
            most = WARPS if self.name == "num_warps" else STAGES
            return most if self.value is not None else (None, *most)
        if self.launch == EVERYWHERE:
            return tuple(range(len(PRECISIONS)))
        assert self.value is not None
        near = (self.value * factor // 4 for factor in (1, 2, 4, 8, 16))
        return tuple(size for size in near if SMALLEST <= size <= LARGEST) or (self.value,)

    @property
    def key(self) -> str:
        """Its name in a search."""
        return f"{self.launch}.{self.name}"


_PRECISION = Knob(EVERYWHERE, "input_precision", 0)


def knobs(source: str) -> list[Knob]:
    """What can be turned in a candidate's source. Raises SyntaxError where it is no Python."""
    tree, found = ast.parse(source), []
    if _precisions(tree):
        found.append(_PRECISION)
    for number, launch in enumerate(_launches(tree)):
        found += [Knob(number, name, cast(int, literal.value)) for name, literal in launch.sizes.items()]
        given = {keyword.arg: keyword.value for keyword in launch.call.keywords}
        for name in OPTIONS if launch.open else ():
            value = given.get(name)
            if value is None:
                found.append(Knob(number, name, None))
            elif isinstance(value, ast.Constant) and isinstance(value.value, int):
                found.append(Knob(number, name, value.value))
    return found


def turned(source: str, settings: Mapping[str, int | None]) -> str:
    """The source with other numbers, by `Knob.key`; what is not named, or None, stays as it is."""
    tree = ast.parse(source)
    for literal in _precisions(tree):
        literal.value = PRECISIONS[settings.get(_PRECISION.key) or 0]
    for number, launch in enumerate(_launches(tree)):
        for name, literal in launch.sizes.items():
            if (size := settings.get(f"{number}.{name}")) is not None:
                _turn_grid(launch, name, size)
                literal.value = size
        given = {keyword.arg: keyword.value for keyword in launch.call.keywords}
        for name in OPTIONS:
            value, option = given.get(name), settings.get(f"{number}.{name}")
            if option is not None and value is None:
                launch.call.keywords.append(ast.keyword(name, ast.Constant(option)))
            elif option is not None and isinstance(value, ast.Constant):
                value.value = option
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


@dataclass(frozen=True)
class _Launch:
    """A call of the form `kernel[grid](...)`."""

    call: ast.Call
    grid: ast.AST
    """What counts the programs: the expression in brackets, or what the variable there is set to."""
    sizes: dict[str, ast.Constant]
    """By parameter the literal that is passed for it, or that the variable which is passed is set to."""
    open: bool
    """Whether warps and stages are the launch's to say, and not those of a kernel that tunes itself."""


def _precisions(tree: ast.Module) -> list[ast.Constant]:
    """Where products of float32 are asked for as IEEE has them."""
    keywords = [one for node in ast.walk(tree) if isinstance(node, ast.Call) for one in node.keywords]
    values = [one.value for one in keywords if one.arg == "input_precision"]
    return [value for value in values if isinstance(value, ast.Constant) and value.value == PRECISIONS[0]]


def _turn_grid(launch: _Launch, name: str, size: int) -> None:
    """A grid that counts blocks by the number: its `cdiv`s by it, the i-th for the i-th such parameter."""
    now = launch.sizes[name].value
    twins = [one for one, literal in launch.sizes.items() if literal.value == now]
    divisors = [
        node.args[1]
        for node in ast.walk(launch.grid)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cdiv") and len(node.args) == 2
    ]
    own = [one for one in divisors if isinstance(one, ast.Constant) and one.value == now]
    for place, divisor in enumerate(own):
        if len(twins) == 1 or place == twins.index(name):
            divisor.value = size


def _launches(tree: ast.Module) -> list[_Launch]:
    """The launches in the order of the source, wherever they stand. A literal that several use is the first one's."""
    kernels = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.decorator_list}
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript)]
    seen: set[int] = set()
    found = []
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        assert isinstance(call.func, ast.Subscript)
        if not isinstance(call.func.value, ast.Name):
            continue
        scopes = _scopes(tree, call)
        kernel = kernels.get(call.func.value.id)
        given = {name: _set_to(value, scopes) for name, value in _passed(call, kernel)}
        sizes = {n: v for n, v in given.items() if isinstance(v, ast.Constant) and _is_size(v) and id(v) not in seen}
        seen |= {id(literal) for literal in sizes.values()}
        tunes_itself = kernel is not None and "autotune" in "".join(map(ast.unparse, kernel.decorator_list))
        found.append(_Launch(call, _set_to(call.func.slice, scopes), sizes, not tunes_itself))
    return found


def _passed(call: ast.Call, kernel: ast.FunctionDef | None) -> list[tuple[str, ast.expr]]:
    """What a launch passes for compile-time parameters; all that it names where the kernel is not known."""
    named = [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg and keyword.arg not in OPTIONS]
    if kernel is None:
        return named
    constant = [one.arg for one in kernel.args.args if one.annotation and "constexpr" in ast.unparse(one.annotation)]
    in_order = [(one.arg, value) for one, value in zip(kernel.args.args, call.args, strict=False)]
    return [(name, value) for name, value in [*in_order, *named] if name in constant]


def _scopes(tree: ast.Module, call: ast.Call) -> list[ast.AST]:
    """The functions around a call, the innermost first, and the module."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and call in ast.walk(n)]
    functions.sort(key=lambda one: one.lineno, reverse=True)
    return [*functions, tree]


def _set_to(value: ast.expr, scopes: Sequence[ast.AST]) -> ast.AST:
    """What a variable is set to where that happens once; an expression of another kind itself."""
    for scope in scopes if isinstance(value, ast.Name) else ():
        assert isinstance(value, ast.Name)
        made = [
            node
            for statement in getattr(scope, "body", ())
            for node in ([statement] if isinstance(scope, ast.Module) else ast.walk(statement))
            if value.id in _defined(node)
        ]
        if made:
            only = made[0] if len(made) == 1 else value
            return only.value or value if isinstance(only, (ast.Assign, ast.AnnAssign)) else only
        if isinstance(scope, ast.FunctionDef) and value.id in {one.arg for one in scope.args.args}:
            return value
    return value


def _defined(node: ast.AST) -> set[str]:
    """Names that a statement itself gives a value to."""
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    parts = (part for target in targets if target is not None for part in ast.walk(target))
    return {part.id for part in parts if isinstance(part, ast.Name)}


def _is_size(literal: ast.Constant) -> bool:
    """Whether a literal is a power of two that a block may have."""
    value = literal.value
    return type(value) is int and value >= SMALLEST and value & (value - 1) == 0


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

    def described(self) -> str:
        """What was turned, for a person; "" where nothing was."""
        return ", ".join(
            f"{_PRECISION.name} = {PRECISIONS[value]}" if key == _PRECISION.key else f"{key} = {value}"
            for key, value in self.settings.items()
        )


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
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # a trial that is stopped is no warning, nor worth a traceback
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True))
    given = {knob.key: knob.value for knob in known if knob.value in knob.choices}
    study.enqueue_trial(given, skip_if_exists=True)
    if _PRECISION in known:  # a short search may draw it never, or only together with sizes that hide it
        study.enqueue_trial(given | {_PRECISION.key: 1}, skip_if_exists=True)

    def objective(trial: optuna.Trial) -> float:
        drawn = {knob.key: trial.suggest_categorical(knob.key, knob.choices) for knob in known}
        settings = cast(dict[str, int | None], drawn)
        made = turned(source, settings)
        compiled = compiles(made)
        if not compiled.compiled or sum(kernel.spills or 0 for kernel in compiled.kernels) > spills:
            raise optuna.TrialPruned
        took = _time(judge(made))
        if took is None:
            raise optuna.TrialPruned
        return took

    until = time.monotonic() + seconds
    study.optimize(objective, n_trials=trials, timeout=max(0.0, until - time.monotonic()))
    return _best(study, source, known, before)


def _best(study: optuna.Study, source: str, known: Sequence[Knob], before: float) -> Tuned:
    done = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    count = len(study.get_trials()) + 1
    if not done or study.best_value >= before:
        return Tuned(source, {}, count, before, before)
    settings = study.best_params
    changed = {knob.key: int(settings[knob.key]) for knob in known if settings[knob.key] != knob.value}
    return Tuned(turned(source, changed), changed, count, before, study.best_value)


def _time(verdict: Verdict) -> float | None:
    """Milliseconds of a correct candidate that was measured."""
    timing = verdict.timing
    return timing.candidate_ms if verdict.correct and timing is not None and timing.kind == "measured" else None
