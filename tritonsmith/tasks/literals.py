"""Numbers in the texts of a task and a kernel beyond which values may be treated otherwise: bounds, thresholds, and
what stands for infinity.

A kernel that begins a maximum at -1e4, or leaves a clamp at 1000 out, is right for all that `torch.randn` draws. Which
numbers matter is not known: those that are no sizes are taken. Does not draw anything: see `verify.reference.beyond`.
"""

import ast
from collections.abc import Iterable, Iterator

from tritonsmith.source import parse, walk

LEAST, MOST = 16.0, 1e7
"""Bounds on such numbers: kernels are tried on values up to some hundred anyway, and what is beyond the largest stands
for infinity in honest kernels too, where no input is as large."""
SEVERAL = 3
"""Levels at most: each costs as many forwards as there are sides."""
_APART = 1.25
"""Numbers that are nearer to each other, as a quotient, are one level."""
_ARITHMETIC = ast.Add | ast.Sub


def levels(task: str, candidate: str) -> list[float]:
    """Magnitudes beyond which values are to be tried, the least, the greatest and one between them of more."""
    found: list[float] = []
    for value in sorted({abs(number) for number in (*_of_task(task), *_floats(candidate))}):
        if LEAST < value <= MOST and (not found or value > _APART * found[-1]):
            found.append(value)
    return found if len(found) <= SEVERAL else [found[0], found[len(found) // 2], found[-1]]


def _of_task(source: str) -> Iterator[float]:
    """Its fractions and negative numbers, and what it adds, subtracts or compares in a forward: no sizes, those."""
    yield from _floats(source)
    for function in walk(parse(source)):
        if isinstance(function, ast.FunctionDef) and function.name == "forward":
            yield from _operands(walk(function))


def _operands(some: Iterable[ast.AST]) -> Iterator[float]:
    for node in some:
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            yield from _whole(node.left, node.right)
        if isinstance(node, ast.Compare):
            yield from _whole(node.left, *node.comparators)


def _whole(*operands: ast.expr) -> Iterator[float]:
    for one in operands:
        if isinstance(one, ast.Constant) and type(one.value) is int:
            yield float(one.value)


def _floats(source: str) -> Iterator[float]:
    """Numbers written as fractions, and whole ones behind a minus; nothing of a text that does not parse."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError):
        return
    for node in walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield from _whole(node.operand)
