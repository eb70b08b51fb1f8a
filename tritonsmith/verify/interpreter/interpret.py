"""Triton's interpreter as it runs candidates: launches, one by one, each watched by `shadow` and noted.

What is put into it, and mended where a GPU does otherwise, stands beside: `language`, `accesses`, `operations`, and the
rest of this folder. Judges nothing.
"""

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from triton.runtime import interpreter

from tritonsmith.verify.dynamic.cover import Tally
from tritonsmith.verify.dynamic.observe import Launch, Launches, address, pointed, take_turns, tensors
from tritonsmith.verify.interpreter import (
    accesses,
    approximations,
    batched,
    bfloat16,
    combining,
    conversions,
    disguise,
    extremes,
    float8,
    hints,
    language,
    libdevice,
    loops,
    memo,
    operations,
    promises,
    quotes,
    recorded,
    rewritten,
    shuffling,
    tuning,
    undefined,
)
from tritonsmith.verify.interpreter.running import Running
from tritonsmith.verify.interpreter.shadow import Shadow
from tritonsmith.verify.launches import arguments, warmed


def install(launches: Launches) -> None:
    """Put the shadow between the interpreter and memory, for this process."""
    arithmetic = (conversions, undefined, approximations, extremes, bfloat16, float8)
    for values in (*arithmetic, loops, rewritten, libdevice, combining, memo):
        values.install()
    running = Running(launches, language.install())
    # Integers wrap on a GPU; the interpreter would stop there, at a quarter of its time.
    shared = interpreter.interpreter_builder
    shared.options = replace(shared.options, sanitize_overflow=False)
    promises.install(running.misused)
    hints.install(running.broken)
    accesses.install(running)
    operations.install(running)
    _grids(running)
    _calls(running)
    take_turns()
    disguise.install()
    tuning.install(launches, running.habits)
    quotes.install()


def _grids(running: Running) -> None:
    """Have a launch's programs run as the call at hand wants it: all of them and watched, or some."""
    executor, launches = interpreter.GridExecutor, running.launches
    execute = executor.__call__

    def run(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        if launches.cover is not None:
            with running.watched(tally := Tally()):
                return launches.cover.run(self, args, kwargs, tally)
        if launches.sample is not None:
            with running.watched(launches.sample):
                return launches.sample.run(self, args, kwargs, running.turns, running.habit[-1].atomic)
        return _watched(running, self, execute, args, kwargs)

    def unseen(method: Callable[..., object]) -> Callable[..., object]:
        def call(*args):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN202
            with launches.unseen():
                return method(*args)

        return call

    # The copies are the interpreter's; a grid function or a kernel's body that computes in torch is the candidate's.
    executor._init_args_hst, executor._restore_args_dev = map(  # type: ignore[method-assign]
        unseen, (executor._init_args_hst, executor._restore_args_dev)
    )
    executor.__call__ = run


def _watched(
    running: Running,
    executor: interpreter.GridExecutor,
    execute: Callable[..., None],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> None:
    """Run a launch's programs, in a drawn order or in theirs where one waits for another, and note what they do."""
    launches, fn = running.launches, executor.fn
    bound = _bound(executor, args, kwargs)
    which = running.kernels[-1] if running.kernels else ""
    row = {"said": arguments.said(bound), "which": which, "precise": arguments.precise(bound)}
    arguments.check(launches, fn.__name__, [*args, *kwargs.values()])
    named = [*zip(executor.arg_names, args, strict=False), *kwargs.items()]
    given = [(name, tensor) for name, value in named for tensor in tensors(value)]
    launches.given.update((address(tensor), tensor) for _, tensor in given)
    values = [value for _, value in named]
    grid, habit = _unchanged(executor.grid, launches), running.habit[-1]
    while True:
        launch, waits = Launch(fn.__name__, (), **row), False
        shadow = Shadow(launches, launch, given, lambda: pointed(values, launches))
        running.turns.append(turns := habit.turns())
        before = _held(shadow, launches) if turns.bounded else None
        known = len(launches.violations)
        executor.grid, executor.fn = grid, recorded.Programs(fn, batched.Several(shadow, launches))
        try:
            with running.watched(shadow):
                return execute(executor, *args, **kwargs)
        except shuffling.Waits:
            waits = True
            del launches.violations[known:]
            habit.waited()
            if before is not None:
                before.put_back()
        finally:
            launch.grid = getattr(interpreter.interpreter_builder, "grid_dim", ())
            running.turns.pop()
            if not waits:
                habit.ran(shadow.atomics, shadow.rereads())
                launches.add(launch)
                loops.passes.programs(fn, math.prod(launch.grid))


def _calls(running: Running) -> None:
    """Have what launches a kernel say which one it is, and give what a compiled one gives."""
    function, launches = interpreter.InterpretedFunction, running.launches
    start = function.run

    def run(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        rest = warmed.options(kwargs, [*self.arg_names, "grid", "warmup"])
        made = warmed.Warmed(self.fn.__name__, functools.partial(self.run, warmup=False), rest)
        if kwargs.get("warmup"):
            return made
        if launches.instead is not None:
            launches.instead(self, args, kwargs.get("grid"), kwargs)
            return made
        arguments.check_globals(launches, str(getattr(self, "__name__", "")), self)
        arguments.check_waits(launches, str(getattr(self, "__name__", "")), self, kwargs)
        running.kernels.append(arguments.identity(self))  # before its source is written anew for the interpreter
        running.habit.append(running.habits.of(self.fn))
        try:
            start(self, *args, **kwargs)
        finally:
            running.kernels.pop()
            running.habit.pop()
        return made

    function.run = run  # type: ignore[method-assign]


def _unchanged(grid: object, launches: Launches) -> object:
    """A grid function that is given its own copy of the arguments; changing them is noted. A list is a tuple, as it is
    for the compiled kernel; Triton's interpreter adds a tuple to it."""
    if not callable(grid):
        return tuple(grid) if isinstance(grid, list) else grid

    def sized(named: dict[str, object]) -> object:
        given = dict(named)
        size = grid(given)
        if given.keys() != named.keys() or any(given[name] is not value for name, value in named.items()):
            message = "a grid function changes the arguments of its launch"
            launches.violations.append({"rule": "launch-time", "message": message, "line": None})
        return tuple(size) if isinstance(size, list) else size

    return sized


def _bound(
    executor: interpreter.GridExecutor, args: Sequence[object], kwargs: Mapping[str, object]
) -> Mapping[str, object]:
    """A launch's arguments by name; none of one that does not fit its kernel."""
    named = {name: value for name, value in kwargs.items() if name in executor.arg_names}
    try:
        bound = inspect.signature(executor.fn).bind(*args, **named)
        bound.apply_defaults()
        return bound.arguments
    except TypeError:  # the launch will say so
        return {}


def _held(shadow: Shadow, launches: Launches) -> shuffling.Memory:
    """What a launch may write to, as it is now."""
    storages = shadow.storages()
    return shuffling.Memory(storages, [launches.unwritten[at] for at, _ in storages if at in launches.unwritten])
