"""Calls of torch's layers that a source shows: `self.fc = nn.Linear(...)`, and somewhere in `forward` `self.fc(x)`.

In a branch that no input here leads to the dynamic net sees none of it. Layers that only hold their weights for a
kernel are welcome, and so are those that move values or do nothing. Does not follow a layer through tables, loops and
other names.
"""

import ast
from collections.abc import Collection, Iterable, Iterator

from tritonsmith.source import walk
from tritonsmith.verify.static.module import Module, step
from tritonsmith.verify.static.taken import taken

_LAYERS = "torch.nn."
_CONTAINERS = {"Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Module"}
_IDLE = {"Identity", "Flatten", "Unflatten", "Parameter", "Buffer", "UninitializedParameter"}
_IDLE_KINDS = "Dropout", "Pad"
"""Of `torch.nn`: what computes nothing where the dynamic net lets it pass, and words in the names of more of it."""


def layer_calls(module: Module) -> Iterator[tuple[str, int]]:
    """The path of each layer that is called, and the line: by ModelNew, and by the classes that it is made of."""
    reached = {id(node) for node in module.reached()}
    line = list(module.line())
    for owner in (node for node in module.used() if isinstance(node, ast.ClassDef)):
        # What ModelNew inherits runs where `forward` reaches it; another class is called as a layer.
        held = _held(module, line if owner in line else [owner])
        for method in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
            if id(method) in reached or (method.name == "forward" and owner not in line):
                yield from _called(method, held, module.made)


def _held(module: Module, owners: Iterable[ast.ClassDef]) -> dict[str, str]:
    """What attributes of `self` hold a layer that computes, and nothing else at any time: its path, by name."""
    found: dict[str, set[str]] = {}
    for node in (part for owner in owners for part in walk(owner)):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if name := _of_self(target):
                    found.setdefault(name, set()).add(_layer(module, node.value))
    return {name: min(kinds) for name, kinds in found.items() if "" not in kinds}


def _of_self(node: ast.expr) -> str:
    """`fc` for `self.fc`; empty for anything else."""
    owner, name = step(node) or (node, "")
    return name if isinstance(owner, ast.Name) and owner.id == "self" else ""


def _layer(module: Module, value: ast.expr) -> str:
    """The path of the layer that a value is, of a container that of its first one; empty for anything else."""
    path = (module.path(value.func) if isinstance(value, ast.Call) else None) or ""
    kind = path.removeprefix(_LAYERS)
    if path == kind or "." in kind or not kind[:1].isupper():
        return ""
    if kind in _IDLE or any(word in kind for word in _IDLE_KINDS):
        return ""
    if kind not in _CONTAINERS:
        return path
    inside = (_layer(module, part) for part in walk(value) if isinstance(part, ast.Call) and part is not value)
    return next(filter(None, inside), "")


def _called(method: ast.FunctionDef, held: dict[str, str], made: Collection[str]) -> Iterator[tuple[str, int]]:
    for node in taken(method, made):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr == "forward":
                called = called.value
            while isinstance(called, ast.Subscript):
                called = called.value
            if path := held.get(_of_self(called)):
                yield path, node.lineno
