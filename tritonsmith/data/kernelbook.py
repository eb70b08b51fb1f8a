"""Rows of GPUMODE/KernelBook made to run again: a task in KernelBench's format, and the row's kernels in plain Triton.

A row holds a module with `get_inputs` and what Inductor of 2024 made of it: kernels without their decorators, a
`call(args)` that launches them as `kernel[grid(n)](..., XBLOCK=256)`, and a class `...New`. Its imports are of names
that PyTorch no longer has. Sizes are the row's own: unlike `inductor.convert` nothing is generated anew, and a
candidate serves other shapes only where the kernels do. Fetches nothing.
"""

import ast
from collections.abc import Mapping

import torch

from tritonsmith.data.inductor.constructor import shell
from tritonsmith.data.inductor.emit import Setting, emit
from tritonsmith.data.inductor.plan import plan
from tritonsmith.data.inductor.rewrite import Unsupported
from tritonsmith.data.inductor.wrapper import read
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.tasks.format import TaskError, TaskModule
from tritonsmith.types import Task

_NEEDED = ("python_code", "triton_code", "entry_point")


def repair(row: Mapping[str, object]) -> tuple[Task, Pair] | Miss:
    """A row's task and its repaired candidate, which nobody has judged yet; columns beyond the needed are ignored."""
    texts = [row.get(name) for name in _NEEDED]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        return Miss("a row without code")
    source, kernels, entry = map(str, texts)
    try:
        task = _task(source, entry, str(row.get("uuid", row.get("module_name", entry))))
        wrapper, (setting, picked) = read(kernels), _setting(task, kernels)
        wrapper.outputs = [wrapper.outputs[place] for place in picked]
        candidate = emit(wrapper, shell(task.source), setting)
    except SyntaxError:
        return Miss("a row that is not Python")
    except IndexError:
        return Miss("a forward of no known form")
    except (Unsupported, TaskError) as reason:
        return Miss(str(reason) if isinstance(reason, Unsupported) else "a module that does not run")
    return task, Pair(plan(candidate), candidate.source)


def _task(source: str, entry: str, name: str) -> Task:
    """The row's module as a task: the class is called Model, its arguments go by place."""
    tree = ast.parse(source)
    model = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == entry), None)
    if model is None or any(isinstance(n, ast.ClassDef) and n.name == "Model" and n is not model for n in tree.body):
        raise Unsupported("a row without its class")
    positional = _arguments(tree, model)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == entry:
            node.id = "Model"
    model.name = "Model"
    kept = [n for n in tree.body if not (isinstance(n, ast.FunctionDef) and n.name == "get_init_inputs")]
    given = ast.parse(f"def get_init_inputs():\n    return {positional!r}").body
    text = ast.unparse(ast.fix_missing_locations(ast.Module([*kept, *given], [])))
    return Task(id=f"kernelbook/{name}", level=1, source=f"{text}\n")


def _arguments(tree: ast.Module, model: ast.ClassDef) -> list[object]:
    """`[[4], {"bias": False}]`, what rows return of `get_init_inputs`, as a list of values by place."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    answers = [n.value for n in ast.walk(functions.get("get_init_inputs", tree)) if isinstance(n, ast.Return)]
    try:
        given = ast.literal_eval(answers[-1] or "None") if "get_init_inputs" in functions else [[], {}]
        positional, named = given
        values, words = list(positional), dict(named)
    except (ValueError, TypeError, IndexError) as error:
        raise Unsupported("constructor arguments that are no plain values") from error
    init = next((n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    names = [arg.arg for arg in init.args.args[1:]] if init else []
    defaults = dict(zip(reversed(names), reversed(init.args.defaults), strict=False)) if init else {}
    for name in names[len(values) :]:
        if not words:
            break
        if name not in words and name not in defaults:
            break
        try:
            values.append(words.pop(name) if name in words else ast.literal_eval(defaults[name]))
        except ValueError as error:
            raise Unsupported("constructor arguments that are no plain values") from error
    if words:
        raise Unsupported("constructor arguments by name only")
    return values


def _setting(task: Task, kernels: str) -> tuple[Setting, list[int]]:
    """What `call`'s arguments are, and which of its results are returned.

    `...New.forward` says both: inputs go by place, weights by attribute.
    """
    tree = ast.parse(kernels)
    new = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name.endswith("New")), None)
    methods = [node for node in new.body if isinstance(node, ast.FunctionDef)] if new else []
    forward = next((node for node in methods if node.name == "forward"), None)
    if forward is None:
        raise Unsupported("a row without its class")
    inputs = [arg.arg for arg in shell(task.source).parameters.args[1:]]
    places = {arg.arg: name for arg, name in zip(forward.args.args[1:], inputs, strict=False)}
    sources: dict[str, str] = {}
    given: list[str] = []
    returned: list[ast.expr] = []
    for line in forward.body:
        called = line.value if isinstance(line, ast.Assign) and isinstance(line.value, ast.Call) else None
        if called is not None and called.args and isinstance(called.args[0], ast.List):
            given = [ast.unparse(item) for item in called.args[0].elts]
        elif isinstance(line, ast.Assign):
            text = ast.unparse(line.value)
            sources[ast.unparse(line.targets[0])] = places.get(text, text)
        elif isinstance(line, ast.Return) and line.value is not None:
            returned = list(line.value.elts) if isinstance(line.value, ast.Tuple) else [line.value]
    paths = [sources.get(name, name) for name in given]
    picked = [place for item in returned if (place := _place(item)) is not None]
    tensors = _tensors(task, inputs)
    floating = [path for path in paths if path in tensors and tensors[path].is_floating_point()]
    if not floating or len(picked) < len(returned) or not picked:
        raise Unsupported("a forward of no known form")
    setting = Setting(
        paths=paths,
        ranks={path: tensor.dim() for path, tensor in tensors.items()},
        inputs=[name for name in inputs if name in tensors],
        sizes={},
        structure=lambda names: names[0] if len(names) == 1 else f"({', '.join(names)})",
        dtypes={path: str(tensor.dtype) for path, tensor in tensors.items()},
        dtype=f"{floating[0]}.dtype",
        native=str(tensors[floating[0]].dtype),
    )
    return setting, picked


def _place(item: ast.expr) -> int | None:
    """2 for `output[2]`."""
    index = item.slice if isinstance(item, ast.Subscript) else None
    return index.value if isinstance(index, ast.Constant) and isinstance(index.value, int) else None


def _tensors(task: Task, inputs: list[str]) -> dict[str, torch.Tensor]:
    """The task's inputs and weights by what they are in forward, for their ranks and dtypes."""
    module = TaskModule.of(task)
    try:
        model, drawn = module.model(0), module.inputs(0)
    except Exception as error:  # the row's own code, which fails in any way it likes
        raise Unsupported("a module that does not run") from error
    named = {f"self.{name}": tensor for name, tensor in [*model.named_parameters(), *model.named_buffers()]}
    return named | {name: value for name, value in zip(inputs, drawn, strict=False) if torch.is_tensor(value)}
