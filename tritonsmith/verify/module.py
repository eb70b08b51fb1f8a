"""A candidate's source as the rules see it: its functions, classes and kernels, and what its names stand for."""

import ast
from collections.abc import Iterator

from tritonsmith.verify.names import canonical


class Module:
    """What a candidate defines, and what of it `forward` reaches."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.functions = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self.classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        self.kernels = {node.name for node in functions if any(map(_is_jit, node.decorator_list))}
        self.aliases = dict(_aliases(tree))
        for node in ast.walk(tree):
            if (name := renames(node)) and isinstance(node, ast.Assign) and (found := self.module(node.value)):
                self.aliases.setdefault(name, found)
        self.model = self.classes.get("ModelNew")

    def method(self, name: str) -> ast.FunctionDef | None:
        """A method of ModelNew."""
        body = self.model.body if self.model else []
        return next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == name), None)

    def reached(self) -> list[ast.AST]:
        """`forward` and everything of the module that it names, kernels left out."""
        return self._closure(self.method("forward"))

    def used(self) -> list[ast.AST]:
        """ModelNew and everything of the module that it names, kernels left out."""
        return self._closure(self.model)

    def _closure(self, start: ast.AST | None) -> list[ast.AST]:
        waiting: list[ast.AST] = [start] if start else []
        seen: list[ast.AST] = []
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.append(node)
            waiting.extend(self._named(node))
        return seen

    def _named(self, node: ast.AST) -> Iterator[ast.AST]:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in self.kernels:
                found = self.functions.get(part.id) or self.classes.get(part.id)
                if found is not None and part.id != "ModelNew":
                    yield found
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
                method = self.method(part.attr)
                if method is not None:
                    yield method

    def path(self, node: ast.expr) -> str | None:
        """`torch.nn.functional.relu` for `F.relu`, None for what is no dotted name."""
        parts: list[str] = []
        while (taken := step(node)) is not None:
            node, name = taken
            parts.append(name)
        if not isinstance(node, ast.Name):
            return None
        return canonical(".".join([self.aliases.get(node.id, node.id), *reversed(parts)]))[0]

    def module(self, node: ast.expr) -> str | None:
        """The module that a dotted name is, None for anything else."""
        path = self.path(node)
        return path if path and canonical(path)[1] else None


def renames(node: ast.AST) -> str | None:
    """The name on the left of `name = ...`."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else None


def calls(node: ast.AST, *names: str) -> bool:
    """Whether the node is a call of one of these plain names."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def step(node: ast.expr) -> tuple[ast.expr, str] | None:
    """`(x, "name")` for `x.name` and for `getattr(x, "name")`."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    if isinstance(node, ast.Call) and calls(node, "getattr"):
        name = node.args[1] if len(node.args) > 1 else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and name.value.isidentifier():
            return node.args[0], name.value
    return None


def _is_jit(decorator: ast.expr) -> bool:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(node, ast.Attribute) and node.attr == "jit") or (isinstance(node, ast.Name) and node.id == "jit")


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield (name.asname or name.name.split(".")[0], name.name if name.asname else name.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield name.asname or name.name, f"{node.module}.{name.name}"
