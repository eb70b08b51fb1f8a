"""What expressions of `forward` read: tensors, numbers of the model, and which tensors are known to have one dtype.

An atom is what a function would have to be given to compute an expression: `x` of `x.shape[0]`, `self.linear.weight`,
`self.pads[0]`. Moves no statements: that is `launchers`.
"""

import ast
from collections.abc import Collection, Iterable, Mapping

MAKERS = {"empty", "empty_like", "new_empty", "zeros", "zeros_like", "new_zeros", "full", "full_like", "new_full"}
"""Functions and methods that allocate."""
KIND_ONLY = MAKERS | {"dtype", "device"}
"""What is asked of a tensor only to make another one like it."""
_OF_TENSORS = {"shape", "dtype", "device"}
_VIEWS = {"contiguous", "transpose", "permute", "reshape", "view", "unsqueeze", "squeeze", "expand", "flatten", "chunk"}

Atoms = dict[str, set[str]]
"""By an atom's text what is asked of it: attributes, methods, `number` where it is passed as it is."""


def read_by(nodes: Iterable[ast.AST], left_alone: Collection[str]) -> Atoms:
    """The atoms that statements read, but for those that begin with one of these names."""
    visitor = _Visitor(left_alone)
    for node in nodes:
        visitor.visit(node)
    return visitor.found


class _Visitor(ast.NodeVisitor):
    def __init__(self, left_alone: Collection[str]) -> None:
        self._left_alone = left_alone
        self.found: Atoms = {}

    def visit(self, node: ast.AST) -> None:
        """Note the atom that a node is, or look into it."""
        atom, asked = _atom(node)
        if atom is None or _root(atom) in self._left_alone:
            self.generic_visit(node)
            return
        self.found.setdefault(ast.unparse(atom), set()).add(asked)
        if isinstance(node, ast.Call):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                self.visit(argument)


def _atom(node: ast.AST) -> tuple[ast.expr | None, str]:
    """The tensor or number that an expression begins with, and what it asks of it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _plain(node.func.value):
        return _split(node.func.value) or (node.func.value, node.func.attr)
    if isinstance(node, ast.expr) and _plain(node) and isinstance(getattr(node, "ctx", None), ast.Load):
        return _split(node) or (node, "number")
    return None, ""


def _plain(node: ast.AST) -> bool:
    """A name, or attributes and items of one."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, (ast.Constant, ast.UnaryOp)) and _plain(node.value)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _plain(node.value))


def _split(node: ast.expr) -> tuple[ast.expr, str] | None:
    """The tensor of `tensor.shape[0]` and the word behind it; None where the whole is the tensor or the number."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS:
            return node.value, node.attr
        node = node.value
    return None


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def stem(atom: str) -> str:
    """A name for an atom: the last of its text, items left out."""
    node = ast.parse(atom, mode="eval").body
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else _root(node)


class Rename(ast.NodeTransformer):
    """Puts other names in the place of atoms, by their text."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        """The node, renamed if it is one of these."""
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and (new := self._names.get(ast.unparse(node))):
            return ast.Name(new, ctx=node.ctx)
        return self.generic_visit(node)


class Kinds:
    """Whose dtype each variable has, as far as allocations and views tell."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def note(self, statement: ast.stmt) -> None:
        """Take in an assignment; others are of no account."""
        if not isinstance(statement, ast.Assign):
            return
        for target in statement.targets:
            for name in (leaf.id for leaf in ast.walk(target) if isinstance(leaf, ast.Name)):
                value = _assigned(target, statement.value, name)
                given = self._given(value) if value is not None else None
                self._known[name] = given or f"{name} since line {statement.lineno}"

    def of(self, spelled: str) -> str:
        """The same for two tensors only if they have one dtype."""
        return self._known.get(spelled, spelled)

    def _given(self, value: ast.expr) -> str | None:
        """The kind of what an expression makes; None where it is its own."""
        if isinstance(value, ast.Subscript):
            return self.of(ast.unparse(value.value))
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return None
        dtype = next((keyword.value for keyword in value.keywords if keyword.arg == "dtype"), None)
        method, base = value.func.attr, ast.unparse(value.func.value)
        if dtype is not None:
            if isinstance(dtype, ast.Attribute) and dtype.attr == "dtype":
                return self.of(ast.unparse(dtype.value))
            return ast.unparse(dtype)
        if method in ("empty_like", "zeros_like", "full_like"):
            return self.of(ast.unparse(value.args[0]))
        return self.of(base) if method in MAKERS | _VIEWS and base != "torch" else None


def _assigned(target: ast.expr, value: ast.expr, name: str) -> ast.expr | None:
    """What a name is set to, in `a = x` and in `a, b = x, y`."""
    if isinstance(target, ast.Name):
        return value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return next((own for one, own in pairs if isinstance(one, ast.Name) and one.id == name), None)
    return None
