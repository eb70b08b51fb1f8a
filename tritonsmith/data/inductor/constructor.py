"""What a candidate must take over of a task's source: the constructor, what it calls, and forward's parameters.

Text alone: nothing is executed, and what `forward` does is left behind.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_OWN = {"torch", "nn", "triton", "tl"}
"""Names that every candidate imports."""


@dataclass
class Shell:
    """A task's Model without its forward's body."""

    imports: list[str]
    """Lines for what the constructor uses, beyond torch, nn and Triton."""
    definitions: list[str]
    """Functions, classes and constants of the module that the constructor uses."""
    members: list[str]
    """ModelNew's methods and class attributes, forward left out."""
    parameters: ast.arguments
    """Those of forward, `self` among them."""
    returns: str
    """Forward's annotation of what it returns, with its arrow; nothing where it has none."""
    bases: list[str]


def shell(source: str) -> Shell:
    """Take a task's source apart."""
    tree = ast.parse(source)
    named = {name: node for node in tree.body for name in _defined(node)}
    model = named["Model"]
    assert isinstance(model, ast.ClassDef)
    forward = _method(model, "forward") or _inherited(model, named)
    members = _members(model)
    wanted = _closure([*members, *model.bases], named)
    imported = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    used = _names([*members, *wanted, *model.bases])
    return Shell(
        imports=[line for node in imported for line in _import_lines(node, used)],
        definitions=[ast.unparse(_without_forward(node)) for node in wanted],
        members=[ast.unparse(_RenameModel().visit(node)) for node in members],
        parameters=forward.args,
        returns=f" -> {ast.unparse(forward.returns)}" if forward.returns else "",
        bases=[ast.unparse(base) for base in model.bases],
    )


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for part in (part for target in targets for part in ast.walk(target)):
            if isinstance(part, ast.Name):
                yield part.id


def _method(model: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _inherited(model: ast.ClassDef, named: dict[str, ast.stmt]) -> ast.FunctionDef:
    for base in model.bases:
        owner = named.get(ast.unparse(base))
        if isinstance(owner, ast.ClassDef):
            return _method(owner, "forward") or _inherited(owner, named)
    raise ValueError("Model has no forward")


def _members(model: ast.ClassDef) -> list[ast.stmt]:
    """The constructor, the methods that it calls, and the class's own values."""
    methods = {n.name: n for n in model.body if isinstance(n, ast.FunctionDef)}
    waiting, kept = ["__init__"], set()
    while waiting:
        name = waiting.pop()
        if name in methods and name not in kept:
            kept.add(name)
            waiting += [n.attr for n in ast.walk(methods[name]) if isinstance(n, ast.Attribute)]
    values = [n for n in model.body if isinstance(n, (ast.Assign, ast.AnnAssign))]
    return [*values, *(node for name, node in methods.items() if name in kept and name != "forward")]


def _closure(start: list[ast.AST], named: dict[str, ast.stmt]) -> list[ast.stmt]:
    """The module's statements that these name, directly or through one another, in the order they stand in."""
    waiting, kept = list(_names(start)), set()
    while waiting:
        name = waiting.pop()
        if name in named and name != "Model" and name not in kept:
            kept.add(name)
            waiting += _names([_without_forward(named[name])])
    seen: list[ast.stmt] = []
    for name, node in named.items():
        if name in kept and node not in seen:
            seen.append(node)
    return seen


def _names(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that these read and do not set themselves."""
    return {name for node in nodes for name in _free(node)}


def _free(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node)) if isinstance(node, (ast.FunctionDef, ast.Lambda)) else [node]
    own = {part.arg for part in parts if isinstance(part, ast.arg)}
    own |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    inner = {name for child in ast.iter_child_nodes(node) for name in _free(child)}
    here = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else set()
    return (here | inner) - own


def _without_forward(node: ast.stmt) -> ast.stmt:
    """A helper class for its parameters only: a module without what it computes."""
    if not isinstance(node, ast.ClassDef):
        return node
    body = [part for part in node.body if not (isinstance(part, ast.FunctionDef) and part.name == "forward")]
    return ast.ClassDef(node.name, node.bases, node.keywords, body or [ast.Pass()], node.decorator_list)


def _import_lines(node: ast.Import | ast.ImportFrom, used: set[str]) -> Iterator[str]:
    for alias in node.names:
        name = (alias.asname or alias.name).split(".")[0]
        if name in used and name not in _OWN:
            one = ast.Import([alias])
            yield ast.unparse(one if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], node.level))


class _RenameModel(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("ModelNew", node.ctx) if node.id == "Model" else node
