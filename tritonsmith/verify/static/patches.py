"""Assignments that would change an imported module or class: `torch.relu = f`, `T = torch.Tensor; T.relu = f`.

A may-analysis over the syntax tree: each name, by the scope it is bound in, stands for every expression that it may be
set to (assignments, loops, `with`, defaults, arguments of calls, return values, attributes of `self` and of classes).
An attribute that is assigned, augmented or deleted is a finding if what it belongs to may be a module or a class that
was imported. Instances of imported classes are not followed: `out.grad = None` and `self.weight = ...` are honest. What
happens while the code runs is `integrity`'s to see.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence

from tritonsmith.source import children, walk
from tritonsmith.types import Finding
from tritonsmith.verify.static.module import Module, calls, step
from tritonsmith.verify.static.names import is_class, is_library, is_module

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_TYPE = "type("
"""How the name begins of a class that no dotted name tells."""
_DRIVER = "triton.runtime.driver"
"""An object and no module: how all kernels are launched and measured."""
_ROUNDS = 32
"""Rounds of reading at most; one is enough where names are set before they are used."""
_INSTANCES = {"typing.cast", "isinstance", "issubclass", "len", "super"}
"""Functions whose result is no class although they are given one."""


def patches(module: Module) -> Iterator[Finding]:
    """Every assignment to an attribute of what may be an imported module or class."""
    for node, found in _Scopes(module).stores():
        if found:
            verb = "deletion of" if isinstance(node.ctx, ast.Del) else "assignment to"
            yield Finding(rule="patch", message=f"{verb} {min(found)}.{node.attr}", line=node.lineno)


class _Scope:
    """The names that one module, class or function binds."""

    def __init__(self, outer: "_Scope | None", is_class: bool = False) -> None:
        self.outer, self.is_class = outer, is_class
        self.bound: dict[str, list[tuple[ast.expr, _Scope]]] = {}
        """What each name may be set to, and where that is to be read."""
        self.known: dict[str, set[str]] = {}
        """What of these values is imported, by dotted name, as far as it is known."""
        self.shared: set[str] = set()
        """Names that `global` or `nonlocal` binds further out."""

    def bind(self, name: str, value: ast.expr | None, where: "_Scope") -> None:
        """Note that a name may be a value; None for one that is nothing of interest."""
        owner = self
        while name in owner.shared and owner.outer is not None:
            owner = owner.outer
        known = owner.bound.setdefault(name, [])
        if value is not None:
            known.append((value, where))

    def find(self, name: str) -> "_Scope | None":
        """The innermost scope that binds a name; a class's names are seen in its own body alone."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.bound and (scope is self or not scope.is_class):
                return scope
            scope = scope.outer
        return None


