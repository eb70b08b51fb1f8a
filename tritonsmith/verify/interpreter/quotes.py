"""Kernels whose annotations stand in quotes: `BLOCK: "tl.constexpr"` is a constexpr, as it is when compiled.

The compiler reads annotations as texts (`triton.runtime.jit.KernelParam`). The interpreter compiles a kernel's text
anew, and under its own `annotations` from the future: quotes get quotes, and it no longer knows them.
"""

import functools
from collections.abc import Callable

from triton.runtime import interpreter


def install() -> None:
    """Let the interpreter know them, in this process."""
    executor = interpreter.GridExecutor
    executor.__init__ = _reading(executor.__init__)  # type: ignore[method-assign]


def _reading(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def read(self: interpreter.GridExecutor, *args: object, **kwargs: object) -> None:
        init(self, *args, **kwargs)
        told = {name for name, kind in self.fn.__annotations__.items() if isinstance(kind, str) and "constexpr" in kind}
        self.constexprs = [name for name in self.arg_names if name in told or name in self.constexprs]

    return read
