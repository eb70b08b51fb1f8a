"""Loops, conditions and assignments of kernels: loop variables are scalars of 32 or 64 bits, divided as a GPU divides,
`and` and `or` join what is known when the kernel runs alone, and a number is the tensor that the compiler makes of it.

The interpreter runs `for i in range(n)` as Python does. What a kernel may ask of `i` besides (`i.to(tl.int64)`, before
it is multiplied by a long stride) and what `i // 3` is below zero are mended here. `tl.static_range` counts in
constants, which stay Python's. What a rewritten kernel calls by name has names that no candidate can define.

How often a loop of the candidate's goes round is noted (`passes`), for one that never went round twice has shown
nothing of what it carries from one round to the next.
"""

import ast
import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any, Self, SupportsIndex, cast

import triton.language as tl
from triton.runtime import interpreter

from tritonsmith.verify.process.loading import CANDIDATE

_COUNTED = "range of a kernel"
_ROUNDS, _ENTERED, _AGAIN = "rounds of a loop", "start of a loop", "condition of a loop"
_JOINED, _CHOSEN = "and or or of a kernel", "one of two in a kernel"
_GIVEN, _EXTREME = "what a kernel's name is given", "max or min of a kernel"
"""Names that no source can spell: Triton leaves what a candidate's module defines as it is."""


