"""A candidate's source as the rules see it: its functions, classes and kernels, and what its names stand for."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from tritonsmith.source import walk
from tritonsmith.verify.static.names import COMMON_WORDS, READABLE, canonical, star
from tritonsmith.verify.static.taken import made_here

JIT = "triton.jit"
"""What makes a function a kernel, under whatever name a file has it that binds that name once."""


class Module:
    """What a candidate defines, and what of it `forward` reaches."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        body = list(statements(tree.body))
        self.functions = {n.name: n for n in body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self.classes = {n.name: n for n in body if isinstance(n, ast.ClassDef)}
        classes = (node for node in walk(tree) if isinstance(node, ast.ClassDef))
        self.members = {id(one) for node in classes for one in statements(node.body)}
        """Statements of classes' bodies, by identity: what they bind are attributes."""
        self.values: dict[str, list[ast.expr]] = {}
        """What the module's own names are set to: `relu = Relu.apply`, `fast = partial(launch, block=512)`."""
        for name, value in (pair for node in body for pair in _bound(node)):
            self.values.setdefault(name, []).append(value)
        self.aliases = dict(_aliases(tree))
        for node in walk(tree):
            if (name := renames(node)) and isinstance(node, ast.Assign) and (found := self._renamed(node.value)):
                self.aliases.setdefault(name, found)
        bound = Counter(name for part in walk(tree) for name in binds(part)) if JIT in self.aliases.values() else {}
        self._jits = {"jit", *(name for name, path in self.aliases.items() if path == JIT and bound[name] == 1)}
        functions = [node for node in walk(tree) if isinstance(node, ast.FunctionDef)]
        called = {name: [f for value in made for f in self._called(value)] for name, made in self.values.items()}
        inside = {f.id for made in called.values() for f in made if isinstance(f, ast.Name)}
        marked = [node for node in functions if any(map(self._is_jit, node.decorator_list))]
        self.bodies = [node for node in functions if node in marked or node.name in inside]
        """What is compiled for the GPU: kernels, and functions that they call."""
        self.kernels = {node.name for node in marked} | {name for name, made in called.items() if made}
        self.model = self._class("ModelNew")

    @cached_property
    def made(self) -> frozenset[str]:
        """What it makes for itself and is no weight; see `taken.made_here`."""
        return made_here(self.tree)

    def method(self, name: str) -> ast.AST | None:
        """A method of ModelNew or, where it has none of this name, of the classes of this module that it inherits."""
        for node in (node for owner in self.line() for node in owner.body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                return node
            if value := dict(_bound(node)).get(name):
                return self.functions.get(value.id, value) if isinstance(value, ast.Name) else value
        return None

    def line(self) -> Iterator[ast.ClassDef]:
        """ModelNew and the classes of this module that it inherits from, the nearest first."""
        waiting, seen = [self.model], set()
        while waiting:
            owner = waiting.pop(0)
            if owner is not None and owner.name not in seen:
                seen.add(owner.name)
                yield owner
                bases = (base.value if isinstance(base, ast.Subscript) else base for base in owner.bases)
                waiting += [self._class(base.id) for base in bases if isinstance(base, ast.Name)]

    def _class(self, name: str) -> ast.ClassDef | None:
        """The class of that name, or the one that `name = Other` says it is."""
        seen: set[str] = set()
        while name not in self.classes and name not in seen:
            seen.add(name)
            name = next((value.id for value in self.values.get(name, ()) if isinstance(value, ast.Name)), name)
        return self.classes.get(name)

    def reached(self) -> list[ast.AST]:
        """`forward` and everything of the module that it names, kernels left out."""
        return self._closure(self.method("forward"))

    def used(self) -> list[ast.AST]:
        """ModelNew and everything of the module that it names or that registers itself, kernels left out."""
        return self._closure(self.model, *self._registered())

    def told(self) -> set[str]:
        """Names that statements of the module read, which may keep what they stand for anywhere."""
        kept = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
        parts = (part for node in self.tree.body if not isinstance(node, kept) for part in walk(node))
        return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}

    def _registered(self) -> Iterator[ast.AST]:
        """Functions and classes that a decorator of this module is given, which may keep them in a table."""
        for node in (*self.functions.values(), *self.classes.values()):
            parts = (part for one in node.decorator_list for part in walk(one) if isinstance(part, ast.Name))
            if any(part.id in self.functions or part.id in self.classes or part.id in self.values for part in parts):
                yield node

    def _closure(self, *start: ast.AST | None) -> list[ast.AST]:
        waiting: list[ast.AST] = [node for node in start if node is not None]
        seen: dict[int, ast.AST] = {}
        while waiting:
            node = waiting.pop()
            if id(node) not in seen:
                seen[id(node)] = node
                waiting.extend(self._named(node))
        return list(seen.values())

    def _named(self, node: ast.AST) -> Iterator[ast.AST]:
        for part in walk(node):
            if isinstance(part, ast.Name):
                found = self.functions.get(part.id) or self.classes.get(part.id)
                if found is not None and found is not self.model and part.id not in self.kernels:
                    yield found
                yield from self.values.get(part.id, ())
                if part.id in self.kernels and found is not None:  # what tunes a kernel is no kernel
                    yield from getattr(found, "decorator_list", ())
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
        if not isinstance(node, ast.Name) or (node.id in COMMON_WORDS and node.id not in self.aliases):
            return None
        return canonical(".".join([self.aliases.get(node.id, node.id), *reversed(parts)]))[0]

    def _renamed(self, node: ast.expr) -> str | None:
        return JIT if self.path(node) == JIT else self.module(node)

    def _is_jit(self, decorator: ast.expr) -> bool:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        named = isinstance(node, ast.Name) and node.id in self._jits
        return named or (isinstance(node, ast.Attribute) and node.attr == "jit")

    def _called(self, value: ast.expr) -> list[ast.expr]:
        """What a value is made of by `triton.jit(function)`, which people write in place of the decorator."""
        parts = (part for part in walk(value) if isinstance(part, ast.Call) and self._is_jit(part.func))
        return [part.args[0] for part in parts if part.args]

    def module(self, node: ast.expr) -> str | None:
        """The module that a dotted name is, None for anything else."""
        path = self.path(node)
        return path if path and path not in READABLE and canonical(path)[1] else None


def without_dead_code(tree: ast.Module) -> ast.Module:
    """The module without what cannot run here, changed in place: its main block, and the bodies of functions that
    nothing names.

    People leave their benchmarks and checks in the file. A candidate is not `__main__`, and has no way to a function
    but its name: `globals`, `eval` and the like are refused.
    """
    bound = {name for part in ast.walk(tree) for name in binds(part)}
    if "__name__" not in bound:
        tree.body = [node for node in tree.body if not _is_main_block(node)]
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and _waits(n, tree)}
    waiting: list[ast.AST] = [node for node in tree.body if node not in functions.values()]
    # Defaults, annotations and decorators are evaluated where the function is defined.
    waiting += [part for node in functions.values() for part in (node.args, node.returns) if part is not None]
    waiting += [part for node in functions.values() for part in node.decorator_list]
    while waiting:
        for part in ast.walk(waiting.pop()):
            name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
            if (found := functions.pop(name, None)) is not None:
                waiting.append(found)
    for node in functions.values():
        node.body = [ast.copy_location(ast.Pass(), node)]
    return tree