class _Scopes:
    """All scopes of a module, and what its expressions may stand for."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._all: list[_Scope] = []
        self._functions: dict[str, list[tuple[_Function, _Scope]]] = {}
        self._attributes: dict[str, list[tuple[ast.expr, _Scope]]] = {}
        """What any object's attribute of a name may be set to in this file: `self.kind = torch.Tensor`."""
        self._calls: list[tuple[ast.Call, _Scope]] = []
        self._stores: list[tuple[ast.Attribute, _Scope]] = []
        """Attributes that are assigned, augmented or deleted."""
        self._held: dict[str, set[str]] = {}
        """What attributes may be, as far as it is known."""
        self._returned: dict[str, set[str]] = {}
        """What this file's functions may return."""
        top = self._scope(None)
        for node in module.tree.body:
            self._visit(node, top)
        for call, scope in self._calls:
            self._pass_arguments(call, scope)
        rounds = 0
        while self._read() and rounds < _ROUNDS:
            rounds += 1

    def stores(self) -> Iterator[tuple[ast.Attribute, set[str]]]:
        """Each attribute that is assigned or deleted, with the imported things that it may belong to."""
        for node, scope in self._stores:
            yield node, self._paths(node.value, scope)

    def _scope(self, outer: _Scope | None, is_class: bool = False) -> _Scope:
        self._all.append(_Scope(outer, is_class))
        return self._all[-1]

    def _read(self) -> bool:
        """Read all bindings once, in the order of the source; whether there was something new."""
        grown = False
        for scope in self._all:
            for name, values in scope.bound.items():
                grown |= self._add(scope.known, name, values)
        for name, values in self._attributes.items():
            grown |= self._add(self._held, name, values)
        for name, own in self._functions.items():
            values = [(value, inner) for function, inner in own for value in _results(function)]
            grown |= self._add(self._returned, name, values)
        return grown

    def _add(self, known: dict[str, set[str]], name: str, values: Sequence[tuple[ast.expr, _Scope]]) -> bool:
        found = known.setdefault(name, set())
        before = len(found)
        for value, where in values:
            found |= self._paths(value, where)
        return len(found) > before

    def _paths(self, node: ast.expr, scope: _Scope) -> set[str]:
        """The dotted names of imported things that an expression may be, as far as bindings have been read."""
        found = self._named(node, scope)
        return {path for path in found if path.startswith((_TYPE, _DRIVER)) or is_library(path)}

    def _named(self, node: ast.expr, scope: _Scope) -> set[str]:
        if isinstance(node, ast.Name):
            if (found := scope.find(node.id)) is not None:
                return found.known.get(node.id, set())
            return {self._module.aliases[node.id]} if node.id in self._module.aliases else set()
        if (taken := step(node)) is not None:
            if taken[1] == "__class__":
                return self._class_of(taken[0], scope)
            inner = {f"{path}.{taken[1]}" for path in self._paths(taken[0], scope)}
            return inner | self._held.get(taken[1], set())
        if isinstance(node, ast.Call):
            return self._result(node, scope)
        parts: Sequence[ast.expr] = ()
        if isinstance(node, ast.IfExp):
            parts = (node.body, node.orelse)
        elif isinstance(node, (ast.BoolOp, ast.Dict)):
            parts = node.values
        elif isinstance(node, (ast.NamedExpr, ast.Subscript, ast.Starred)):
            parts = (node.value,)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts = node.elts
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            parts = (node.elt,)
        elif isinstance(node, ast.BinOp):
            parts = (node.left, node.right)
        return self._any(parts, scope)

    def _any(self, parts: Iterable[ast.expr], scope: _Scope) -> set[str]:
        return {path for part in parts for path in self._paths(part, scope)}

    def _result(self, node: ast.Call, scope: _Scope) -> set[str]:
        """What a call may give: what an own function returns, else one of its arguments; an instance is nothing."""
        if calls(node, "type") and len(node.args) == 1:
            return self._class_of(node.args[0], scope)
        if isinstance(node.func, ast.Lambda):
            return self._paths(node.func.body, scope)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in self._functions:
            return self._returned.get(name, set())
        called = self._paths(node.func, scope)
        if name in self._module.classes or name in _INSTANCES or any(map(is_class, called)) or _INSTANCES & called:
            return set()
        named = [keyword.value for keyword in node.keywords]
        # `table.get("T")` may give what the table holds; `torch.empty(1)` does not give torch.
        of_module = any(is_module(path.rpartition(".")[0]) for path in called)
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) and not of_module else []
        return self._any([*owner, *node.args, *named], scope)

    def _class_of(self, node: ast.expr, scope: _Scope) -> set[str]:
        """The class of a value: that of `self` is this file's own; that of an instance made here is what it called."""
        if isinstance(node, ast.Name):
            if node.id in ("self", "cls"):
                return set()
            found = scope.find(node.id)
            made = [
                pair for pair in (found.bound[node.id] if found is not None else []) if isinstance(pair[0], ast.Call)
            ]
            if made:
                return {
                    path for call, where in made if isinstance(call, ast.Call) for path in self._paths(call.func, where)
                }
        return {f"{_TYPE}{ast.unparse(node)})"}

    # Bindings.

    def _visit(self, node: ast.AST, scope: _Scope) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            self._function(node, scope)
            return
        if isinstance(node, ast.ClassDef):
            scope.bind(node.name, None, scope)
            inner = self._scope(scope, is_class=True)
            for part in [*node.bases, *node.decorator_list, *(k.value for k in node.keywords)]:
                self._visit(part, scope)
            for part in node.body:
                self._visit(part, inner)
            for name, values in inner.bound.items():
                self._attributes.setdefault(name, []).extend(values)
            return
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            scope.shared.update(node.names)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value, scope)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            self._bind(node.target, node.value, scope)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._bind(node.target, node.iter, scope)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(node.optional_vars, None, scope)
        elif isinstance(node, ast.Call):
            self._calls.append((node, scope))
            if calls(node, "setattr") and len(node.args) > 2:
                self._set_by_name(node, scope)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            self._stores.append((node, scope))
        for child in children(node):
            self._visit(child, scope)

    def _set_by_name(self, node: ast.Call, scope: _Scope) -> None:
        """`setattr(x, "name", value)` is `x.name = value`."""
        owner, name, value = node.args[:3]
        known = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else "?"
        target = ast.copy_location(ast.Attribute(owner, known, ast.Store()), node)
        self._stores.append((target, scope))
        self._bind(target, value, scope)

    def _function(self, node: _Function, scope: _Scope) -> None:
        inner = self._scope(scope)
        if not isinstance(node, ast.Lambda):
            scope.bind(node.name, None, scope)
            self._functions.setdefault(node.name, []).append((node, inner))
            for part in node.decorator_list:
                self._visit(part, scope)
        for argument in _arguments(node):
            inner.bind(argument.arg, None, scope)
        places = [*node.args.posonlyargs, *node.args.args]
        defaults = node.args.defaults
        for argument, value in zip(places[len(places) - len(defaults) :], defaults, strict=True):
            inner.bind(argument.arg, value, scope)
        for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            inner.bind(argument.arg, value, scope)
        for part in [*defaults, *(value for value in node.args.kw_defaults if value is not None)]:
            self._visit(part, scope)
        for part in [node.body] if isinstance(node, ast.Lambda) else node.body:
            self._visit(part, inner)

    def _bind(self, target: ast.expr, value: ast.expr | None, scope: _Scope) -> None:
        """Let a target stand for a value, its parts for the value's parts or, where it has none, for the whole."""
        if isinstance(target, ast.Name):
            scope.bind(target.id, value, scope)
        elif isinstance(target, ast.Attribute) and value is not None:
            self._attributes.setdefault(target.attr, []).append((value, scope))
        elif isinstance(target, ast.Subscript) and value is not None:
            self._bind(target.value, value, scope)  # a table holds what is put into it
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else ()
            paired = len(values) == len(target.elts) and not any(isinstance(v, ast.Starred) for v in values)
            for place, part in enumerate(target.elts):
                self._bind(part, values[place] if paired else value, scope)

    def _pass_arguments(self, call: ast.Call, scope: _Scope) -> None:
        """Let the parameters of this file's functions stand for what they are called with."""
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)
        for function, inner in self._functions.get(name or "", ()):
            places = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
            if isinstance(call.func, ast.Attribute) and places[:1] in (["self"], ["cls"]):
                del places[0]
            for place, value in zip(places, call.args, strict=False):
                inner.bind(place, value, scope)
            for keyword in call.keywords:
                if keyword.arg is not None:
                    inner.bind(keyword.arg, keyword.value, scope)


def _arguments(node: _Function) -> Iterator[ast.arg]:
    yield from (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    yield from (argument for argument in (node.args.vararg, node.args.kwarg) if argument is not None)


def _results(function: _Function) -> Iterator[ast.expr]:
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    for node in walk(function):
        if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
            yield node.value
