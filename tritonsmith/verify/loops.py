"""Loop variables as kernels have them: scalars of 32 or 64 bits, not Python's numbers, and divided as a GPU divides.

The interpreter runs `for i in range(n)` as Python does. What a kernel may ask of `i` besides (`i.to(tl.int64)`, before
it is multiplied by a long stride) and what `i // 3` is below zero are mended here. `tl.static_range` counts in
constants, which stay Python's. What a rewritten kernel calls by name has names that no candidate can define.
"""

import ast
from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex

import triton.language as tl
from triton.runtime import interpreter

_COUNTED, _SEMANTIC = "range of a kernel", "semantic of the interpreter"
"""Names that no source can spell: Triton leaves what a candidate's module defines as it is."""


class Counted(int):
    """A loop variable, or what plain arithmetic makes of one."""

    def __getattr__(self, name: str) -> object:
        """What a tensor knows and a number does not."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(interpreter._implicit_cvt(int(self)), name)

    def __floordiv__(self, other: object) -> Any:  # noqa: ANN401
        return Counted(_quotient(int(self), other)) if isinstance(other, int) and other else NotImplemented

    def __rfloordiv__(self, other: object) -> Any:  # noqa: ANN401
        return Counted(_quotient(other, int(self))) if isinstance(other, int) and self else NotImplemented

    def __mod__(self, other: object) -> Any:  # noqa: ANN401
        if not (isinstance(other, int) and other):
            return NotImplemented
        return Counted(int(self) - other * _quotient(int(self), other))

    def __rmod__(self, other: object) -> Any:  # noqa: ANN401
        if not (isinstance(other, int) and self):
            return NotImplemented
        return Counted(other - int(self) * _quotient(other, int(self)))


def _quotient(dividend: int, divisor: int) -> int:
    """Rounded towards zero."""
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) == (divisor < 0) else -whole


def _kept(operation: Callable[[int, int], int]) -> Callable[[Counted, object], Any]:
    def operate(self: Counted, other: object) -> Any:  # noqa: ANN401
        return Counted(operation(self, other)) if isinstance(other, int) else NotImplemented

    return operate


for _operation in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift"):
    for _side in ("", "r"):
        setattr(Counted, f"__{_side}{_operation}__", _kept(getattr(int, f"__{_side}{_operation}__")))


def counted(*bounds: SupportsIndex) -> Iterable[Counted]:
    """`range` of a kernel."""
    return map(Counted, range(*bounds))


class _Loops(interpreter.ASTTransformer):
    """Triton's transformer, whose `range` is `counted`, and whose names are its own."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """What is assigned becomes a tensor, by the interpreter's own hand."""
        node = super().visit_Assign(node)
        for part in ast.walk(node.value):
            if isinstance(part, ast.Name) and part.id == "interpreter_semantic":
                part.id = _SEMANTIC
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """Count otherwise; bounds and body are gone over as ever."""
        called = node.iter
        if isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "range":
            called.func.id = _COUNTED
        return self.generic_visit(node)


def install() -> None:
    """Put them into the interpreter, for this process."""
    setattr(interpreter, _COUNTED, counted)  # its globals are among a kernel's
    setattr(interpreter, _SEMANTIC, interpreter.interpreter_semantic)
    interpreter.FunctionRewriter.ast_transformer = _Loops()
    patch = interpreter._patch_lang_core

    def patch_lang_core(lang, *scopes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        patch(lang, *scopes)
        if lang is not tl:
            return
        plain = tl.range

        def counting(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202
            return map(Counted, plain(*args, **kwargs))

        if scopes:
            scopes[0].set_attr(tl, "range", counting)
        else:  # triton 3.6
            tl.range = counting  # type: ignore[misc,assignment]

    interpreter._patch_lang_core = patch_lang_core
