"""Triton's interpreter as it runs candidates: every access goes by `shadow`, and what a GPU does otherwise is mended.

Integers wrap, float32 operands are rounded to TF32 where the kernel asks for TF32, as the tensor cores do, and what the
interpreter does slowly or not at all is done here or in `combining`, `bfloat16` and `libdevice`. Judges nothing.
"""

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType

import numpy as np
import triton.language as tl
from triton.language.extra import cuda
from triton.runtime import interpreter

from tritonsmith.verify.dynamic.cover import Tally
from tritonsmith.verify.dynamic.observe import Launch, Launches, address, pointed, take_turns, tensors
from tritonsmith.verify.dynamic.sampled import Sample
from tritonsmith.verify.interpreter import (
    batched,
    bfloat16,
    combining,
    conversions,
    disguise,
    float8,
    hints,
    libdevice,
    loops,
    memo,
    promises,
    quotes,
    recorded,
    shuffling,
    tuning,
)
from tritonsmith.verify.interpreter.shadow import Shadow
from tritonsmith.verify.launches import arguments, descriptors, warmed

_MEETINGS = tuple(f"create_{name}" for name in ("barrier", "trans", "histogram", "gather", "cat", "join", "split"))
"""What values go from lane to lane by, beside reductions, scans and products: through shared memory and a barrier."""


