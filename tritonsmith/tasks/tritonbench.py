"""TritonBench-T's operators as tasks: `tritonbench:PATH`, a checkout of thunlp/TritonBench or its `TritonBench_T_v1`.

A file there holds a PyTorch function, a line of `#`, and a test that calls it. Each call becomes a task: its tensors
are the inputs, its other arguments constants of `forward`, and numbers written out become random ones of their range,
where the function bears them. To find out which argument is what, the files are run, on the CPU.

Not covered, and skipped with the reason: TritonBench-G (its references are Triton, and say nothing of PyTorch), calls
inside of blocks (`for`, `with`), functions that draw random numbers, write into `out`, take or give complex numbers,
objects or callables, or need a GPU; the instructions and metrics of TritonBench itself. Inputs keep the tests' sizes,
which are tiny. Meta's TritonBench is another thing.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch

from tritonsmith.tasks import hub, traced
from tritonsmith.tasks.format import TaskError, TaskModule, forward, one_line, seeded
from tritonsmith.tasks.hub import Skipped
from tritonsmith.types import Task

_LINE = re.compile(r"^#{100,}\s*$", re.MULTILINE)


def load(rest: str) -> list[Task]:
    """The tasks of a folder, by file and call. Raises TaskError where there are none."""
    return hub.tasks(f"tritonbench:{rest}", convert(rest))


def convert(where: str) -> Iterator[Task | Skipped]:
    """Every call of every file as a task, or why it is none."""
    root = Path(where or "nowhere given")
    folders = (root / "data" / "TritonBench_T_v1", root / "TritonBench_T_v1", root)
    folder = next((path for path in folders if path.is_dir()), None)
    if folder is None and root.suffix != ".py":
        raise TaskError(f"tritonbench:{where}: give a checkout, its folder TritonBench_T_v1, or a .py file of it")
    for file in sorted(folder.glob("*.py")) if folder is not None else [root]:
        try:
            yield from _File.read(file).tasks()
        except TaskError as error:
            yield Skipped(file.stem, str(error))


@dataclass(frozen=True)
class _File:
    """One operator: what computes it, and what tests it."""

    name: str
    reference: ast.Module
    test: ast.FunctionDef
    before: list[ast.stmt]
    """What stands in front of the test, imports apart."""
    imports: list[str]

    @classmethod
    def read(cls, path: Path) -> "_File":
        """Take a file apart; raises TaskError for one that has another form."""
        try:
            parts = _LINE.split(path.read_text())
            trees = [cast(ast.Module, _NoDevice().visit(ast.parse(part))) for part in parts]
        except OSError as error:
            raise TaskError(f"cannot read it: {error.strerror}") from error
        except (SyntaxError, ValueError, RecursionError) as error:
            raise TaskError("no Python") from error
        if any(name.split(".")[0] == "triton" for tree in trees for name in _imported(tree)):
            raise TaskError("a Triton reference, as TritonBench-G has them, and no PyTorch one")
        if len(trees) != 2:
            raise TaskError("no test below a line of #")
        reference, testing = trees
        tests = [node for node in testing.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
        if len(tests) != 1:
            raise TaskError("not one test function")
        before: list[ast.stmt] = [
            node for node in testing.body if isinstance(node, ast.Assign) and tests[0].name not in _loads(node)
        ]
        imports = [ast.unparse(node) for tree in trees for node in tree.body if isinstance(node, _Imports)]
        reference.body = [node for node in reference.body if not isinstance(node, _Imports)]
        return cls(path.stem, reference, tests[0], before, list(dict.fromkeys(imports)))

    def tasks(self) -> Iterator[Task | Skipped]:
        """One for each call in the test."""
        names = {node.name for node in self.reference.body if isinstance(node, ast.FunctionDef)}
        statements = [*self.before, *self.test.body]
        place = 0
        for index, statement in enumerate(statements):
            calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and _called(node) in names]
            for call in calls:
                place += 1
                id = f"tritonbench/{self.name}_{place}"
                if not isinstance(statement, ast.Assign | ast.Expr):
                    yield Skipped(id, "a call inside of a block")
                    continue
                try:
                    yield self._task(id, call, _needed(statements[:index], _loads(call)))
                except TaskError as error:
                    yield Skipped(id, str(error))

    def _task(self, id: str, call: ast.Call, setting: list[ast.stmt]) -> Task:
        """The task of a call: with random inputs if the function bears them, else with those of the test."""
        given = self._arguments(call, setting)
        reason = TaskError("no inputs")
        for random in (True, False):
            task = Task(id=id, level=2, source=self._source(call, setting, given, random))
            try:
                _check(task)
            except TaskError as error:
                reason = error
                continue
            trace = traced.trace(task)
            return task.model_copy(update={"level": 1 if trace is not None and len(trace.operations) == 1 else 2})
        raise reason

    def _arguments(self, call: ast.Call, setting: list[ast.stmt]) -> dict[str, tuple[ast.expr, object]]:
        """What is given for each parameter, as it is written and as it is."""
        names = self._run([])
        function = cast(Callable[..., object], names[_called(call)])
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
            raise TaskError("a call with * or **")
        written = [*call.args, *(keyword.value for keyword in call.keywords)]
        kept = ast.Assign([ast.Name("given", ast.Store())], ast.List(written, ast.Load()))
        values = cast("list[object]", self._run([*setting, kept])["given"])
        keys = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        count = len(call.args)
        pairs = list(zip(written, values, strict=True))
        try:
            signature = inspect.signature(function)
            bound = signature.bind(*pairs[:count], **dict(zip(keys, pairs[count:], strict=True))).arguments
        except TypeError as error:
            raise TaskError("a call that does not fit the function") from error
        kinds = {parameter.kind for name, parameter in signature.parameters.items() if name in bound}
        if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
            raise TaskError("a function of any number of arguments")
        return bound

    def _run(self, statements: list[ast.stmt]) -> dict[str, object]:
        """Run imports, the reference and some statements; gives the names they define."""
        body = [*ast.parse("\n".join(self.imports)).body, *self.reference.body, *statements]
        tree = ast.fix_missing_locations(ast.Module(body, []))
        names: dict[str, object] = {"__name__": "tritonbench"}
        try:
            with seeded(0):
                exec(compile(tree, f"<{self.name}>", "exec"), names)
        except Exception as error:  # other people's code: whatever it raises is told
            raise TaskError(f"does not run on the CPU: {type(error).__name__}") from error
        return names

    def _source(
        self, call: ast.Call, setting: list[ast.stmt], given: Mapping[str, tuple[ast.expr, object]], random: bool
    ) -> str:
        inputs = {name: written for name, (written, value) in given.items() if _holds_tensor(value)}
        if "out" in inputs:
            raise TaskError("a call that writes into out")
        if not inputs:
            raise TaskError("a call without tensors")
        constants = {name: _constant(value) for name, (_, value) in given.items() if name not in inputs}
        arguments = [f"{name}={constants.get(name, name)}" for name in given]
        returned = ast.Return(ast.List(list(inputs.values()), ast.Load()))
        setting = _needed(setting, _loads(returned))
        body = ast.parse(ast.unparse(ast.fix_missing_locations(ast.Module([*setting, returned], []))))
        if random:
            body = ast.fix_missing_locations(_Random().visit(body))
        drawn = "\n".join(f"    {line}" for line in ast.unparse(body).splitlines())
        imports = dict.fromkeys(["import torch", *self.imports, "from torch import nn"])
        return (
            "\n".join(imports)
            + f"\n\n\n{ast.unparse(self.reference)}\n\n\n"
            + f'class Model(nn.Module):\n    """{self.name}, as TritonBench-T has it."""\n\n'
            + f"    def forward(self, {', '.join(inputs)}):\n"
            + f"        return {_called(call)}({', '.join(arguments)})\n\n\n"
            + f"def get_inputs():\n{drawn}\n\n\ndef get_init_inputs():\n    return []\n"
        )


_Imports = ast.Import | ast.ImportFrom


class _NoDevice(ast.NodeTransformer):
    """No device is named: where a task runs is the judge's matter."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.keywords = [one for one in node.keywords if one.arg != "device" or not _fixed(one.value)]
        if not isinstance(node.func, ast.Attribute):
            return node
        moved = node.func.attr in ("cuda", "cpu") and not node.args
        moved |= node.func.attr == "to" and len(node.args) == 1 and not node.keywords and _fixed(node.args[0])
        return node.func.value if moved else node


