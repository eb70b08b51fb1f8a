"""Names that a loop over a list of literal ones stands for: `for name in ("q", "k", "v"): setattr(self, name, ...)`.

Such a name is as plain as one that is written out, if nothing else binds it. Only those that `torch.nn.Module` does not
have are given, so that no more can be reached by them than a candidate's own.
"""

import ast
from collections.abc import Iterator

from torch import nn

from tritonsmith.source import walk


def listed(tree: ast.Module) -> dict[str, list[str]]:
    """The literals by the loop's name."""
    loops = [node for node in walk(tree) if isinstance(node, (ast.For, ast.comprehension))]
    targets = {id(loop.target) for loop in loops}
    elsewhere = {name for node in walk(tree) if id(node) not in targets for name in _binds(node)}
    found: dict[str, list[str]] = {}
    for loop in loops:
        if isinstance(loop.target, ast.Name):
            found.setdefault(loop.target.id, []).extend(_literals(loop.iter))
    return {name: values for name, values in found.items() if name not in elsewhere and all(map(_is_own, values))}


def _literals(node: ast.expr) -> list[str]:
    """The texts of a tuple or list; of anything else one that is no name."""
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    return [part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "" for part in parts]


def _is_own(name: str) -> bool:
    return name.isidentifier() and name[0].isalpha() and not hasattr(nn.Module, name) and name != "training"


def _binds(node: ast.AST) -> Iterator[str]:
    """The names that a node binds by itself."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    for field in ("name", "asname", "arg", "rest") if not isinstance(node, ast.keyword) else ():
        if isinstance(value := getattr(node, field, None), str):
            yield value
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
