"""KernelBook's modules as tasks: `kernelbook:WHERE[:N]`, WHERE a hub id (`GPUMODE/KernelBook`), a clone, or a file.

A row's `python_code` is a module under its own name (`entry_point`), with `get_init_inputs` that gives positional and
keyword arguments apart and, for some, a mocked configuration object. Here the module becomes `Model`, the arguments
positional, and a configuration plain arguments that the constructor gathers again, so that sizes can be scaled.
Rows for which that does not work are skipped, with the reason.

Runs nothing. The Triton half of a row, Inductor's code of another time, is `data.kernelbook`'s matter.
"""

import ast
from collections.abc import Iterator

from tritonsmith.tasks import hub
from tritonsmith.tasks.format import TaskError
from tritonsmith.tasks.hub import Row, Skipped
from tritonsmith.types import Task

_MOCK = "_mock_config"
"""What `_paritybench_helpers` calls a configuration object made of keyword arguments."""

_ODD_MOCK = "a configuration object that is no plain argument"


def load(rest: str) -> list[Task]:
    """The first N tasks, or all. Raises TaskError where there are none."""
    where, _, count = rest.partition(":")
    if count and not (count.isdigit() and int(count)):
        raise TaskError(f"kernelbook:{rest}: {count} is no number of tasks")
    found = convert(where)
    if not count:
        return hub.tasks(f"kernelbook:{rest}", found)
    return hub.tasks(f"kernelbook:{rest}", _until(found, int(count)))


def convert(where: str) -> Iterator[Task | Skipped]:
    """Every row as a task, or why it is none."""
    if not where:
        raise TaskError("kernelbook: name a data set: a file, a folder or a hub id")
    for place, row in enumerate(hub.rows(where)):
        if isinstance(row, Skipped):
            yield row
            continue
        try:
            yield task_of(row, place)
        except TaskError as error:
            yield Skipped(f"{place}_{row.get('entry_point')}", str(error))


def task_of(row: Row, place: int) -> Task:
    """The task of a row, named by its `uuid` or else its place; raises TaskError, in a few words, where it is none."""
    source, entry = hub.text(row, "python_code"), hub.text(row, "entry_point")
    known = hub.number(row, "uuid")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise TaskError("python_code is no Python") from error
    module = _Module(tree, entry)
    module.rename()
    module.make_positional()
    return Task(
        id=f"kernelbook/{place if known is None else known}_{entry}",
        level=module.level(),
        source=ast.unparse(tree) + "\n",
    )


def _until(found: Iterator[Task | Skipped], count: int) -> Iterator[Task | Skipped]:
    kept = 0
    while kept < count and (one := next(found, None)) is not None:
        kept += isinstance(one, Task)
        yield one