def install(launches: Launches) -> None:
    """Put the shadow between the interpreter and memory, for this process."""
    builder = interpreter.InterpreterBuilder
    current: list[Shadow | Tally | Sample] = []
    which: list[str] = []
    turns: list[shuffling.Turns] = []
    habits, habit = shuffling.Habits(), [shuffling.Habit()]
    conversions.install()
    loops.install()
    bfloat16.install()
    float8.install()
    libdevice.install()
    combining.install()
    memo.install()
    _know_aliases()
    patched = _patch_once()
    # Integers wrap on a GPU; the interpreter would stop there, at a quarter of its time.
    shared = interpreter.interpreter_builder
    shared.options = replace(shared.options, sanitize_overflow=False)
    promises.install(lambda rule, message: current[-1].misused(rule, message) if current else None)
    hints.install(lambda rule, message: _broken(current, rule, message))
    execute, start = interpreter.GridExecutor.__call__, interpreter.InterpretedFunction.run
    load, store = builder.create_masked_load, builder.create_masked_store
    cas, rmw, dot, program = (
        builder.create_atomic_cas,
        builder.create_atomic_rmw,
        builder.create_dot,
        builder.set_grid_idx,
    )

    def run(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        if launches.cover is not None:
            current.append(tally := Tally())
            patched.clear()
            try:
                return launches.cover.run(self, args, kwargs, tally)
            finally:
                current.pop()
        if launches.sample is not None:
            current.append(launches.sample)
            patched.clear()
            try:
                return launches.sample.run(self, args, kwargs)
            finally:
                current.pop()
        bound = _bound(self, args, kwargs)
        row = {"said": arguments.said(bound), "which": which[-1] if which else "", "precise": arguments.precise(bound)}
        arguments.check(launches, self.fn.__name__, [*args, *kwargs.values()])
        named = [*zip(self.arg_names, args, strict=False), *kwargs.items()]
        given = [(name, tensor) for name, value in named for tensor in tensors(value)]
        launches.given.update((address(tensor), tensor) for _, tensor in given)
        values = [value for _, value in named]
        grid, fn = _unchanged(self.grid, launches), self.fn
        while True:
            launch, waits = Launch(fn.__name__, (), **row), False
            shadow = Shadow(launches, launch, given, lambda: pointed(values, launches))
            turns.append(habit[-1].turns())
            before = _held(shadow, launches) if turns[-1].bounded else None
            known = len(launches.violations)
            current.append(shadow)
            patched.clear()
            self.grid, self.fn = grid, recorded.Programs(fn, batched.Several(shadow, launches))
            try:
                return execute(self, *args, **kwargs)
            except shuffling.Waits:
                waits = True
                del launches.violations[known:]
                habit[-1].waited()
                if before is not None:
                    before.put_back()
            finally:
                launch.grid = getattr(interpreter.interpreter_builder, "grid_dim", ())
                current.pop()
                turns.pop()
                if not waits:
                    habit[-1].ran(shadow.atomics, shadow.rereads())
                    launches.add(launch)
                    loops.passes.programs(fn, math.prod(launch.grid))

    def run_function(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        rest = warmed.options(kwargs, [*self.arg_names, "grid", "warmup"])
        made = warmed.Warmed(self.fn.__name__, functools.partial(self.run, warmup=False), rest)
        if kwargs.get("warmup"):
            return made
        if launches.instead is not None:
            launches.instead(self, args, kwargs.get("grid"), kwargs)
            return made
        arguments.check_globals(launches, str(getattr(self, "__name__", "")), self)
        arguments.check_waits(launches, str(getattr(self, "__name__", "")), self, kwargs)
        which.append(arguments.identity(self))  # before its source is written anew for the interpreter
        habit.append(habits.of(self.fn))
        try:
            start(self, *args, **kwargs)
        finally:
            which.pop()
            habit.pop()
        return made

    def set_grid_idx(self, x, y, z):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        count = math.prod(self.grid_dim)
        if x == y == z == 0:
            launches.expect(count)
        turn = (x * self.grid_dim[1] + y) * self.grid_dim[2] + z
        number = turns[-1].program(turn, count) if turns else turn
        program(self, *(map(int, np.unravel_index(number, self.grid_dim)) if number != turn else (x, y, z)))
        current[-1].begin(number, count)

    def masked_load(self, ptrs, mask, *rest, **named):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        width = _width(ptrs.get_element_ty())
        volatile = len(rest) == 4 and (bool(rest[-1]) or getattr(rest[1], "name", "") == "CV")
        allowed = current[-1].load(ptrs.data, np.broadcast_to(mask.data, ptrs.data.shape), width, volatile)
        found = load(self, ptrs, interpreter.TensorHandle(allowed, tl.int1), *rest, **named)
        if turns and (volatile or ptrs.data.size == 1):
            turns[-1].asked(ptrs.data, found.data)
        if isinstance(tally := current[-1], Tally):
            tally.loaded(found.data)
        return found

    def masked_store(self, ptrs, value, mask, *rest, **named):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        lanes = np.broadcast_to(mask.data, ptrs.data.shape)
        values = np.broadcast_to(value.data, ptrs.data.shape)
        allowed = current[-1].store(ptrs.data, lanes, values, _width(ptrs.get_element_ty()))
        return store(self, ptrs, value, interpreter.TensorHandle(allowed, tl.int1), *rest, **named)

    def asked(operate):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        """The atomic, of which it is heard what it found."""

        def call(self, *args):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
            found = operate(self, *args)
            if turns:
                turns[-1].asked(next(one.data for one in args if isinstance(one, interpreter.TensorHandle)), found.data)
            return found

        return call

    def atomic_cas(self, ptr, cmp, val, *rest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        width = _width(ptr.get_element_ty())
        lanes = np.ones_like(ptr.data, bool)
        current[-1].atomic(ptr.data, lanes, width, relaxed=_relaxed(rest), narrow=_narrow(rest))
        return _turned(cas(self, *map(_turned, (ptr, cmp, val)), *rest))

    def atomic_rmw(self, op, ptr, val, mask, *rest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        lanes = np.broadcast_to(mask.data, ptr.data.shape)
        reads = getattr(op, "name", "") != "XCHG"
        width = _width(ptr.get_element_ty())
        allowed = current[-1].atomic(ptr.data, lanes, width, reads, _relaxed(rest), _narrow(rest))
        ptr, val, mask = map(_turned, (ptr, val, interpreter.TensorHandle(allowed, tl.int1)))
        kind = val.dtype.scalar
        if kind == tl.bfloat16:
            return _turned(bfloat16.atomic(op, ptr, val, mask))
        if reads or not kind.is_floating():
            return _turned(rmw(self, op, ptr, val, mask, *rest))
        bits = {2: tl.uint16, 4: tl.uint32, 8: tl.uint64}[val.data.itemsize]  # what is exchanged is bits
        given = interpreter.TensorHandle(val.data.view(interpreter._get_np_dtype(bits)), bits)
        found = rmw(self, op, ptr, given, mask, *rest)
        return _turned(interpreter.TensorHandle(found.data.view(val.data.dtype), kind))

    operate = builder.binary_op

    def binary_op(self, lhs, rhs, op):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        # A comparison's result has its operands' type there; spread over a block it would be numbers, and no mask.
        found = operate(self, lhs, rhs, op)
        return interpreter.TensorHandle(found.data, tl.int1) if found.data.dtype == np.bool_ else found

    cast = builder.cast_impl

    def cast_impl(self, src, dst_type):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        kind = dst_type.scalar
        launches.lowered |= src.dtype.scalar == tl.float32 and kind.is_floating() and kind.primitive_bitwidth < 32
        return cast(self, src, dst_type)

    def create_dot(self, a, b, d, input_precision, imprecise):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        precision = getattr(input_precision, "name", "") if a.dtype.scalar == tl.float32 else ""
        launches.lowered |= precision == "TF32"
        if current:
            *batch, rows, inner = a.data.shape
            flops = 2 * int(np.prod([*batch, rows, inner, b.data.shape[-1]]))
            current[-1].dot(flops, precision == "TF32x3")
        return dot(self, _operand(a, input_precision), _operand(b, input_precision), d, input_precision, imprecise)

    def met(method):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        """The method, at which the threads of a program wait for each other."""

        def call(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202
            if current:
                current[-1].meet()
            return method(*args, **kwargs)

        return call

    def validate(self):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        strides = [int(stride.data.item()) for stride in self.strides]
        itemsize = _width(self.base.get_element_ty())
        message = descriptors.fault(int(self.base.data.item()), strides, itemsize)
        if message is not None and current:
            current[-1].misused("descriptor", message)

    def unseen(method):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        def call(*args):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN202
            with launches.unseen():
                return method(*args)

        return call

    reshape = builder.create_reshape

    def create_reshape(self, arg, shape, *rest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        # Into the shape that it has nothing moves.
        other = tuple(arg.data.shape) != tuple(map(int, shape))
        return (met(reshape) if other else reshape)(self, arg, shape, *rest)

    builder.create_reshape = create_reshape  # type: ignore[method-assign]
    for name in _MEETINGS:
        setattr(builder, name, met(getattr(builder, name)))
    exchange = interpreter.ReduceScanOpInterface
    exchange.apply = _whole(met(exchange.apply))  # type: ignore[method-assign]
    executor = interpreter.GridExecutor
    # The copies are the interpreter's; a grid function or a kernel's body that computes in torch is the candidate's.
    executor._init_args_hst, executor._restore_args_dev = map(  # type: ignore[method-assign]
        unseen, (executor._init_args_hst, executor._restore_args_dev)
    )
    executor.__call__ = run
    interpreter.InterpretedFunction.run = run_function  # type: ignore[method-assign]
    builder.set_grid_idx = set_grid_idx
    builder.create_masked_load, builder.create_masked_store = masked_load, masked_store  # type: ignore
    builder.create_atomic_cas, builder.create_atomic_rmw = asked(atomic_cas), asked(atomic_rmw)  # type: ignore
    builder.create_dot, builder.cast_impl, builder.binary_op = met(create_dot), cast_impl, binary_op  # type: ignore
    patch_tensor = interpreter._patch_lang_tensor

    def patch_lang_tensor(tensor, scope):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        # triton 3.6 converts one-element arrays with int(), which numpy >= 2.4 refuses.
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.squeeze()))

    interpreter._patch_lang_tensor = patch_lang_tensor
    interpreter.TensorDescHandle.validate = validate  # type: ignore[method-assign]
    tl.constexpr.__new__ = _constexpr_or_tensor  # type: ignore
    take_turns()
    disguise.install()
    tuning.install(launches, habits)
    quotes.install()


def _broken(current: Sequence[Shadow | Tally | Sample], rule: str, message: str) -> None:
    """Note a promise that does not hold, where values are what they are on a GPU."""
    if current and isinstance(current[-1], Shadow):
        current[-1].misused(rule, message)


def _whole(apply: Callable[..., object]) -> Callable[..., object]:
    """A reduction or a scan, one operation whatever it is made of."""

    def call(self, input):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        parts = input if isinstance(input, tuple) else (input,)
        rows = functools.partial(batched.reduction, self, parts)
        found = recorded.whole("reduction", lambda *given: apply(self, given), rows)(*parts)
        return found if isinstance(input, tuple) else found[0]

    return call


def _unchanged(grid: object, launches: Launches) -> object:
    """A grid function that is given its own copy of the arguments; changing them is noted."""
    if not callable(grid):
        return grid

    def sized(named: dict[str, object]) -> object:
        given = dict(named)
        size = grid(given)
        if given.keys() != named.keys() or any(given[name] is not value for name, value in named.items()):
            message = "a grid function changes the arguments of its launch"
            launches.violations.append({"rule": "launch-time", "message": message, "line": None})
        return size

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


def _know_aliases() -> None:
    """Let Triton's functions find the interpreter by whatever name a kernel calls them: `exp = tl.exp`.

    The interpreter patches the names in Triton's modules, and knows no others; the compiler knows them all.
    """
    found = [member for space in (tl, tl.core, tl.math, tl.standard) for member in vars(space).values()]
    for member in found:
        if tl.core.is_builtin(member) and getattr(member, "__code__", None) and member.__code__.co_freevars == ("fn",):
            member.__code__ = _supplied(member).__code__
    for name in ("gdc_wait", "gdc_launch_dependents"):  # one kernel waiting for the one before, which has ended here
        if hasattr(cuda, name):
            setattr(cuda, name, _nothing)
    for name, method in list(vars(tl.tensor).items()):  # `x.exp()`
        if inspect.isfunction(method) and not tl.core.is_builtin(method) and _wants_semantic(method):
            setattr(tl.tensor, name, _supplied(method))


def _nothing(*_: object, **__: object) -> None:
    """Done already."""


def _wants_semantic(function: Callable[..., object]) -> bool:
    return "_semantic" in inspect.signature(function).parameters


def _supplied(fn: Callable[..., object]) -> FunctionType:
    """What stands for the wrapper that Triton puts around a builtin; it sees Triton's names, and none of these here."""

    def wrapper(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202
        if kwargs.get("_semantic") is None:
            from triton.runtime.interpreter import interpreter_semantic

            kwargs["_semantic"] = interpreter_semantic
        return fn(*args, **kwargs)

    return wrapper


def _patch_once() -> set[frozenset[int]]:
    """Spare the interpreter from patching triton.language anew at every call of a device function.

    It does so at each `tl.sum` or `tl.zeros`, a third of its time, though one launch needs it once for
    each set of modules that its functions see. Returns what is patched; a new launch must clear it.
    """
    patched: set[frozenset[int]] = set()
    original: Callable[..., object] = interpreter._patch_lang
    nothing: list[Callable[[], object]] = []

    def patch(fn):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        visible = frozenset(id(value) for value in fn.__globals__.values() if value is tl or value is tl.core)
        if visible in patched:
            return nothing[0]()
        patched.add(visible)
        scope = original(fn)
        nothing[:] = [type(scope)]  # triton 3.7 wants an object that restores; an empty one restores nothing
        return scope

    interpreter._patch_lang = patch
    return patched


def _constexpr_or_tensor(cls: type[tl.constexpr], *value: object) -> object:
    """A module's `tl.constexpr` times a tensor is a tensor; the interpreter would wrap it as a constant."""
    return value[0] if value and isinstance(value[0], tl.tensor) else object.__new__(cls)


def _held(shadow: Shadow, launches: Launches) -> shuffling.Memory:
    """What a launch may write to, as it is now."""
    storages = shadow.storages()
    return shuffling.Memory(storages, [launches.unwritten[at] for at, _ in storages if at in launches.unwritten])


def _turned(handle: interpreter.TensorHandle) -> interpreter.TensorHandle:
    """An atomic's operand, or result, whose lanes come in another order."""
    if handle.data.size < 2:
        return handle
    return interpreter.TensorHandle(shuffling.other_lanes_first(handle.data), handle.dtype)


def _relaxed(rest: Sequence[object]) -> bool:
    """Whether an atomic's order, the last but one of its arguments, orders nothing."""
    return len(rest) > 1 and getattr(rest[-2], "name", "") == "RELAXED"


def _narrow(rest: Sequence[object]) -> bool:
    """Whether an atomic's scope, the last of its arguments, is one block."""
    return len(rest) > 1 and getattr(rest[-1], "name", "") == "CTA"


def _width(dtype: tl.dtype) -> int:
    return max(1, dtype.primitive_bitwidth // 8)


def _operand(handle: interpreter.TensorHandle, precision: object) -> interpreter.TensorHandle:
    """A dot operand as the tensor cores see it."""
    if handle.dtype.scalar == tl.float32 and getattr(precision, "name", "") == "TF32":
        bits = np.ascontiguousarray(handle.data).view(np.uint32)
        rounded = (bits + np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
        finite = np.isfinite(handle.data)
        return interpreter.TensorHandle(np.where(finite, rounded.view(np.float32), handle.data), tl.float32)
    if handle.dtype.scalar == tl.float32 and getattr(precision, "name", "") == "BF16x3":
        return bfloat16.in_two_parts(handle)
    return bfloat16.widen(handle)
