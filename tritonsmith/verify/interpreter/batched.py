"""A recorded program's operations done for many programs at once: numpy's arrays have a first dimension more.

What the first program did (`recorded`) most others do on other data. Operation by operation, one call of numpy's stands
here for one of each program, which spares most of what an interpreted launch takes. Only operations that are known to
do the same row by row are done so; a launch with any other one, with atomics, or whose programs meet in memory
(`together`), is done program by program as ever.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.interpreter.accesses import width
from tritonsmith.verify.interpreter.recorded import ELEMENTWISE, NOTED, Form, Recorder, Step
from tritonsmith.verify.interpreter.shadow import Shadow
from tritonsmith.verify.interpreter.together import Meet, Together

_LEAST = 3
"""Programs that are worth it."""
_ELEMENTS = 1 << 18
"""Elements of an array at most; programs of larger blocks are done some at a time, for then they fit a cache."""
_REDUCED = {
    "_sum_combine", "_elementwise_max", "_elementwise_min", "_argmax_combine_tie_break_left",
    "_argmin_combine_tie_break_left",
}  # fmt: skip
_SCANNED = {"_sum_combine", "_prod_combine"}

Places = npt.NDArray[np.int32]
Rows = Callable[["Now", Sequence[Any]], Sequence[TensorHandle]]
"""Does an operation row by row, on handles that have a first dimension of programs."""


@dataclass
class Now:
    """The programs that are done at once."""

    places: Places
    """Where in the grid each of them stands, (P, 3)."""
    memory: Together

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.places)

    def wide(self, handle: TensorHandle, shape: Sequence[int]) -> npt.NDArray[Any]:
        """A value for each program, (P, *shape), in one piece, which whoever reads memory by it asks for."""
        data, whole = handle.data, (self.count, *shape)
        return np.ascontiguousarray(data if data.shape == whole else np.broadcast_to(data, whole))


Act = Callable[[Now, Sequence[Any], Form], Any]
"""Does a step: for those programs, on its arguments, to make what the first program made, for each of them."""


class Several:
    """The programs of one launch that are done at once where they may be."""

    def __init__(self, shadow: Shadow, launches: Launches) -> None:
        self._shadow, self._launches = shadow, launches

    def plan(self, steps: Sequence[Step]) -> list[Act] | None:
        """How each step is done for many programs; None where one is not known."""
        acts = [act_of(step) for step in steps]
        return None if any(act is None for act in acts) else [act for act in acts if act is not None]

    def at_once(self, recorder: Recorder, acts: Sequence[Act], places: Sequence[tuple[int, ...]]) -> Iterator[int]:
        """Do what programs at those places in the grid do; gives the indices of those that must be done one by one,
        and does nothing beyond one that is not done yet."""
        largest = max((math.prod(shape) for step in recorder.steps for shape in step.form.shapes()), default=1)
        size, start = max(1, _ELEMENTS // largest), 0
        while start < len(places):
            end = min(start + size, len(places))
            if end - start < _LEAST or not self._done(recorder, acts, places[start:end]):
                end = len(places) if end - start >= _LEAST else end  # who met once will meet again
                yield from range(start, end)
            start = end

    def begin(self, place: Sequence[int]) -> None:
        """A program at a place in the grid begins."""
        grid = interpreter.interpreter_builder.grid_dim
        self._shadow.begin(int(np.ravel_multi_index(tuple(place), grid)), math.prod(grid))

    def _done(self, recorder: Recorder, acts: Sequence[Act], places: Sequence[tuple[int, ...]]) -> bool:
        """Do the steps for those programs; False, and nothing is done, where they must be done one by one."""
        grid = interpreter.interpreter_builder.grid_dim
        where = np.array(places, np.int32).reshape(-1, 3)
        numbers = np.ravel_multi_index(tuple(where.T), grid).astype(np.int32)
        now = Now(where, Together(self._shadow, self._launches, numbers))
        try:
            _do(recorder, acts, now)
        except (Meet, ArithmeticError, IndexError, TypeError, ValueError):  # what numpy says of shapes that do not fit
            now.memory.undo()
            return False
        self.begin(places[-1])
        return True


def _do(recorder: Recorder, acts: Sequence[Act], now: Now) -> None:
    values: list[Any] = [None] * recorder.count
    for step, act in zip(recorder.steps, acts, strict=True):
        given = step.given.copy()
        for index, place in step.varying:
            given[index] = values[place]  # type: ignore[index]
        found = act(now, given, step.form)
        made = () if step.found is None else (step.found,) if isinstance(step.found, int) else step.found
        for place, one, form in zip(made, (found,) if len(made) == 1 else found or (), step.form.made, strict=True):
            if one.data.shape != (now.count, *form.shape) or one.data.dtype != form.kind:
                raise Meet
            values[place] = one
        for place in step.last:
            values[place] = None


def act_of(step: Step) -> Act | None:
    """How a step is done for many programs; None where that is not known."""
    name, operate = step.name, step.operate
    if any(not isinstance(place, int) for _, place in step.varying) or (step.named and name not in ELEMENTWISE):
        return None
    if name in ELEMENTWISE:
        # Of other shapes in one program numpy might find another way to put them together in many.
        alike = all(shape in ((), step.form.made[0].shape) for shape in step.form.given)
        return (lambda now, args, form: operate(*args)) if alike else None
    if name == NOTED:
        return lambda now, args, form: operate(*args)
    if (find := getattr(operate, "rows", None)) is not None:
        rows = find()
        return None if rows is None else lambda now, args, form: _by_rows(now, rows, args, form)
    if name == "create_dot":
        return lambda now, args, form: operate(*_wide(now, args[:3], form), *args[3:])
    if name in ("create_masked_load", "create_load"):
        return None if _waits(name, step.given) else _load
    return _ACTS.get(name)


def _waits(name: str, given: Sequence[Any]) -> bool:
    """Whether a load is one that asks again and again."""
    rest = given[1:] if name == "create_load" else given[3:]
    return bool(rest[-1]) or getattr(rest[0], "name", "") == "CV"


def _program(now: Now, args: Sequence[Any], form: Form) -> TensorHandle:
    return TensorHandle(now.places[:, args[0] : args[0] + 1].copy(), tl.int32)


def _shaped(now: Now, args: Sequence[Any], form: Form) -> TensorHandle:
    """`expand_dims` and `reshape`: the same elements in the same order."""
    data = now.wide(args[0], form.given[0])
    return TensorHandle(data.reshape(now.count, *form.made[0].shape), args[0].dtype.scalar)


def _reshaped(now: Now, args: Sequence[Any], form: Form) -> TensorHandle:
    if len(args) > 2 and args[2]:
        raise Meet  # elements come in an order that nobody knows
    now.memory.meet()
    return _shaped(now, args, form)


def _spread(now: Now, args: Sequence[Any], form: Form) -> TensorHandle:
    """`splat` and `broadcast`."""
    handle = next(one for one in args if isinstance(one, TensorHandle))
    data, shape = handle.data, form.made[0].shape
    if data.shape[1:] == (1,):
        data = data.reshape(now.count, *(1,) * len(shape))
    return TensorHandle(np.broadcast_to(data, (now.count, *shape)), handle.dtype.scalar)


def _turned(now: Now, args: Sequence[Any], form: Form) -> TensorHandle:
    now.memory.meet()
    order = (0, *(place + 1 for place in args[1]))
    return TensorHandle(np.transpose(now.wide(args[0], form.given[0]), order), args[0].dtype.scalar)


def _load(now: Now, args: Sequence[Any], form: Form) -> TensorHandle:
    pointers, kind = now.wide(args[0], form.made[0].shape), args[0].get_element_ty()
    masked = len(args) > 4
    mask = _mask(now, args[1], pointers.shape) if masked else np.ones(pointers.shape, np.bool_)
    now.memory.load(pointers, mask, width(kind))
    other = np.zeros(pointers.shape, form.made[0].kind)
    if masked and args[2] is not None:
        other[:] = now.wide(args[2], form.made[0].shape)
    return TensorHandle(interpreter._interpreter.load(pointers, mask, other, form.made[0].kind), kind)


def _store(now: Now, args: Sequence[Any], form: Form) -> None:
    masked, shape = len(args) > 4, form.given[0]
    pointers, values = (now.wide(one, shape) for one in args[:2])
    mask = _mask(now, args[2], pointers.shape) if masked else np.ones(pointers.shape, np.bool_)
    now.memory.store(pointers, mask, values, width(args[0].get_element_ty()))


def _mask(now: Now, handle: TensorHandle, shape: Sequence[int]) -> npt.NDArray[np.bool_]:
    return now.wide(handle, shape[1:]).astype(np.bool_, copy=False)


_ACTS: dict[str, Act] = {
    "create_get_program_id": _program,
    "create_expand_dims": _shaped,
    "create_reshape": _reshaped,
    "create_splat": _spread,
    "create_broadcast": _spread,
    "create_trans": _turned,
    "create_masked_store": _store,
    "create_store": _store,
}


def _wide(now: Now, args: Sequence[Any], form: Form) -> list[Any]:
    """Arguments, with values for each program."""
    pairs = zip(args, form.given, strict=False)
    return [TensorHandle(now.wide(one, of), one.dtype) if isinstance(one, TensorHandle) else one for one, of in pairs]


def _by_rows(now: Now, rows: Rows, args: Sequence[Any], form: Form) -> Any:  # noqa: ANN401
    found = list(rows(now, _wide(now, args, form)))
    for handle, one in zip(found, form.made, strict=True):
        handle.data = handle.data.reshape(now.count, *one.shape)
    return found[0] if len(found) == 1 else tuple(found)


def reduction(operation: interpreter.ReduceScanOpInterface, parts: Sequence[tl.tensor]) -> Rows | None:
    """Triton's own sums, extremes and their places, and running sums, row by row; None for any other one."""
    scans = isinstance(operation, interpreter.ScanOps)
    combines = [getattr(tl.standard, name) for name in (_SCANNED if scans else _REDUCED)]
    if not any(operation.combine_fn is one for one in combines) or parts[0].dtype == tl.bfloat16:
        return None

    def rows(now: Now, args: Sequence[Any]) -> Sequence[TensorHandle]:
        now.memory.meet()
        shifted, data = copy.copy(operation), args[0].data
        if operation.axis is None:
            data = data.reshape(now.count, -1)
        shifted.axis = 1 if operation.axis is None else operation.axis % (data.ndim - 1) + 1
        shifted.to_tensor = _bare  # type: ignore[method-assign]
        found = shifted.apply_impl((_Bare(TensorHandle(data, args[0].dtype), args[0].dtype.scalar),))
        return [one.handle for one in (found if isinstance(found, (list, tuple)) else [found])]

    return rows


@dataclass
class _Bare:
    """A tensor without a type that knows of shapes, which have a dimension more here."""

    handle: TensorHandle
    dtype: tl.dtype


def _bare(ret: npt.NDArray[Any], dtype: tl.dtype) -> _Bare:
    """What stands for `to_tensor`, whose arguments have these names."""
    return _Bare(TensorHandle(ret.astype(interpreter._get_np_dtype(dtype)), dtype.scalar), dtype)