class _Module:
    """The syntax tree of a row, changed in place."""

    def __init__(self, tree: ast.Module, entry: str) -> None:
        self.tree = tree
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        if entry not in self.classes:
            raise TaskError("no class of the entry point's name")
        for name in ("get_inputs", "get_init_inputs"):
            if name not in self.functions:
                raise TaskError(f"no {name}")
        self.entry, self.model = entry, self.classes[entry]
        tree.body[:] = [node for node in tree.body if not _helpers(node)]

    def rename(self) -> None:
        """Call the entry point `Model`, and what has that name already `InnerModel`."""
        names = {self.entry: "Model"}
        if self.entry != "Model" and any(_named(node, "Model") for node in ast.walk(self.tree)):
            names["Model"] = "InnerModel"
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
            elif isinstance(node, ast.ClassDef):
                node.name = names.get(node.name, node.name)

    def make_positional(self) -> None:
        """Let `get_init_inputs` give what the constructor takes, in its order, as KernelBench has it."""
        arguments, keywords = self._given()
        if arguments is None:
            if any(_named(node, _MOCK) for node in ast.walk(self.tree)):
                raise TaskError(_ODD_MOCK)
            return  # KernelBench's own form
        constructor = self._constructor()
        if constructor is None:
            if arguments or keywords:
                raise TaskError("arguments for a constructor that is not in the class")
            self._give([])
            return
        values = _bound(constructor, arguments, keywords)
        self._unmock(constructor, values)
        self._give(list(values.values()))
        if any(_named(node, _MOCK) for node in ast.walk(self.tree)):
            raise TaskError(_ODD_MOCK)

    def _given(self) -> tuple[list[ast.expr] | None, dict[str, ast.expr]]:
        """What `get_init_inputs` returns as `[[...], {...}]`; None where it returns something else."""
        last = self.functions["get_init_inputs"].body[-1]
        value = last.value if isinstance(last, ast.Return) else None
        if not (isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 2):
            return None, {}
        positional, named = value.elts
        if not (isinstance(positional, ast.List | ast.Tuple) and isinstance(named, ast.Dict)):
            return None, {}
        keywords: dict[str, ast.expr] = {}
        for key, item in zip(named.keys, named.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                raise TaskError("get_init_inputs with names that are computed")
            keywords[key.value] = item
        return list(positional.elts), keywords

    def _constructor(self) -> ast.FunctionDef | None:
        """The `__init__` of the class, or of the class in the same file that it inherits it from."""
        known, one = set(), self.model
        while one.name not in known:
            known.add(one.name)
            for node in one.body:
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    return node
            bases = [self._class(base.id) for base in one.bases if isinstance(base, ast.Name)]
            one = next((base for base in bases if base is not None), one)
        return None

    def _class(self, name: str) -> ast.ClassDef | None:
        return next((one for one in self.classes.values() if one.name == name), None)

    def _give(self, values: list[ast.expr]) -> None:
        self.functions["get_init_inputs"].body[-1] = ast.Return(ast.List(values, ast.Load()))

    def _unmock(self, constructor: ast.FunctionDef, values: dict[str, ast.expr]) -> None:
        """Put the fields of a configuration in the place of it, and gather them again in the constructor."""
        mocks = {name: value for name, value in values.items() if isinstance(value, ast.Call) and _is_mock(value)}
        if not mocks:
            return
        if len(mocks) > 1 or constructor not in self.model.body:
            raise TaskError("more than one configuration object" if len(mocks) > 1 else "an inherited configuration")
        ((name, call),) = mocks.items()
        fields = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        if len(fields) < len(call.keywords) or call.args or fields.keys() & values.keys() or "Config" in self.classes:
            raise TaskError(_ODD_MOCK)
        values_beside = {key: value for key, value in values.items() if key != name}
        values.clear()
        values.update(fields | values_beside)
        _replace(constructor, name, list(fields))
        own = "".join(f"        self.{field} = {field}\n" for field in fields) or "        pass\n"
        made = ast.parse(f"class Config:\n    def __init__({', '.join(['self', *fields])}):\n{own}").body
        place = self.tree.body.index(self.model)
        self.tree.body[place:place] = made

    def level(self) -> int:
        """1 for one call or operator in forward, 2 up to eight, 3 beyond: an estimate, for nothing is run."""
        forward = next((n for n in self.model.body if isinstance(n, ast.FunctionDef) and n.name == "forward"), None)
        steps = sum(isinstance(node, ast.Call | ast.BinOp) for node in ast.walk(forward)) if forward else 2
        return 1 if steps <= 1 else 2 if steps <= 8 else 3


def _bound(constructor: ast.FunctionDef, given: list[ast.expr], keywords: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """The constructor's arguments by name, up to the last one that is given; defaults fill the gaps."""
    own = constructor.args
    names = [argument.arg for argument in [*own.posonlyargs, *own.args]][1:]
    defaults = dict(zip(reversed(names), reversed(own.defaults), strict=False))
    if len(given) > len(names):
        raise TaskError("more arguments than the constructor names")
    values = dict(zip(names, given, strict=False))
    for name, value in keywords.items():
        if name not in names or name in values:
            raise TaskError("an argument that the constructor does not name")
        values[name] = value
    last = max((names.index(name) for name in values), default=-1)
    for name in names[: last + 1]:
        if name not in values and name not in defaults:
            raise TaskError("a constructor's argument is missing")
    if any(name not in values and name not in defaults for name in names):
        raise TaskError("a constructor's argument is missing")
    return {name: values.get(name, defaults.get(name, ast.Constant(None))) for name in names[: last + 1]}


def _replace(constructor: ast.FunctionDef, config: str, fields: list[str]) -> None:
    """Let the constructor take the fields instead of the configuration, and make it from them."""
    own = constructor.args
    names = [*own.posonlyargs, *own.args]
    defaults = {argument.arg: value for argument, value in zip(reversed(names), reversed(own.defaults), strict=False)}
    rest = [argument for argument in names[1:] if argument.arg != config]
    own.posonlyargs = []
    own.args = [names[0], *(ast.arg(field) for field in fields), *rest]
    own.defaults = [defaults[argument.arg] for argument in rest if argument.arg in defaults]
    described = ast.get_docstring(constructor) is not None
    constructor.body[described:described] = ast.parse(f"{config} = Config({', '.join(fields)})").body


def _helpers(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "_paritybench_helpers"


def _is_mock(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == _MOCK


def _named(node: ast.AST, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.ClassDef) and node.name == name)
