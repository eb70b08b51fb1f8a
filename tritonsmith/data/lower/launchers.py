"""Each launch of a candidate in a function of its own, right behind its kernel, which allocates what it writes.

A kernel's parameters and what is passed for them then stand side by side, as people write them, and `forward` reads
like the module it replaces. Rewrites the one style that `lower` writes; a launch of another form stays where it is.
"""

import ast
import builtins
import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tritonsmith.data.lower.atoms import KIND_ONLY, MAKERS, Atoms, Kinds, Rename, read_by, stem
from tritonsmith.data.lower.text import free_name, wrapped
from tritonsmith.source import parse

_BUILTINS = frozenset(dir(builtins))
_OF_SIZES = {"cdiv", "next_power_of_2", "numel", "size", "stride", "dim", "max", "min", "int"}
"""Functions whose results are numbers."""
_COUNTED = re.compile(r"t\d+")
"""What `lower` calls a tensor in between: equal functions do not go by its number."""
_OWN_NAMES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)
"""Expressions with variables of their own, which are no atoms."""


def launchers(source: str) -> str:
    """The candidate with its launches in functions; the same kernels run on the same memory in the same order."""
    tree = parse(source)
    model = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ModelNew")
    forward = next(node for node in model.body if isinstance(node, ast.FunctionDef) and node.name == "forward")
    above = tree.body[: tree.body.index(model)]
    kernels = {node.name: node for node in above if isinstance(node, ast.FunctionDef) and node.decorator_list}
    arguments = {leaf.arg for leaf in ast.walk(forward.args) if isinstance(leaf, ast.arg)}
    lines, start = source.splitlines(), 0
    rewriting = _Rewriting(lines, kernels, _globals(tree), arguments, _words(tree) | _BUILTINS)
    statements = rewriting.forward(forward)
    written: list[str] = []
    for name, node in kernels.items():
        end = node.end_lineno or node.lineno
        written += lines[start:end]
        for function in rewriting.functions.get(name, []):
            written += ["", "", *function.lines]
        start = end
    written += lines[start : forward.body[0].lineno - 1]
    written += [f"        {line}" for statement in statements for line in statement]
    written += lines[forward.end_lineno :]
    return "\n".join(written) + "\n"


def _words(tree: ast.Module) -> set[str]:
    """Names that the candidate uses for anything at all."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found | _globals(tree)


def _globals(tree: ast.Module) -> set[str]:
    """What a function of the module may call by its name, builtins left out."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            found |= set(_stored(node))
    return found


def _stored(node: ast.AST) -> Iterator[str]:
    return (leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and not isinstance(leaf.ctx, ast.Load))


def _loaded(node: ast.AST) -> Iterator[str]:
    return (leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Load))


def _read_from(statements: Sequence[ast.stmt]) -> list[set[str]]:
    """For each statement the names whose values it and those behind it read, gone through once, from the end."""
    found: list[set[str]] = []
    read: set[str] = set()
    for statement in reversed(statements):
        read = (read - set(_stored(statement))) | set(_loaded(statement))
        found.append(read)
    return found[::-1]


def _named(node: ast.AST) -> set[str]:
    return {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name)}


@dataclass
class _Function:
    name: str
    parameters: list[str]
    body: list[list[str]]

    @property
    def lines(self) -> list[str]:
        head = wrapped(f"def {self.name}(", self.parameters, "):")
        return [*head, *(f"    {line}" for statement in self.body for line in statement)]