class Counted(int):
    """A loop variable, or what plain arithmetic makes of one: of 32 bits, or `wide`, of 64."""

    def __new__(cls, value: int, wide: bool = False) -> Self:
        """A number that fits."""
        made = super().__new__(cls, value)
        made.wide = wide
        return made

    wide: bool

    def __getattr__(self, name: str) -> object:
        """What a tensor knows and a number does not."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(interpreter._implicit_cvt(int(self)), name)

    def __floordiv__(self, other: object) -> Any:  # noqa: ANN401
        return _of(_quotient(int(self), other), self, other) if isinstance(other, int) and other else NotImplemented

    def __rfloordiv__(self, other: object) -> Any:  # noqa: ANN401
        return _of(_quotient(other, int(self)), self, other) if isinstance(other, int) and self else NotImplemented

    def __mod__(self, other: object) -> Any:  # noqa: ANN401
        if not (isinstance(other, int) and other):
            return NotImplemented
        return _of(int(self) - other * _quotient(int(self), other), self, other)

    def __rmod__(self, other: object) -> Any:  # noqa: ANN401
        if not (isinstance(other, int) and self):
            return NotImplemented
        return _of(other - int(self) * _quotient(other, int(self)), self, other)

    def __neg__(self) -> "Counted":
        return _of(-int(self), self)

    def __pos__(self) -> "Counted":
        return self

    def __invert__(self) -> "Counted":
        return _of(~int(self), self)

    def __abs__(self) -> "Counted":
        return _of(abs(int(self)), self)


def _of(value: int, *operands: int) -> Counted:
    """What comes of such operands, with as many bits as the widest of them has; more are lost."""
    wide = any(one.wide if isinstance(one, Counted) else not _short(one) for one in operands)
    half = 1 << (63 if wide else 31)
    return Counted((value + half) % (2 * half) - half, wide)


def _short(number: int) -> bool:
    """Whether the compiler gives a number 32 bits."""
    return -(1 << 31) <= number < 1 << 32


def _quotient(dividend: int, divisor: int) -> int:
    """Rounded towards zero."""
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) == (divisor < 0) else -whole


def _kept(operation: Callable[[int, int], int]) -> Callable[[Counted, object], Any]:
    def operate(self: Counted, other: object) -> Any:  # noqa: ANN401
        return _of(operation(self, other), self, other) if isinstance(other, int) else NotImplemented

    return operate


for _operation in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift"):
    for _side in ("", "r"):
        setattr(Counted, f"__{_side}{_operation}__", _kept(getattr(int, f"__{_side}{_operation}__")))


class Rounds:
    """What a loop of a kernel counts, in 32 bits or, where a bound has as many, in 64 (`wide`)."""

    def __init__(self, values: range, wide: bool = False) -> None:
        self.values, self.wide = values, wide

    def __iter__(self) -> Iterator[Counted]:
        return (Counted(value, self.wide) for value in self.values)


def counted(*bounds: SupportsIndex) -> Rounds:
    """`range` of a kernel."""
    return Rounds(range(*bounds), any(map(_is_wide, bounds)))


def _is_wide(bound: object) -> bool:
    if isinstance(bound, tl.tensor):
        return bound.dtype.primitive_bitwidth > 32
    bound = getattr(bound, "value", bound)  # of a constant
    return bound.wide if isinstance(bound, Counted) else isinstance(bound, int) and not _short(bound)


class Passes:
    """How often loops went round at most, by their line; up to twice, which is all that is asked.

    A launch's programs count as a loop by the kernel's line with a minus.
    """

    def __init__(self) -> None:
        self.most: dict[int, int] = {}
        self._now: dict[int, int] = {}
        """Rounds of the `while` loops that run."""
        self.ends = 0
        """Rounds at each end of a `for` that are gone, those between being left out; 0 where all are gone."""

    def taken(self) -> dict[int, int]:
        """What was noted, which is forgotten."""
        found, self.most = self.most, {}
        return found

    def rounds(self, values: Iterable[object]) -> Iterable[object]:
        """The values of a `for`, whose rounds are noted."""
        frame = sys._getframe(1)
        values = self._at_ends(values) if self.ends else values
        return self._noted(frame.f_lineno, values) if frame.f_code.co_filename == CANDIDATE else values

    def _at_ends(self, values: Iterable[object]) -> Iterable[object]:
        every = values.values if isinstance(values, Rounds) else values
        if not isinstance(every, range) or len(every) <= 2 * self.ends:
            return values
        parts = every[: self.ends], every[-self.ends :]
        return itertools.chain(*(Rounds(part, values.wide) if isinstance(values, Rounds) else part for part in parts))

    def _noted(self, line: int, values: Iterable[object]) -> Iterator[object]:
        for number, value in enumerate(values, 1):
            self._note(line, number)
            yield value

    def entered(self) -> None:
        """A `while` begins."""
        self._now[sys._getframe(1).f_lineno] = 0

    def again(self, line: int, condition: object) -> bool:
        """Whether a `while` goes round, which is noted."""
        frame = sys._getframe(1)
        start = frame.f_lineno - line
        if goes := bool(condition):
            self._now[start] = self._now.get(start, 0) + 1
            if frame.f_code.co_filename == CANDIDATE:
                self._note(start, self._now[start])
        return goes

    def programs(self, kernel: FunctionType, count: int) -> None:
        """A launch of so many programs: what tells a second one from the first shows in several alone."""
        self._note(-kernel.__code__.co_firstlineno, min(count, 2))

    def _note(self, line: int, number: int) -> None:
        if number <= 2 and self.most.get(line, 0) < number:
            self.most[line] = number


passes = Passes()


class _Loops(interpreter.ASTTransformer):
    """Triton's transformer, whose `range` is `counted`, and whose names are its own."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """What is assigned becomes a tensor; each part of a tuple does."""
        given = self.visit(node.value)
        node = super().visit_Assign(node)  # which refuses what the compiler does
        node.value = ast.copy_location(_call(_GIVEN, given), given)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Likewise, but for what is said to be a constant."""
        node = cast(ast.AnnAssign, self.generic_visit(node))
        if node.value is not None and not ast.unparse(node.annotation).endswith("constexpr"):
            node.value = ast.copy_location(_call(_GIVEN, node.value), node.value)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """One of two numbers, chosen by what is known when the kernel runs, is a tensor."""
        node = cast(ast.IfExp, self.generic_visit(node))
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            return node  # a name that is bound in passing would be a function's of its own
        return ast.copy_location(_call(_CHOSEN, *map(_late, (node.test, node.body, node.orelse))), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Python's `max` and `min` of tensors are Triton's."""
        node = cast(ast.Call, self.generic_visit(node))
        if not (isinstance(node.func, ast.Name) and node.func.id in ("max", "min")) or node.keywords:
            return node
        return ast.copy_location(_call(_EXTREME, node.func, *node.args), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        """Count otherwise; bounds and body are gone over as ever."""
        called = node.iter
        if isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "range":
            called.func.id = _COUNTED
        node.iter = ast.copy_location(_call(_ROUNDS, called), called)
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """`and` and `or` join as they do for the compiler."""
        node = cast(ast.BoolOp, self.generic_visit(node))
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            return node  # a name that is bound in passing would be a function's of its own
        parts = map(_late, node.values)
        return ast.copy_location(_call(_JOINED, ast.Constant(isinstance(node.op, ast.And)), *parts), node)

    def visit_While(self, node: ast.While) -> list[ast.AST]:
        """Note where it begins, and each of its rounds."""
        below = ast.Constant(node.test.lineno - node.lineno)
        node.test = ast.copy_location(_call(_AGAIN, below, node.test), node.test)
        return [ast.copy_location(ast.Expr(_call(_ENTERED)), node), self.generic_visit(node)]


def joined(conjunction: bool, *parts: Callable[[], Any]) -> Any:  # noqa: ANN401
    """`and` (`or`) of a kernel, as the compiler's `visit_BoolOp` has it: what it knows settles it or falls out of it,
    and all the rest is joined, whatever it is when the kernel runs."""
    semantic = interpreter.interpreter_semantic
    join = semantic.logical_and if conjunction else semantic.logical_or
    found = value = None
    for part in parts:
        value = part()
        if not isinstance(value, tl.tensor | Counted):
            if bool(value) is not conjunction:
                return value
            continue
        value = value if isinstance(value, tl.tensor) else interpreter._implicit_cvt(int(value))
        found = value if found is None else join(found, value)
    return value if found is None else found


def given(value: object) -> object:
    """What an assignment gives a name: numbers as tensors, those of a tuple too."""
    if isinstance(value, tl.tensor):
        return value
    if type(value) is tuple:
        return tuple(map(given, value))
    return interpreter.interpreter_semantic.to_tensor(value, False)


def chosen(test: Callable[[], object], one: Callable[[], object], other: Callable[[], object]) -> object:
    """`one if test else other` of a kernel."""
    condition = test()
    value = (one if condition else other)()
    return given(value) if isinstance(condition, tl.tensor) else value


def extreme(function: Callable[..., object], *values: object) -> object:
    """`max` or `min` of a kernel, or what it calls by that name."""
    if function not in (max, min) or len(values) < 2 or not any(isinstance(one, tl.tensor) for one in values):
        return function(*values)
    return functools.reduce(tl.maximum if function is max else tl.minimum, values)


def _late(value: ast.expr) -> ast.Lambda:
    bare = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=bare, body=value)


def _call(name: str, *given: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(given), keywords=[])


def install() -> None:
    """Put them into the interpreter, for this process."""
    setattr(interpreter, _COUNTED, counted)  # its globals are among a kernel's
    for name, method in ((_ROUNDS, passes.rounds), (_ENTERED, passes.entered), (_AGAIN, passes.again)):
        setattr(interpreter, name, method)
    for name, function in ((_JOINED, joined), (_CHOSEN, chosen), (_GIVEN, given), (_EXTREME, extreme)):
        setattr(interpreter, name, function)
    interpreter.FunctionRewriter.ast_transformer = _Loops()
    patch = interpreter._patch_lang_core

    def patch_lang_core(lang, *scopes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        patch(lang, *scopes)
        if lang is not tl:
            return
        plain = tl.range

        def counting(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202
            return Rounds(cast(range, plain(*args, **kwargs)), any(map(_is_wide, args)))

        if scopes:
            scopes[0].set_attr(tl, "range", counting)
        else:  # triton 3.6
            tl.range = counting  # type: ignore[misc,assignment]

    interpreter._patch_lang_core = patch_lang_core
