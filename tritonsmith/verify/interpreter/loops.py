"""Loops, conditions and assignments of kernels as Triton's compiler has them, and not Python.

The interpreter runs `for i in range(n)` as Python does. Here `i` is a scalar of the type that the compiler gives it, so
that `i / 2` is a float32, `-i // 2` is rounded towards zero, and `(i < 3) + (i < 5)` is a truth, of which two make
none; behind its loop it has no value. Whatever function counts is known by itself and not by its name;
`tl.static_range` counts in constants, which are Python's. `and`, `or` and `not` join what is known when the kernel runs
alone, and a number is the tensor that the compiler makes of it. What a rewritten kernel calls by name has names that no
candidate can define.

How often a loop of the candidate's goes round is noted (`passes`), for one that never went round twice has shown
nothing of what it carries from one round to the next.

Not here: a launch's argument that is 1, which is a constant for the compiler, and a number that a device function
gives, of which it makes a tensor where there are several.
"""

import ast
import copy
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from tritonsmith.verify.interpreter import comparisons
from tritonsmith.verify.process.loading import CANDIDATE

_COUNTED, _COUNTS, _GONE = "range of a kernel", "counts in scalars", "variable of a loop that is over"
_ROUNDS, _ENTERED, _AGAIN = "rounds of a loop", "start of a loop", "condition of a loop"
_JOINED, _NEGATED, _CHOSEN = "and or or of a kernel", "not of a kernel", "one of two in a kernel"
_GIVEN, _EXTREME = "what a kernel's name is given", "max or min of a kernel"
_TOLD, _COMPARED = "what a kernel's name is given and said to be", "comparison of a kernel"
"""Names that no source can spell: Triton leaves what a candidate's module defines as it is."""
_RANGE, _STATIC = tl.core.range, tl.core.static_range
"""What counts besides Python's `range`; the interpreter puts that into their places."""


class Rounds:
    """What a loop of a kernel counts: scalars of a type, or constants, which have none (`kind`)."""

    def __init__(self, values: Sequence[int], kind: tl.dtype | None) -> None:
        self.values, self.kind = values, kind

    def __iter__(self) -> Iterator[int | tl.tensor]:
        if self.kind is None:
            yield from self.values
            return
        held = interpreter._get_np_dtype(self.kind)
        for value in self.values:
            data = np.array([value], np.int64).astype(held)
            yield tl.tensor(interpreter.TensorHandle(data, self.kind), self.kind)


def counts(function: object) -> bool:
    """Whether a loop over what a function counts has a variable that is known when the kernel runs alone."""
    return function is range or function is _RANGE


def counts_alone(kernel: FunctionType) -> bool:
    """Whether a rewritten kernel's loops, of which it has some, all count, as far as they are in its own text."""
    names = kernel.__code__.co_names
    return _ROUNDS in names and _AGAIN not in names


def counted(function: object, *bounds: Any, **options: Any) -> Rounds:  # noqa: ANN401
    """What a loop of a kernel counts, as the compiler's `visit_For` has it."""
    if function is range and options:
        raise TypeError("range of a kernel has no arguments by name")
    start, stop, step = _bounds(*bounds, **options)
    if getattr(function, "value", function) is _STATIC:  # a constant, too
        return Rounds(range(*map(operator.index, (start, stop, step))), None)
    if not counts(function):
        raise RuntimeError("Only `range` and `static_range` iterators are currently supported")
    semantic = interpreter.interpreter_semantic
    kinds = [cast(tl.tensor, semantic.to_tensor(bound)).dtype for bound in (start, stop, step)]
    if not all(kind.is_int() for kind in kinds):
        raise TypeError(f"For loop bounds and step must all be ints, are ({', '.join(map(str, kinds))})")
    kind = functools.reduce(semantic.integer_promote_impl, kinds)
    first, end, stride = (_signed(operator.index(bound), kind.int_bitwidth) for bound in (start, stop, step))
    if stride <= 0 and isinstance(step, tl.tensor):  # the compiler knows no better than that it goes up
        if first < end:
            raise ValueError(f"a loop from {first} to {end} by steps of {stride} has no end")
        return Rounds((), kind)
    return Rounds(range(first, end, stride), kind)


def _bounds(arg1: Any, arg2: Any = None, step: Any = None, **_: object) -> tuple[Any, Any, Any]:  # noqa: ANN401
    """Start, stop and step, by the names that Triton has for them."""
    return (0 if arg2 is None else arg1), (arg1 if arg2 is None else arg2), (1 if step is None else step)


