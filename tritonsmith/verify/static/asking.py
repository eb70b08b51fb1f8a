"""Python in a kernel that asks what the things it handles are, and so who runs it: the interpreter or the compiler.

Static rules over a candidate's kernels, a part of `policy`. What kernels compute is not looked at.
"""

import ast
from collections.abc import Collection, Iterator
from itertools import pairwise

from tritonsmith.source import children, walk
from tritonsmith.types import Finding
from tritonsmith.verify.static.module import Module
from tritonsmith.verify.static.names import is_library, is_module

ASKING = {"isinstance", "hasattr", "getattr", "type", "callable", "issubclass", "id", "repr", "vars", "dir"}
"""Functions that tell a kernel whether Triton's interpreter runs it or the compiler reads it."""
CLASSES = {"__class__", "__name__", "__doc__", "__call__", "__init__"}
"""Attributes that do so, of those that are allowed elsewhere."""
COMBINING = {"reduce", "associative_scan", "map_elementwise"}
"""Functions of Triton's that are given another one."""


def kernel_python(module: Module) -> Iterator[Finding]:
    """Python in a kernel by which it could tell who runs it, and so be another one when it is compiled."""
    asking = ASKING | {
        name
        for name, values in module.values.items()
        if any(isinstance(value, ast.Name) and value.id in ASKING for value in values)
    }
    for body in module.bodies:
        stored = {n.id for n in walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        own = stored | {n.arg for n in walk(body) if isinstance(n, ast.arg)}
        held = {
            target.id
            for node in walk(body)
            if isinstance(node, ast.Assign) and _functions(module, node.value, frozenset())
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in walk(body):
            asks = isinstance(node, ast.Name) and node.id in asking and node.id not in own
            asks |= isinstance(node, ast.Attribute) and node.attr in CLASSES
            asks |= isinstance(node, ast.FormattedValue) and node.format_spec is not None
            if asks or (isinstance(node, ast.Compare) and _compares_objects(module, node, held)):
                asked = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
                word = asked or ("a format" if isinstance(node, ast.FormattedValue) else "comparing objects")
                message = f"{word} in a kernel tells the interpreter from the compiler; it is not allowed there"
                yield Finding(rule="kernel-python", message=message, line=getattr(node, "lineno", None))


def _compares_objects(module: Module, node: ast.Compare, held: Collection[str]) -> bool:
    """Whether a comparison goes by identity, or is of Triton's functions, which the interpreter replaces."""
    sides = [node.left, *node.comparators]
    for operator, pair in zip(node.ops, pairwise(sides), strict=True):
        none = any(isinstance(side, ast.Constant) and side.value is None for side in pair)
        if isinstance(operator, (ast.Is, ast.IsNot)) and not none:
            return True
    return any(_functions(module, side, held) for side in sides)


def _functions(module: Module, node: ast.expr, held: Collection[str]) -> bool:
    """Whether an expression holds a library's function that it does not call, by itself or by a name of `held`."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in COMBINING:
            return False
        return any(_functions(module, part, held) for part in (*node.args, *(one.value for one in node.keywords)))
    if isinstance(node, (ast.Name, ast.Attribute)) and (path := module.path(node)) is not None:
        return (isinstance(node, ast.Name) and node.id in held) or (is_library(path) and not is_module(path))
    return any(_functions(module, part, held) for part in children(node) if isinstance(part, ast.expr))
