"""A task in one form, whoever wrote it: what a compiler's front end would hand on.

Docstrings, comments, annotations and initialisers go; torch's modules have their usual names, arguments and local
variables names by position; inputs are told by shape and dtype alone; members that are but settings (`self.dim`) are
the values that they have. A small model then need not know how strangers write what it never has to repeat. The
computation, the constructor's signature by position and the names of all other members stay, so that a candidate for
the canonical task is one for the task itself, which it is judged on.

Other members, other classes, and which of several spellings an operator has stay as they were written.
"""

import ast
import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch

from tritonsmith.plain import plain
from tritonsmith.source import parse
from tritonsmith.tasks.format import TaskModule
from tritonsmith.types import Task

MODULES = {"torch.nn.functional": "F", "torch.nn": "nn", "torch": "torch"}
"""Torch's modules by the names that they have here, the longest first."""
INPUTS = ("x", "y", "z")
"""Names of the first arguments of `forward`; those behind them are x4, x5, ..."""

SETTING = range(-8, 5)
"""Integers that may be written out: those that a task has at each of its sizes (`scaling`, `variants`)."""

_HEADS = {"torch": "import torch", "nn": "import torch.nn as nn", "F": "import torch.nn.functional as F"}
_Names = Callable[[int], str]
"""The name at a position, from 1."""
_UNTOLD = ast.Global, ast.Nonlocal, ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.ExceptHandler
"""What binds names that are no nodes of their own."""


def canonical(task: Task) -> Task:
    """The task with its source in that form; only made plain where it does not run or is written too strangely."""
    text = plain(task.source)
    if (drawn := _drawn(task)) is not None:
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            text = _rewritten(text, *drawn)
    return task.model_copy(update={"source": text})


def _drawn(task: Task) -> tuple[list[object], list[object]] | None:
    """The inputs, without data, and the constructor's arguments; None where the task does not give them."""
    try:
        module = TaskModule.of(task)
        return module.inputs(0, "meta"), module.init_inputs()
    except Exception:  # the task's own code runs here, and may raise anything
        return None


def _rewritten(text: str, inputs: Sequence[object], arguments: Sequence[object]) -> str:
    """The source in canonical form; raises ValueError where it is written too strangely."""
    tree = _Modules.standard(parse(text))
    model = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"), None)
    methods = {line.name: line for line in (model.body if model else []) if isinstance(line, ast.FunctionDef)}
    if (forward := methods.get("forward")) is None:
        raise ValueError("no class Model with a forward of its own")
    if (constructor := methods.get("__init__")) is not None:
        constructor.body = [line for line in constructor.body if not _initialises(line)] or [ast.Pass()]
        assert model is not None
        _write_out(model, constructor, arguments)
        _rename(constructor, "p{}".format, "c{}".format)
    _rename(forward, lambda at: INPUTS[at - 1] if at <= len(INPUTS) else f"x{at}", "v{}".format)
    told = {"get_inputs": _told(inputs, forward), "get_init_inputs": [f"return {_literal(list(arguments))}"]}
    return ast.unparse(ast.fix_missing_locations(_needed(_given(tree, told))))


class _Modules(ast.NodeTransformer):
    """Calls torch's modules by their usual names, and puts their imports first."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths
        """What each imported name stands for, as in `torch.nn.Linear`."""
        self.used: set[str] = set()

    @classmethod
    def standard(cls, tree: ast.Module) -> ast.Module:
        """The module so written."""
        paths, rest = {}, []
        for line in tree.body:
            found = dict(_imported(line))
            paths |= found
            if not found:
                rest.append(line)
        visitor = cls(paths)
        rest = [visitor.visit(line) for line in rest]
        heads = [line for name, line in _HEADS.items() if name in visitor.used]
        return ast.Module([*parse("\n".join(heads)).body, *rest], tree.type_ignores)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._paths and not isinstance(node.ctx, ast.Load):
            raise ValueError(f"{node.id} is torch's here and something else there")
        return self._named(self._paths[node.id]) if node.id in self._paths else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        path = _path(node)
        if path is None or path[0] not in self._paths:
            return self.generic_visit(node)
        return self._named(".".join([self._paths[path[0]], *path[1:]]))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`super(Model, self)` needs no arguments."""
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            node.args = []
        return self.generic_visit(node)

    def _named(self, path: str) -> ast.expr:
        for module, name in MODULES.items():
            if path == module or path.startswith(f"{module}."):
                self.used.add(name)
                return ast.parse(name + path[len(module) :], mode="eval").body
        raise ValueError(f"{path} is none of torch")