def _signed(number: int, bits: int) -> int:
    """What so many bits hold of it; loops compare with a sign, whatever the type is."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


class _Gone(interpreter.TensorHandle):
    """What the compiler leaves of a loop's variable behind the loop: nothing that can be computed with."""

    def __init__(self) -> None:
        self.dtype, self.attr = tl.int32, {}

    @property
    def data(self) -> Any:  # type: ignore[override]  # noqa: ANN401
        """None; raises."""
        raise RuntimeError("the variable of a loop is used behind it, where it has no value in a compiled kernel")


def gone() -> tl.tensor:
    """A loop's variable when the loop is over."""
    return tl.tensor(_Gone(), tl.int32)


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
        if not isinstance(values, Rounds) or len(values.values) <= 2 * self.ends:
            return values
        return Rounds([*values.values[: self.ends], *values.values[-self.ends :]], values.kind)

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
    """Triton's transformer, whose loops are `counted`, and whose names are its own."""

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
            node.value = ast.copy_location(_call(_TOLD, node.value, _late(node.annotation)), node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`x += y` is `x = x + y`."""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], value), node))

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

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """A comparison of two numbers, whose outcomes are noted."""
        node = cast(ast.Compare, self.generic_visit(node))
        kind = type(node.ops[0]).__name__
        if len(node.ops) > 1 or kind not in comparisons.OPERATORS:
            return node
        place = ast.Constant(kind), ast.Constant(node.col_offset)
        return ast.copy_location(_call(_COMPARED, *place, node.left, *node.comparators), node)

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.AST]:
        """Count otherwise, and leave nothing behind; bounds and body are gone over as ever."""
        called = node.iter
        if not isinstance(called, ast.Call):
            return self.generic_visit(node)
        function = copy.deepcopy(called.func)
        counting = ast.Call(ast.Name(_COUNTED, ast.Load()), [called.func, *called.args], called.keywords)
        node.iter = _call(_ROUNDS, ast.copy_location(counting, called))
        ast.copy_location(node.iter, called)
        over = ast.If(_call(_COUNTS, function), [ast.Assign([copy.deepcopy(node.target)], _call(_GONE))], [])
        return [self.generic_visit(node), ast.copy_location(over, node)]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """`and` and `or` join as they do for the compiler."""
        node = cast(ast.BoolOp, self.generic_visit(node))
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            return node  # a name that is bound in passing would be a function's of its own
        parts = map(_late, node.values)
        return ast.copy_location(_call(_JOINED, ast.Constant(isinstance(node.op, ast.And)), *parts), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """`not` is the compiler's."""
        node = cast(ast.UnaryOp, self.generic_visit(node))
        return ast.copy_location(_call(_NEGATED, node.operand), node) if isinstance(node.op, ast.Not) else node

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
        if not isinstance(value, tl.tensor):
            if bool(value) is not conjunction:
                return value
            continue
        found = value if found is None else join(found, value)
    return value if found is None else found


def negated(value: object) -> object:
    """`not` of a kernel: of what is known when the kernel runs alone, a truth, or a block of them."""
    return interpreter.interpreter_semantic.not_(value) if isinstance(value, tl.tensor) else not value


def given(value: object) -> object:
    """What an assignment gives a name: numbers as tensors, those of a tuple too."""
    if isinstance(value, tl.tensor):
        return value
    if type(value) is tuple:
        return tuple(map(given, value))
    return interpreter.interpreter_semantic.to_tensor(value, False)


def told(value: object, kind: Callable[[], object]) -> object:
    """The same where a name is said to be of a kind: `tl.constexpr` by another name of it is one."""
    try:
        constant = kind() is tl.constexpr
    except (NameError, AttributeError):  # an annotation may say anything
        constant = False
    return value if constant else given(value)


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
    named: dict[str, Callable[..., object]] = {
        _COUNTED: counted, _COUNTS: counts, _GONE: gone, _ROUNDS: passes.rounds, _ENTERED: passes.entered,
        _AGAIN: passes.again, _JOINED: joined, _NEGATED: negated, _CHOSEN: chosen, _GIVEN: given, _EXTREME: extreme,
        _TOLD: told, _COMPARED: comparisons.compared,
    }  # fmt: skip
    for name, function in named.items():
        setattr(interpreter, name, function)  # its globals are among a kernel's
    interpreter.FunctionRewriter.ast_transformer = _Loops()
    patch = interpreter._patch_lang_core

    def patch_lang_core(lang, *scopes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        patch(lang, *scopes)
        for name, function in (("range", _RANGE), ("static_range", _STATIC)):
            if scopes:
                scopes[0].set_attr(lang, name, function)
            else:  # triton 3.6
                setattr(lang, name, function)

    interpreter._patch_lang_core = patch_lang_core