def _fixed(device: ast.expr) -> bool:
    """Whether it is a device by name, not that of a tensor."""
    named = isinstance(device, ast.Constant) and isinstance(device.value, str)
    made = isinstance(device, ast.Call) and ast.unparse(device.func) == "torch.device"
    return named or made or (isinstance(device, ast.Name) and device.id.lower() == "device")


class _Random(ast.NodeTransformer):
    """`torch.tensor` of numbers that are written out becomes a draw between the least and the greatest of them."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node.func) != "torch.tensor" or len(node.args) != 1:
            return node
        try:
            values = torch.tensor(ast.literal_eval(node.args[0]))
        except (ValueError, TypeError, SyntaxError, RuntimeError):
            return node
        if not values.numel() or values.dim() == 0 or values.is_complex():
            return node
        draw = ast.parse(_draw(values), mode="eval").body
        options = [keyword for keyword in node.keywords if keyword.arg == "dtype"]
        if not options:
            return draw
        return ast.Call(ast.Attribute(draw, "to", ast.Load()), [], options)


def _draw(values: torch.Tensor) -> str:
    shape = ", ".join(map(str, values.shape))
    if values.dtype == torch.bool:
        return f"(torch.rand({shape}) < 0.5)"
    least, most = values.min().item(), values.max().item()
    if not values.is_floating_point():
        return f"torch.randint({least}, {int(most) + 1}, ({shape},))"
    if least == most:
        return f"(torch.rand({shape}) + 0.5) * {most:.6g}" if most else f"torch.randn({shape})"
    return f"(torch.rand({shape}) * {most - least:.6g} + {least:.6g})"


def _check(task: Task) -> None:
    """Raise TaskError, in a few words, for a task that is none: it fails, is random, or gives no real numbers."""
    try:
        module = TaskModule.of(task)
        model = module.model(0)
        for seed in range(3):
            inputs = module.inputs(seed)
            output = forward(model, inputs)
            with seeded(seed + 1), torch.no_grad():
                again = module.model(0)(*module.inputs(seed))
            _comparable(output, again)
            _comparable(inputs, inputs)
    except TaskError:
        raise
    except Exception as error:  # other people's code: whatever it raises is told
        raise TaskError(f"does not run on the CPU: {one_line(error).partition(':')[0]}") from error


def _comparable(one: object, other: object) -> None:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.is_complex() or one.is_sparse or one.is_quantized:
            raise TaskError("numbers that are complex, sparse or quantised")
        if one.shape != other.shape or not torch.equal(torch.nan_to_num(one), torch.nan_to_num(other)):
            raise TaskError("a function that draws random numbers")
        if one.is_floating_point() and not torch.isfinite(one).all():
            raise TaskError("values that are not finite")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        for first, second in zip(one, other, strict=True):
            _comparable(first, second)
    elif isinstance(one, dict) and isinstance(other, dict):
        _comparable(list(one.values()), list(other.values()))
    else:
        raise TaskError("an output that is no tensor")


def _needed(statements: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements that the names' values depend on, in order."""
    kept: list[ast.stmt] = []
    wanted = set(names)
    for statement in reversed(statements):
        stored = _stores(statement)
        if not stored & wanted:
            continue
        kept.insert(0, statement)
        if isinstance(statement, ast.Assign) and all(isinstance(one, ast.Name) for one in statement.targets):
            wanted -= stored
        wanted |= _loads(statement)
    return kept


def _stores(statement: ast.stmt) -> set[str]:
    """Names that a statement binds, or whose tensors it changes in place."""
    names: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= _loads(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            names |= _loads(node.func.value)
    return names


def _loads(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _holds_tensor(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_tensor, value))
    return isinstance(value, torch.Tensor)


def _constant(value: object) -> str:
    """How a constant is written; raises TaskError for what is none."""
    if isinstance(value, torch.Size):
        return repr(tuple(value))
    if isinstance(value, list | tuple):
        items = [_constant(item) for item in value]
        return f"[{', '.join(items)}]" if isinstance(value, list) else f"({', '.join(items)},)"
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        return f"float('{value}')"
    if value is None or isinstance(value, bool | int | float | str | torch.dtype):
        return repr(value)
    raise TaskError("an argument that is neither tensor nor constant")
