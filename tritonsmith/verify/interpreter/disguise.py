"""Interpreted kernels that look as compiled ones do to who asks them what they are: by name, by repr, by attributes.

A candidate that learns here who runs its kernels does the work for the interpreter alone. What it asks inside of a
kernel is `asking`'s business; `isinstance` and the interpreter's own attributes are refused in the source: `telltales`.
"""

import functools
import inspect
from typing import Any

from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction


def install() -> None:
    """Give interpreted kernels the looks of compiled ones in this process; for the runner only."""
    # The class's own name: the property of the same name, of its objects, stays.
    InterpretedFunction.__name__ = JITFunction.__name__  # type: ignore[misc]
    InterpretedFunction.__qualname__ = JITFunction.__qualname__
    InterpretedFunction.__module__ = JITFunction.__module__
    InterpretedFunction.__repr__ = _told  # type: ignore[method-assign]
    InterpretedFunction.__getattr__ = _asked  # type: ignore[attr-defined]


def _told(kernel: InterpretedFunction[Any]) -> str:
    return repr(_compiled(kernel.fn))


def _asked(kernel: InterpretedFunction[Any], name: str) -> object:
    """What a compiled kernel answers where an interpreted one has no such attribute; `fn` is looked for before it is
    set when a kernel is copied."""
    if name.startswith("__") or name == "fn":
        raise AttributeError(name)
    return getattr(_compiled(kernel.fn), name)


@functools.cache
def _compiled(function: Any) -> JITFunction[Any]:  # noqa: ANN401
    """The kernel that Triton's compiler would be given; it is never launched."""
    return JITFunction(inspect.unwrap(function))