@dataclass
class _Rewriting:
    """One candidate's `forward` while it is gone through."""

    lines: Sequence[str]
    """The candidate's."""
    kernels: Mapping[str, ast.FunctionDef]
    globals: Collection[str]
    arguments: Collection[str]
    """Of `forward`: tensors, which equal functions call alike whatever they are called here."""
    taken: set[str]
    """Names that no function may have."""
    functions: dict[str, list[_Function]] = field(default_factory=dict)
    """By kernel, those that launch it."""
    _pending: dict[str, ast.Assign] = field(default_factory=dict)
    """Allocations that nothing has used so far, and numbers that no statement that stays in `forward` has used."""
    _kinds: Kinds = field(default_factory=Kinds)
    _hidden: set[str] = field(default_factory=set)
    """Builtins and globals that arguments and variables are called like."""

    def forward(self, written: ast.FunctionDef) -> list[list[str]]:
        """The statements that `forward` is left with, each as its lines."""
        self._hidden = {*self.arguments, *_stored(written)}
        found: list[list[str]] = []
        for statement, read in zip(written.body, _read_from(written.body), strict=True):
            self._forget(read)
            call = self._launched(statement)
            if call is not None:
                found.append(self._moved(call))
                continue
            made = _allocation(statement) or _number(statement)
            found += [self._as_written(self._pending.pop(name)) for name in self._due(statement)]
            self._kinds.note(statement)
            if made is None:
                found.append(self._as_written(statement))
            else:
                self._pending[made[0]] = made[1]
        return found

    def _as_written(self, statement: ast.stmt) -> list[str]:
        return [line[8:] for line in self.lines[statement.lineno - 1 : statement.end_lineno]]

    def _forget(self, read: Collection[str]) -> None:
        """Drop the numbers that nothing reads any more: not the rest of `forward`, nor what is pending."""
        needed = set(self._needed({*read, *(name for name, made in self._pending.items() if _allocation(made))}))
        for name in self._pending.keys() - needed:
            del self._pending[name]

    def _due(self, statement: ast.stmt) -> list[str]:
        """What is pending and must be there before a statement, or would read another value behind it.

        A number may wait for the launch that it is for, whatever it is made of.
        """
        stored, used = set(_stored(statement)), set[str]() if _number(statement) else _named(statement)
        if _allocation(statement):
            used = {name for name in used if name in self._pending and _allocation(self._pending[name])}
        late = {name for name, made in self._pending.items() if stored & _named(made.value)}
        return self._needed({*used, *late})

    def _needed(self, names: Collection[str]) -> list[str]:
        """What is pending of these, and what it reads that is pending, in order."""
        wanted = set(names)
        for name in reversed(list(self._pending)):
            wanted |= _named(self._pending[name].value) if name in wanted else set()
        return [name for name in self._pending if name in wanted]

    def _launched(self, statement: ast.stmt) -> ast.Call | None:
        """The launch that a statement is, if it is of the form that can be moved."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Subscript):
            return None
        plain = not any(isinstance(node, (*_OWN_NAMES, ast.Starred)) for node in ast.walk(call))
        named = all(keyword.arg is not None for keyword in call.keywords)
        known = isinstance(call.func.value, ast.Name) and call.func.value.id in self.kernels
        return call if plain and named and known else None

    def _moved(self, call: ast.Call) -> list[str]:
        """Write the function of one launch; what calls it."""
        kernel = ast.unparse(call.func).partition("[")[0]
        local = self._needed(_named(call))
        made = [name for name in local if _allocation(self._pending[name])]
        parts: list[ast.AST] = [*(copy.deepcopy(self._pending[name]) for name in local), call]
        for name in made:
            del self._pending[name]
        atoms = read_by(parts, {*local, *((_BUILTINS | set(self.globals)) - self._hidden)})
        labels = _labels(self.kernels[kernel], call)
        likes = self._likes(atoms, labels)
        order = list(labels)
        passed = [atom for atom in atoms if atom not in likes]
        passed.sort(key=lambda atom: order.index(atom) if atom in labels else len(order))
        names = self._names(local, passed, labels)
        rename = Rename(names | {old: names[new] for old, new in likes.items()})
        body = [_lines(rename.visit(part)) for part in parts]
        if made:
            body.append([f"return {', '.join(names[name] for name in made)}"])
        function = self._function(kernel, [names[atom] for atom in passed], body)
        to = f"{', '.join(made)} = " if made else ""
        return wrapped(f"{to}{function.name}(", passed, ")")

    def _names(self, local: Sequence[str], passed: Sequence[str], labels: Mapping[str, str]) -> dict[str, str]:
        """What a function calls what it makes and what it is given: as the kernel does."""
        names: dict[str, str] = {}
        reserved = {*_BUILTINS, *self.globals}
        for name in local:
            names[name] = free_name(labels.get(name, name), {*names.values(), *reserved})
        for atom in passed:
            tensor = atom in self.arguments or _COUNTED.fullmatch(atom)
            name = labels.get(atom) or ("x" if tensor else stem(atom))
            names[atom] = free_name(name, {*names.values(), *local, *reserved})
        return names

    def _likes(self, atoms: Atoms, labels: Mapping[str, str]) -> dict[str, str]:
        """Tensors that are only asked for their dtype, by one that is passed anyhow and has it."""
        tensors = [atom for atom, uses in atoms.items() if atom in labels and uses - {"number"}]
        found: dict[str, str] = {}
        for atom, uses in atoms.items():
            if atom in labels or not uses <= KIND_ONLY:
                continue
            any_kind = uses <= {"device"}
            same = (one for one in tensors if any_kind or self._kinds.of(one) == self._kinds.of(atom))
            if (new := next(same, None)) is not None:
                found[atom] = new
        return found

    def _function(self, kernel: str, parameters: list[str], body: list[list[str]]) -> _Function:
        """The function of a launch; one that reads like an earlier one is that one."""
        known = self.functions.setdefault(kernel, [])
        for one in known:
            if one.parameters == parameters and one.body == body:
                return one
        name = free_name(f"launch_{kernel.replace('_kernel', '')}", self.taken)
        self.taken.add(name)
        known.append(_Function(name, parameters, body))
        return known[-1]


def _allocation(statement: ast.stmt) -> tuple[str, ast.Assign] | None:
    """The name of the memory that a statement does nothing but allocate, and the statement."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, call = statement.targets[0], statement.value
    makes = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in MAKERS
    plain = not any(isinstance(node, _OWN_NAMES) for node in ast.walk(call))
    return (target.id, statement) if isinstance(target, ast.Name) and makes and plain else None


