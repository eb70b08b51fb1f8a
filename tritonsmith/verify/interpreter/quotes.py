"""Kernels whose annotations stand in quotes: `BLOCK: "tl.constexpr"` is a constexpr, as it is when compiled.

The compiler reads annotations as texts (`triton.runtime.jit.KernelParam`). The interpreter compiles a kernel's text
anew, and under its own `annotations` from the future: quotes get quotes, other names of `tl.constexpr` become texts,
and it no longer knows them.
"""

import functools
from collections.abc import Callable, Mapping

import triton.language as tl
from triton.runtime import interpreter


def install() -> None:
    """Let the interpreter know them, in this process."""
    executor = interpreter.GridExecutor
    executor.__init__ = _reading(executor.__init__)  # type: ignore[method-assign]


def _reading(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def read(self: interpreter.GridExecutor, *args: object, **kwargs: object) -> None:
        init(self, *args, **kwargs)
        known = self.fn.__globals__
        kinds = [(name, kind) for name, kind in self.fn.__annotations__.items() if isinstance(kind, str)]
        told = {name for name, kind in kinds if "constexpr" in kind or _named(kind, known) is tl.constexpr}
        self.constexprs = [name for name in self.arg_names if name in told or name in self.constexprs]

    return read


def _named(kind: str, known: Mapping[str, object]) -> object:
    """What a dotted name stands for in a kernel's module: `from triton.language import constexpr as const`."""
    first, *rest = kind.split(".")
    return functools.reduce(lambda value, name: getattr(value, name, None), rest, known.get(first))
