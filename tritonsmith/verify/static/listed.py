"""Names that a loop over a list of literal ones stands for: `for name in ("q", "k", "v"): setattr(self, name, ...)`.

Such a name is as plain as one that is written out, if nothing else binds it. Only those that `torch.nn.Module` does not
have are given, so that no more can be reached by them than a candidate's own.
"""

import ast
from collections.abc import Iterator

from torch import nn

from tritonsmith.source import walk

_LISTS = ast.Tuple | ast.List


def listed(tree: ast.Module) -> dict[str, list[str]]:
    """The literals by the loop's name."""
    found: dict[str, list[str]] = {}
    loops = [node for node in walk(tree) if isinstance(node, (ast.For, ast.comprehension))]
    for node in loops:
        if isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).extend(_literals(node.iter) or [""])
    bound = [name for node in walk(tree) for name in _binds(node)]
    counted = {name: sum(_named(loop.target) == name for loop in loops) for name in found}
    return {
        name: values
        for name, values in found.items()
        if bound.count(name) == counted[name] and all(map(_is_own, values))
    }


def _named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _literals(node: ast.expr) -> list[str]:
    """The texts of a tuple or list of nothing else."""
    parts = node.elts if isinstance(node, _LISTS) else []
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return texts if len(texts) == len(parts) else []


def _is_own(name: str) -> bool:
    return name.isidentifier() and name[0].isalpha() and not hasattr(nn.Module, name) and name != "training"


def _binds(node: ast.AST) -> Iterator[str]:
    """The names that a node binds by itself."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    for field in ("name", "asname", "arg", "rest"):
        if isinstance(value := getattr(node, field, None), str):
            yield value
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
