"""What a kernel promises the compiler of its values, held against the values.

`tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` let the compiler load several elements at the first one's
address. The interpreter drops them, so a false one is right here and reads something else on a GPU, or faults there.
They speak of what Triton's analysis of axes calls contiguity, divisibility and constancy (its `AxisInfo.h`): a multiple
is the first of each run of consecutive values, and a group begins at each multiple of its size.

Kernels promise what holds for whole blocks: `max_contiguous(multiple_of(rows % M, BLOCK), BLOCK)` of Triton's own
tutorials is false where the last block comes round, and those rows are masked off later. So values may fall to zero
anywhere, and stay what they are from some place to the end. Judges nothing beyond that.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import gcd
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from tritonsmith.verify.interpreter import recorded

_NAMES = ("multiple_of", "max_contiguous", "max_constancy")
_ALIGNED = 16
"""Bytes that an address can be told to be a multiple of: those that memory of the interpreter's has, and a GPU's."""

Values = npt.NDArray[np.int64]


def fault(name: str, values: Values, sizes: Sequence[int], step: int = 1) -> str | None:
    """What of a promise is false, None if nothing; `step` is how far consecutive values lie apart."""
    for axis, size in enumerate(sizes):
        along = np.moveaxis(values, axis, -1) if values.ndim else values.reshape(1)
        if size > 1 and not _holds(name, along, size, step):
            return f"{name}({size}) is promised of values that begin with {', '.join(map(str, values.flat[:4]))}"
    return None


def _holds(name: str, values: Values, size: int, step: int) -> bool:
    """Whether a promise holds along the last axis."""
    if name == "multiple_of":
        starts = np.ones_like(values, dtype=bool)
        starts[..., 1:] = (np.diff(values) != step) & ~_stays(values)
        return not (values[starts] % size).any()
    same = np.diff(values) == (step if name == "max_contiguous" else 0)
    within = np.arange(1, values.shape[-1]) % size != 0
    return not (within & ~(same | (values[..., 1:] == 0) | _stays(values))).any()


def _stays(values: Values) -> npt.NDArray[np.bool_]:
    """Where a value is that of its neighbour before, and of all that follow: indices kept below their end."""
    last = values == values[..., -1:]
    return np.logical_and.accumulate(last[..., ::-1], axis=-1)[..., ::-1][..., :-1]


def install(note: Callable[[str, str], None]) -> None:
    """Put them into the interpreter, for this process; a false promise is noted, as rule and message."""
    patch = interpreter._patch_lang_core

    def check(name: str, handle: TensorHandle, sizes: Sequence[int]) -> None:
        if handle.data.dtype.kind not in "iu":
            return
        pointer = handle.dtype.is_ptr()
        step = max(1, handle.get_element_ty().primitive_bitwidth // 8) if pointer else 1
        if pointer and name == "multiple_of":
            sizes = [gcd(size, _ALIGNED) for size in sizes]
        if (message := fault(name, handle.data.astype(np.int64), sizes, step)) is not None:
            note("promise", message)

    def promised(input: object, values: Any, name: str) -> object:  # noqa: ANN401
        sizes = [values] if not isinstance(values, (list, tuple, tl.tuple)) else list(values)
        sizes = [int(size.value if isinstance(size, tl.constexpr) else size) for size in sizes]
        if not isinstance(input, tl.tensor):
            return input
        if len(sizes) != max(1, len(input.shape)):
            raise ValueError(f"{name} of a tensor of {len(input.shape)} dimensions takes as many values")

        def checked(tensor: tl.tensor) -> tl.tensor:
            check(name, tensor.handle, sizes)
            return tl.tensor(TensorHandle(tensor.handle.data, tensor.handle.dtype), cast(tl.dtype, tensor.type))

        if recorded.varies(input.handle):
            return recorded.whole(name, checked)(input)
        check(name, input.handle, sizes)
        return input

    def patch_lang_core(lang, *scopes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        patch(lang, *scopes)
        for name in _NAMES:
            if scopes:
                scopes[0].set_attr(lang, name, partial(promised, name=name))
            else:  # triton 3.6
                setattr(lang, name, partial(promised, name=name))

    interpreter._patch_lang_core = patch_lang_core
    for name in _NAMES:
        _stand_in(getattr(tl.core, name), partial(promised, name=name))


def _stand_in(builtin: Any, promised: Callable[[object, object], object]) -> None:  # noqa: ANN401
    """Let a function of Triton's do this in the interpreter, by any name that a kernel has for it."""
    inside = dict(zip(builtin.__code__.co_freevars, builtin.__closure__, strict=True))["fn"]
    original = inside.cell_contents

    def told(input: object, values: object, _semantic: object = None) -> object:
        here = _semantic is interpreter.interpreter_semantic
        return promised(input, values) if here else original(input, values, _semantic=_semantic)

    inside.cell_contents = told