def _imported(line: ast.stmt) -> Iterator[tuple[str, str]]:
    """The names that a line binds to what is torch's, and what they stand for; none if it imports anything else."""
    if isinstance(line, ast.Import) and all(alias.name in MODULES for alias in line.names):
        for alias in line.names:
            yield (alias.asname, alias.name) if alias.asname else ("torch", "torch")
    elif isinstance(line, ast.ImportFrom) and line.module in MODULES and all(a.name != "*" for a in line.names):
        for alias in line.names:
            yield alias.asname or alias.name, f"{line.module}.{alias.name}"


def _path(node: ast.expr) -> list[str] | None:
    """The names of a dotted expression; None for another."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (before := _path(node.value)) is not None:
        return [*before, node.attr]
    return None


def _initialises(line: ast.stmt) -> bool:
    """Whether a line of a constructor only gives weights other values, which a candidate is given anyway."""
    if isinstance(line, ast.With):
        return all(map(_initialises, line.body))
    if not isinstance(line, ast.Expr) or not isinstance(line.value, ast.Call):
        return False
    call = line.value
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if not name.endswith("_") or name.endswith("__"):
        return False
    path = _path(call.func) or []
    return path[:2] == ["nn", "init"] or path[:1] == ["self"]


def _write_out(model: ast.ClassDef, constructor: ast.FunctionDef, arguments: Sequence[object]) -> None:
    """Put values in the place of members that are settings; a member that is told twice stays.

    The constructor keeps them, for its arguments are still given.
    """
    given = _values(constructor, arguments)
    found: dict[str, object] = {}
    for line in constructor.body:
        target = line.targets[0] if isinstance(line, ast.Assign) and len(line.targets) == 1 else None
        path = _path(target) if target is not None else None
        if isinstance(line, ast.Assign) and path is not None and path[0] == "self" and len(path) == 2:
            with contextlib.suppress(ValueError, KeyError):
                value = line.value
                told = given[value.id] if isinstance(value, ast.Name) else ast.literal_eval(value)
                if _is_setting(told):
                    found[path[1]] = told
    stored = [node.attr for node in ast.walk(model) if isinstance(node, ast.Attribute) and not _is_load(node)]
    _Settings({name: told for name, told in found.items() if stored.count(name) == 1}).visit(model)


def _values(constructor: ast.FunctionDef, arguments: Sequence[object]) -> dict[str, object]:
    """What the constructor's arguments are: what the task gives, else their defaults, if these are literals."""
    names = [one.arg for one in (*constructor.args.posonlyargs, *constructor.args.args)][1:]
    known: dict[str, object] = {}
    for name, default in zip(reversed(names), reversed(constructor.args.defaults), strict=False):
        with contextlib.suppress(ValueError):
            known[name] = ast.literal_eval(default)
    bound = {node.id for node in ast.walk(constructor) if isinstance(node, ast.Name) and not _is_load(node)}
    return {
        name: value for name, value in (known | dict(zip(names, arguments, strict=False))).items() if name not in bound
    }