def _number(statement: ast.stmt) -> tuple[str, ast.Assign] | None:
    """The name of the number, or of the grid, that a statement does nothing but work out, and the statement."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    sizes = all(ast.unparse(call.func).rpartition(".")[2] in _OF_SIZES for call in calls)
    arithmetic = isinstance(value, (ast.BinOp, ast.Tuple)) or bool(calls)
    known = not any(isinstance(node, _OWN_NAMES) for node in ast.walk(value))
    return (target.id, statement) if isinstance(target, ast.Name) and arithmetic and sizes and known else None


def _labels(kernel: ast.FunctionDef, call: ast.Call) -> dict[str, str]:
    """What a kernel calls the things that are passed to it, tensors first."""
    parameters = [argument.arg for argument in kernel.args.args]
    pairs = [(ast.unparse(value), name) for name, value in zip(parameters, call.args, strict=False)]
    pairs += [(ast.unparse(keyword.value), keyword.arg or "") for keyword in call.keywords]
    pairs.sort(key=lambda pair: not pair[1].endswith("_ptr"))
    found: dict[str, str] = {}
    for spelled, name in pairs:
        found.setdefault(spelled, name.removesuffix("_ptr"))
    return found


def _lines(node: ast.AST) -> list[str]:
    """A statement as lines of no great length."""
    if isinstance(node, ast.Call):
        keywords = [f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in node.keywords]
        return wrapped(f"{_callee(node.func)}(", [*map(ast.unparse, node.args), *keywords], ")")
    return ast.unparse(node).splitlines()


def _callee(node: ast.expr) -> str:
    """What is called; a launch's grid in brackets, which are not needed and always written."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        inside = ", ".join(map(ast.unparse, node.slice.elts)) + ("," if len(node.slice.elts) == 1 else "")
        return f"{ast.unparse(node.value)}[({inside})]"
    return ast.unparse(node)