def _waits(node: ast.FunctionDef, tree: ast.Module) -> bool:
    """Whether a function runs only where something names it: it has no decorator, but for Triton's for benchmarks."""
    marks = [one.func for one in node.decorator_list if isinstance(one, ast.Call)]
    if len(marks) < len(node.decorator_list):
        return False
    if not all(ast.unparse(mark) == "triton.testing.perf_report" for mark in marks):
        return False
    itself = {id(name) for part in ast.walk(tree) if isinstance(part, ast.Import) for name in part.names}
    return not marks or not any(
        "triton" in binds(part)
        and not (isinstance(part, ast.alias) and id(part) in itself and part.name.split(".")[0] == "triton")
        for part in ast.walk(tree)
    )


def binds(node: ast.AST) -> Iterator[str]:
    """The names that a node binds by itself, whatever it is: an assignment's target, an import, a pattern's part."""
    if isinstance(node, ast.Name):
        yield from () if isinstance(node.ctx, ast.Load) else (node.id,)
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.split(".")[0]
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
    else:
        parts = (getattr(node, field, None) for field in ("name", "rest", "arg"))
        yield from (part for part in parts if isinstance(part, str) and not isinstance(node, ast.keyword))


def _is_main_block(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":` with nothing that runs otherwise."""
    test = node.test if isinstance(node, ast.If) and not node.orelse else None
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
        and [type(operator) for operator in test.ops] == [ast.Eq]
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == "__main__"
    )


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


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is loaded, those under `if`, `try`, `with` and loops among them."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from statements(getattr(node, part, ()))
        for handler in getattr(node, "handlers", ()):
            yield from statements(handler.body)


def _bound(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for name in walk(target):
                if isinstance(name, ast.Name):
                    yield name.id, node.value


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield (name.asname or name.name.split(".")[0], name.name if name.asname else name.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                if name.name == "*" and node.module and not node.level:
                    yield from ((one, f"{node.module}.{one}") for one in star(node.module))
                yield name.asname or name.name, f"{node.module}.{name.name}"
