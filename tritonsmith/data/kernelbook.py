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
from tritonsmith.tasks.kernelbook import task_of
from tritonsmith.types import Task

_NEEDED = ("python_code", "triton_code", "entry_point")


def repair(row: Mapping[str, object]) -> tuple[Task, Pair] | Miss:
    """A row's task and its repaired candidate, which nobody has judged yet; columns beyond the needed are ignored."""
    texts = [row.get(name) for name in _NEEDED]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        return Miss("a row without code")
    kernels = str(row["triton_code"])
    try:
        task = task_of(row, 0)
    except TaskError as error:
        return Miss(str(error))
    try:
        wrapper, (setting, picked) = read(kernels), _setting(task, kernels)
        wrapper.outputs = [wrapper.outputs[place] for place in picked]
        candidate = emit(wrapper, shell(task.source), setting)
    except SyntaxError:
        return Miss("a row that is not Python")
    except IndexError:
        return Miss("a forward of no known form")
    except Unsupported as reason:
        return Miss(str(reason))
    except TaskError:
        return Miss("a module that does not run")
    return task, Pair(plan(candidate), candidate.source)


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
