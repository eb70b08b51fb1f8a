"""Loads, stores and atomics of interpreted kernels, and which program makes them: each goes by who watches the launch.

What may not be accessed is masked out. Lanes of an atomic come in another order than a block's, as on a GPU, where none
is promised.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from tritonsmith.verify.dynamic.cover import Tally, Unheard
from tritonsmith.verify.dynamic.sampled import Sample
from tritonsmith.verify.interpreter import bfloat16, shuffling
from tritonsmith.verify.interpreter.running import Running

_BITS = {2: tl.uint16, 4: tl.uint32, 8: tl.uint64}
"""An unsigned type by its width in bytes."""


def install(running: Running) -> None:
    """Put them between the interpreter and memory, for this process."""
    _programs(running)
    _loads(running)
    _stores(running)
    _atomics(running)


def width(kind: tl.dtype) -> int:
    """A value's bytes in memory."""
    return max(1, kind.primitive_bitwidth // 8)


def _programs(running: Running) -> None:
    builder = interpreter.InterpreterBuilder
    program = builder.set_grid_idx

    def set_grid_idx(self, x, y, z):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        count = math.prod(self.grid_dim)
        if x == y == z == 0:
            running.launches.expect(count)
        turn = (x * self.grid_dim[1] + y) * self.grid_dim[2] + z
        number = running.turns[-1].program(turn, count) if running.turns else turn
        program(self, *(map(int, np.unravel_index(number, self.grid_dim)) if number != turn else (x, y, z)))
        running.watchers[-1].begin(number, count)

    builder.set_grid_idx = set_grid_idx


def _loads(running: Running) -> None:
    builder = interpreter.InterpreterBuilder
    load = builder.create_masked_load

    def masked_load(self, ptrs, mask, *rest, **named):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        watcher, lanes = running.watchers[-1], np.broadcast_to(mask.data, ptrs.data.shape)
        volatile = len(rest) == 4 and (bool(rest[-1]) or getattr(rest[1], "name", "") == "CV")
        allowed = watcher.load(ptrs.data, lanes, width(ptrs.get_element_ty()), volatile)
        found = load(self, ptrs, interpreter.TensorHandle(allowed, tl.int1), *rest, **named)
        if volatile or ptrs.data.size == 1:
            running.asked(ptrs.data, found.data)
        if isinstance(watcher, Tally):
            watcher.loaded(found.data)
        return found

    builder.create_masked_load = masked_load  # type: ignore[method-assign]


def _stores(running: Running) -> None:
    builder = interpreter.InterpreterBuilder
    store = builder.create_masked_store

    def masked_store(self, ptrs, value, mask, *rest, **named):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        lanes = np.broadcast_to(mask.data, ptrs.data.shape)
        values = np.broadcast_to(value.data, ptrs.data.shape)
        allowed = running.watchers[-1].store(ptrs.data, lanes, values, width(ptrs.get_element_ty()))
        return store(self, ptrs, value, interpreter.TensorHandle(allowed, tl.int1), *rest, **named)

    builder.create_masked_store = masked_store  # type: ignore[method-assign]


def _atomics(running: Running) -> None:
    builder = interpreter.InterpreterBuilder
    cas, rmw = builder.create_atomic_cas, builder.create_atomic_rmw

    def heard(operate: Callable[..., interpreter.TensorHandle]) -> Callable[..., interpreter.TensorHandle]:
        """The atomic, of which it is heard what it found."""

        def call(self, *args):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
            found, watcher = operate(self, *args), running.watchers[-1]
            if isinstance(watcher, Sample):
                watcher.operated()
            elif isinstance(watcher, Tally):
                found.data = found.data.view(Unheard)
            running.asked(next(one.data for one in args if isinstance(one, interpreter.TensorHandle)), found.data)
            return found

        return call

    def atomic_cas(self, ptr, cmp, val, *rest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        bytes_, lanes = width(ptr.get_element_ty()), np.ones_like(ptr.data, bool)
        allowed = running.watchers[-1].atomic(ptr.data, lanes, bytes_, True, *_order(rest))
        if not allowed.all():  # there is no mask for it
            return interpreter.TensorHandle(np.zeros_like(cmp.data), cmp.dtype.scalar)
        return _turned(cas(self, *map(_turned, (ptr, cmp, val)), *rest))

    def atomic_rmw(self, op, ptr, val, mask, *rest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        lanes, reads = np.broadcast_to(mask.data, ptr.data.shape), getattr(op, "name", "") != "XCHG"
        allowed = running.watchers[-1].atomic(ptr.data, lanes, width(ptr.get_element_ty()), reads, *_order(rest))
        ptr, val, mask = map(_turned, (ptr, val, interpreter.TensorHandle(allowed, tl.int1)))
        kind = val.dtype.scalar
        if kind == tl.bfloat16:
            return _turned(bfloat16.atomic(op, ptr, val, mask))
        if reads or not kind.is_floating():
            return _turned(rmw(self, op, ptr, val, mask, *rest))
        bits = _BITS[val.data.itemsize]  # which are what is exchanged
        given = interpreter.TensorHandle(val.data.view(interpreter._get_np_dtype(bits)), bits)
        found = rmw(self, op, ptr, given, mask, *rest)
        return _turned(interpreter.TensorHandle(found.data.view(val.data.dtype), kind))

    builder.create_atomic_cas, builder.create_atomic_rmw = heard(atomic_cas), heard(atomic_rmw)  # type: ignore


def _turned(handle: interpreter.TensorHandle) -> interpreter.TensorHandle:
    """An atomic's operand, or result, whose lanes come in another order."""
    if handle.data.size < 2:
        return handle
    return interpreter.TensorHandle(shuffling.other_lanes_first(handle.data), handle.dtype)


def _order(rest: Sequence[object]) -> tuple[bool, bool, bool]:
    """Whether an atomic hears, whether it tells, and whether it does so within one block only: by its order and its
    scope, which are the last of its arguments (PTX ISA, "atom")."""
    if len(rest) < 2:
        return True, True, False
    order, scope = (getattr(one, "name", "") for one in rest[-2:])
    return order not in ("RELAXED", "RELEASE"), order not in ("RELAXED", "ACQUIRE"), scope == "CTA"
