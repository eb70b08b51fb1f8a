"""Which names of a source are its functions' own, whatever builtins are called so too.

Python decides by scopes (Language Reference, section 4.2.2): a name that a function binds anywhere is that function's
everywhere in it, and is never looked up among the builtins. A class's body is no such scope: `eval = eval` there takes
the builtin, even inside a function that has an `eval`.
"""

import ast
from collections.abc import Iterable

from tritonsmith.source import children, walk

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NAMED = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def own_names(tree: ast.Module) -> set[int]:
    """Identities of the `Name` nodes that functions and comprehensions bind, themselves or around them."""
    found: set[int] = set()
    for node in tree.body:
        _visit(node, frozenset(), frozenset(), found)
    return found


def _visit(node: ast.AST, known: frozenset[str], outer: frozenset[str], found: set[int]) -> None:
    """Note the names below a node; `known` are those of the scope, `outer` what functions within it can see."""
    if isinstance(node, ast.Name):
        if node.id in known:
            found.add(id(node))
    elif isinstance(node, _Function):
        _function(node, known, outer, found)
    elif isinstance(node, ast.ClassDef):
        for part in (*node.bases, *node.keywords, *node.decorator_list):
            _visit(part, known, outer, found)
        body = outer - _bound(node.body)
        for part in node.body:
            _visit(part, body, outer, found)
    elif isinstance(node, _Comprehension):
        _comprehension(node, known, outer, found)
    else:
        for child in children(node):
            _visit(child, known, outer, found)


def _function(node: _Function, known: frozenset[str], outer: frozenset[str], found: set[int]) -> None:
    a = node.args
    listed = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    outside: list[ast.AST | None] = [*a.defaults, *a.kw_defaults, *(one.annotation for one in listed)]
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    if not isinstance(node, ast.Lambda):
        outside += [*node.decorator_list, node.returns]
    for part in outside:
        if part is not None:
            _visit(part, known, outer, found)
    elsewhere = {name for part in _within(body) if isinstance(part, ast.Global) for name in part.names}
    inside = (outer | {one.arg for one in listed} | _bound(body)) - elsewhere
    for part in body:
        _visit(part, inside, inside, found)


def _comprehension(node: _Comprehension, known: frozenset[str], outer: frozenset[str], found: set[int]) -> None:
    """The first thing that is gone over is evaluated outside."""
    first = node.generators[0].iter
    _visit(first, known, outer, found)
    targets = {part.id for one in node.generators for part in walk(one.target) if isinstance(part, ast.Name)}
    inside = outer | targets
    values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    parts = [part for one in node.generators for part in (one.target, one.iter, *one.ifs) if part is not first]
    for part in (*values, *parts):
        _visit(part, inside, inside, found)


def _bound(body: Iterable[ast.AST]) -> frozenset[str]:
    """Names that the statements of a scope bind in that scope."""
    parts = _within(body)
    names = {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    for part in parts:
        if isinstance(part, _NAMED) and part.name:
            names.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            names.add(part.rest)
        elif isinstance(part, ast.alias):
            names.add((part.asname or part.name).split(".")[0])
    free = {name for part in parts if isinstance(part, (ast.Global, ast.Nonlocal)) for name in part.names}
    return frozenset(names - free)


def _within(body: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes of one scope: those inside functions, classes and comprehensions are not among them."""
    found = list(body)
    for node in found:  # which grows meanwhile
        if isinstance(node, _Comprehension):  # `:=` binds around it
            found.extend(part.target for part in walk(node) if isinstance(part, ast.NamedExpr))
        elif isinstance(node, ast.ClassDef | _Function):
            found.extend([] if isinstance(node, ast.Lambda) else node.decorator_list)
        else:
            found.extend(children(node))
    return found
