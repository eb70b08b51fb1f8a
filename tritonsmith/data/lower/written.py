"""What a task's source writes down: numbers, and the members that its methods read. Runs nothing of it."""

import ast
from collections.abc import Iterator


def _members_read(model: ast.ClassDef) -> frozenset[str]:
    """Names of `self` that the class's methods other than the constructor read."""
    methods = [node for node in model.body if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
    return frozenset(
        node.attr
        for method in methods
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def numbers_written(model: ast.ClassDef) -> frozenset[float]:
    """Numbers in the class's methods other than the constructor."""
    methods = [node for node in model.body if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
    values = [_folded(node) for method in methods for node in ast.walk(method)]
    return frozenset(value for value in values if value is not None)


def read_by_class(tree: ast.Module) -> dict[str, frozenset[str]]:
    """Names of `self` that methods other than the constructor read, by the name of each class."""
    return {node.name: _members_read(node) for node in tree.body if isinstance(node, ast.ClassDef)}


_OF_DIMENSIONS = {"permute", "transpose", "swapaxes", "movedim", "unsqueeze", "squeeze", "flatten", "size", "unbind"}
"""Methods whose numbers say which dimensions, and never how large."""


def sizes_written(tree: ast.Module) -> dict[str, frozenset[float]]:
    """By class the numbers in its methods and in the module's functions, but for those that name dimensions."""
    shared = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("get_")]
    found = {}
    for kind in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        own = [node for node in kind.body if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
        numbers = [_folded(node) for method in [*shared, *own] for node in _sizing(method)]
        found[kind.name] = frozenset(number for number in numbers if number is not None)
    return found


def _sizing(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is in it, without what says which dimension or which item."""
    yield node
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.UnaryOp)):
        yield from _sizing(node.value)
        return
    dimensions = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_DIMENSIONS
    )
    parts = [node.func] if dimensions and isinstance(node, ast.Call) else ast.iter_child_nodes(node)
    for part in parts:
        if not (isinstance(part, ast.keyword) and part.arg in ("dim", "axis", "dims", "start_dim", "end_dim")):
            yield from _sizing(part)


def _folded(node: ast.AST) -> float | None:
    """The number that a literal is, or a product of literals."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _folded(node.left), _folded(node.right)
        return left * right if left is not None and right is not None else None
    return None