def _is_setting(value: object) -> bool:
    """Whether a value says how something is computed, whatever its sizes are."""
    if isinstance(value, tuple):
        return all(map(_is_setting, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return value in SETTING
    return isinstance(value, (bool, str, type(None))) or (isinstance(value, float) and math.isfinite(value))


def _is_load(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


class _Settings(ast.NodeTransformer):
    """Writes the values of members."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        own = isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in self._values
        own = own and _is_load(node)
        return ast.parse(repr(self._values[node.attr]), mode="eval").body if own else self.generic_visit(node)


def _rename(method: ast.FunctionDef, argument: _Names, variable: _Names) -> None:
    """Give a method's arguments and local variables names by their position, in place."""
    nodes = list(ast.walk(method))
    if any(isinstance(node, _UNTOLD) for node in nodes):
        raise ValueError("names that cannot be told apart")
    given = [one.arg for one in (*method.args.posonlyargs, *method.args.args)][1:]
    stored = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    stored.sort(key=lambda node: (node.lineno, node.col_offset))
    local = [name for name in dict.fromkeys(node.id for node in stored) if name not in given]
    own = {*given, *local}
    others = {node.id for node in nodes if isinstance(node, ast.Name)} - own
    others |= {node.arg for node in nodes if isinstance(node, ast.arg)} - own
    new: dict[str, str] = {}
    for names, call in ((given, argument), (local, variable)):
        at = 0
        for name in names:
            at += 1
            while call(at) in others:
                at += 1
            new[name] = call(at)
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)


def _told(inputs: Sequence[object], forward: ast.FunctionDef) -> list[str]:
    """The body of a `get_inputs` that draws tensors of the same shapes and dtypes, and nothing else of them."""
    names = [one.arg for one in forward.args.args][1:]
    if len(names) < len(inputs):
        raise ValueError("inputs that have no names")
    lines = [f"{name} = {_expression(value)}" for name, value in zip(names, inputs, strict=False)]
    return [*lines, f"return [{', '.join(names[: len(inputs)])}]"]


def _expression(value: object) -> str:
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_expression, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if not isinstance(value, torch.Tensor):
        return _literal(value)
    if not value.is_contiguous() or value.is_complex() or value.is_quantized:
        raise ValueError("a tensor that shape and dtype do not tell")
    shape = ", ".join(map(str, value.shape))
    if value.dtype == torch.bool:
        return f"torch.randint(0, 2, ({shape},)).bool()"
    if not value.is_floating_point():
        dtype = "" if value.dtype == torch.int64 else f", dtype={value.dtype}"
        return f"torch.randint(0, 2, ({shape},){dtype})"
    dtype = "" if value.dtype == torch.float32 else f", dtype={value.dtype}"
    return f"torch.rand({shape or '()'}{dtype})"


def _literal(value: object) -> str:
    text = repr(value)
    if ast.literal_eval(text) != value:
        raise ValueError(f"{text} does not stand for what it is")
    return text


def _given(tree: ast.Module, bodies: Mapping[str, Sequence[str]]) -> ast.Module:
    """The module with new bodies for its functions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in bodies:
            node.body = parse("\n".join(bodies[node.name])).body
    return tree


def _needed(tree: ast.Module) -> ast.Module:
    """The module without constants and functions that nothing in it reads; classes and functions behind the rest."""
    while True:
        read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        kept = [line for line in tree.body if _is_read(line, read)]
        if len(kept) == len(tree.body):
            break
        tree.body = kept
    tree.body.sort(key=_place)
    return tree


def _is_read(line: ast.stmt, read: set[str]) -> bool:
    if isinstance(line, ast.FunctionDef):
        return line.name in read or line.name in ("get_inputs", "get_init_inputs")
    if isinstance(line, ast.Assign) and all(isinstance(target, (ast.Name, ast.Tuple)) for target in line.targets):
        bound = {node.id for target in line.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        return bool(bound & read)
    return True


def _place(line: ast.stmt) -> int:
    """Imports, then what classes may read, classes, and what draws."""
    if isinstance(line, (ast.Import, ast.ImportFrom)):
        return 0
    if isinstance(line, ast.FunctionDef) and line.name in ("get_inputs", "get_init_inputs"):
        return 2
    return 1
