"""A task as torch sees it: the ATen operators of its forward, with shapes and dtypes, as a short text.

`%2 = conv2d(x: f32[16,64,32,32], conv.weight: f32[128,64,3,3], stride=2) -> f32[16,128,15,15]`: a leaf shows its type
where it is first used, an argument at its default is left out, parameters keep their names. Traced with fake tensors
by `make_fx` above autograd's decompositions, so that nothing is computed or allocated, however large the task.

Not here: code from a trace (`data.inductor`, `data.lower`), sizes that vary, control flow that depends on values. A
task that cannot be traced has no trace: `trace` gives None, and who asked does without.
"""

import inspect
import logging
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.fx import traceback as fx_traceback
from torch.fx.experimental.proxy_tensor import make_fx

from tritonsmith.tasks.format import TaskError, TaskModule, on, one_line, seeded
from tritonsmith.types import Task

logger = logging.getLogger(__name__)

MOST_LINES = 120
"""Operators that a text shows; the rest are counted."""

_DTYPES = {
    torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
}  # fmt: skip

SIZES = {
    "size",
    "sizes",
    "shape",
    "normalized_shape",
    "output_size",
    "repeats",
    "start",
    "end",
    "length",
    "split_size",
}
"""Arguments that say how large, not what."""

_TRANSPARENT = {"detach", "alias", "lift_fresh", "lift_fresh_copy"}
"""Operators that give their argument back."""

_UNSAID = {"device", "pin_memory", "layout", "cudnn_enabled"}
"""Arguments that say where and how, not what."""


@dataclass(frozen=True)
class Operation:
    """One ATen operator of a trace."""

    name: str
    """The operator without its overload: `conv2d`, `add`, `softmax`."""
    operands: tuple[str, ...]
    """What it reads, in order, lists flattened: an input's or parameter's name, `%n`, or `%n.k` for its k-th output."""
    attributes: tuple[tuple[str, str], ...]
    """Its other arguments by name, as Python writes them; those at their defaults are not there."""
    outputs: tuple[str, ...]
    """The type of each output, such as `f32[16,128]`."""


@dataclass(frozen=True)
class Trace:
    """The operators of a forward, in order; operation n defines `%n`."""

    leaves: Mapping[str, str]
    """Inputs, parameters, buffers and constants that are used: name and type."""
    operations: tuple[Operation, ...]
    returned: tuple[str, ...]

    def text(self) -> str:
        """One line an operator, and what is returned."""
        shown: set[str] = set()
        lines = [self._line(i, operation, shown) for i, operation in enumerate(self.operations[:MOST_LINES])]
        if len(self.operations) > MOST_LINES:
            lines.append(f"... {len(self.operations) - MOST_LINES} more operators")
        result = ", ".join(self.returned)
        return "\n".join([*lines, f"return {result}" if len(self.returned) == 1 else f"return ({result})"])

    def _line(self, index: int, operation: Operation, shown: set[str]) -> str:
        arguments = []
        for operand in operation.operands:
            typed = operand in self.leaves and operand not in shown
            shown.add(operand)
            arguments.append(f"{operand}: {self.leaves[operand]}" if typed else operand)
        arguments += [f"{key}={value}" for key, value in operation.attributes]
        outputs = ", ".join(operation.outputs)
        result = outputs if len(operation.outputs) == 1 else f"({outputs})"
        return f"%{index} = {operation.name}({', '.join(arguments)}) -> {result}"


class Untraceable(Exception):
    """A task that cannot be written as a list of operators; says why in a few words."""


@dataclass(frozen=True, eq=False)
class Recording:
    """What the tracer saw of one run of a task's forward. Who reads it leaves it as it is."""

    graph: fx.GraphModule
    """Its first placeholders are `weights`, then come `leaves`; a node's `nn_module_stack` names the submodule."""
    model: nn.Module
    """The model, on tensors without values."""
    weights: tuple[str, ...]
    """Parameters and buffers by their paths."""
    leaves: tuple[str, ...]
    """The inputs' tensors, by forward's names for them."""
    inputs: tuple[object, ...]


def trace(task: Task) -> Trace | None:
    """The trace of a task's forward at its own sizes; None where it does not load, or cannot be traced."""
    return _traced(task.source)


@lru_cache(maxsize=16)
def _traced(source: str) -> Trace | None:
    """Remembered for a while: who surveys a task shows it, too."""
    try:
        return _read(record(source))
    except (TaskError, Untraceable, ValueError) as error:
        logger.debug("no trace: %s", one_line(error))
        return None


def describe(task: Task) -> str | None:
    """The text of a task's trace; None where there is none. Remembered, for prompts are made again and again."""
    return _described(task.source)


@lru_cache(maxsize=4096)
def _described(source: str) -> str | None:
    found = trace(Task(id="task", level=1, source=source))
    return None if found is None else found.text()


@lru_cache(maxsize=8)
def record(source: str) -> Recording:
    """Trace a task's source under fake tensors; remembered for a while, for several read it.

    Raises TaskError where it does not load, and Untraceable.
    """
    module = TaskModule.of(Task(id="task", level=1, source=source))
    with FakeTensorMode(allow_non_fake_inputs=True), seeded(0), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with on("cpu"):
                model = cast(Callable[..., nn.Module], module.names["Model"])(*module.init_inputs())
                inputs = list(cast(Callable[[], Sequence[object]], module.names["get_inputs"])())
        except Exception as error:  # a task is the user's code: whatever it raises is told to the user
            raise TaskError(f"the task cannot be built: {one_line(error)}") from error
        try:
            return _recorded(model, inputs)
        except Exception as error:  # the user's forward under a tracer: anything may come
            raise Untraceable(f"cannot be traced: {type(error).__name__}") from error


def _recorded(model: nn.Module, inputs: Sequence[object]) -> Recording:
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    given = dict(zip(_parameters(model, len(inputs)), inputs, strict=True))
    leaves = dict(_tensors(given))

    def run(*tensors: torch.Tensor) -> object:
        values = iter(tensors)
        filled = {name: next(values) for name in state}
        arguments = [_filled(value, values) for value in inputs]
        return functional_call(model, filled, tuple(arguments))

    with fx_traceback.preserve_node_meta(), _owners(model):
        graph = make_fx(run, pre_dispatch=True)(*state.values(), *leaves.values())
    return Recording(cast(fx.GraphModule, graph), model, tuple(state), tuple(leaves), tuple(inputs))


@contextmanager
def _owners(model: nn.Module) -> Iterator[None]:
    """Note, while tracing, which submodule each operator belongs to."""
    stack: list[str] = [""]

    def enter(name: str) -> Callable[..., None]:
        def hook(*_: object) -> None:
            stack.append(name)
            _enter(name)

        return hook

    def leave(*_: object) -> None:
        stack.pop()
        _enter(stack[-1])

    handles = []
    for name, child in model.named_modules():
        if name:
            handles += [child.register_forward_pre_hook(enter(name)), child.register_forward_hook(leave)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _enter(name: str) -> None:
    # One of the few keys that a tracer copies into the nodes it makes.
    fx_traceback.get_current_meta()["nn_module_stack"] = {name: (name, nn.Module)}


def _parameters(model: nn.Module, count: int) -> list[str]:
    """Names of forward's arguments; `args[i]` where it takes any number of them."""
    names = [
        name for name, one in inspect.signature(model.forward).parameters.items() if one.kind != one.VAR_POSITIONAL
    ]
    return [names[i] if i < len(names) else f"args[{i}]" for i in range(count)]


def _tensors(given: Mapping[str, object]) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor of nested lists, tuples and dicts, with a path for a name, in the order of `_filled`."""
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, list | tuple):
            yield from _tensors({f"{name}[{i}]": item for i, item in enumerate(value)})
        elif isinstance(value, dict):
            yield from _tensors({f"{name}[{key!r}]": item for key, item in value.items()})


def _filled(value: object, tensors: Iterator[torch.Tensor]) -> object:
    """The same nest with its tensors replaced, in order."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, list | tuple):
        return type(value)(_filled(item, tensors) for item in value)
    if isinstance(value, dict):
        return {key: _filled(item, tensors) for key, item in value.items()}
    return value


def _alive(graph: fx.Graph) -> list[fx.Node]:
    """The nodes in order without what nothing reads; the graph stays as it is, for others read it too."""
    alive: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.is_impure() or any(user in alive for user in node.users):
            alive.add(node)
    return [node for node in graph.nodes if node in alive]


def _read(recording: Recording) -> Trace:
    """Turn the graph into plain data; operators that nothing reads are left out."""
    module, nodes = recording.graph, _alive(recording.graph.graph)
    names: dict[fx.Node, str] = {}
    types: dict[str, str] = {}
    operations: list[Operation] = []
    waiting = iter([*recording.weights, *recording.leaves])
    for node in nodes:
        if node.op == "placeholder":
            names[node] = next(waiting)
            types[names[node]] = _type(node.meta.get("val"))
        elif node.op == "get_attr":
            names[node] = f"constant{sum(name.startswith('constant') for name in types)}"
            types[names[node]] = _type(getattr(module, str(node.target)))
        elif node.op == "call_function":
            _call(node, names, operations)
    output = next(node for node in nodes if node.op == "output")
    used = {operand for operation in operations for operand in operation.operands}
    returned = tuple(_operands(output.args, names))
    leaves = {name: kind for name, kind in types.items() if name in used or name in returned}
    return Trace(leaves, tuple(operations), returned)


def _call(node: fx.Node, names: dict[fx.Node, str], operations: list[Operation]) -> None:
    if node.target is operator.getitem:
        source, index = node.args
        names[node] = f"{names[cast(fx.Node, source)]}.{index}"
        return
    schema: torch.FunctionSchema | None = getattr(node.target, "_schema", None)
    if schema is None:
        if node.users:
            raise ValueError(f"{node.target} is no ATen operator")
        return  # a switch, such as that of no_grad
    name = schema.name.removeprefix("aten::")
    operands = [operand for value in [*node.args, *node.kwargs.values()] for operand in _operands(value, names)]
    if name in _TRANSPARENT and len(operands) == 1:
        names[node] = operands[0]
        return
    names[node] = f"%{len(operations)}"
    value = node.meta.get("val")
    outputs = value if isinstance(value, list | tuple) else [value]
    operations.append(
        Operation(name, tuple(operands), tuple(_attributes(node, schema)), tuple(_type(one) for one in outputs))
    )


def _operands(value: object, names: Mapping[fx.Node, str]) -> Iterator[str]:
    if isinstance(value, fx.Node):
        yield names[value]
    elif isinstance(value, list | tuple) and any(True for _ in _nodes(value)):
        for item in value:
            yield from ["None"] if item is None else _operands(item, names)


def _attributes(node: fx.Node, schema: torch.FunctionSchema) -> Iterator[tuple[str, str]]:
    for i, argument in enumerate(schema.arguments):
        value: object = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
        if value is None or argument.name in _UNSAID or any(True for _ in _nodes(value)):
            continue
        text = _plain(value, short=argument.name not in SIZES)
        if text != _plain(argument.default_value):
            yield argument.name, text


def _nodes(value: object) -> Iterator[fx.Node]:
    if isinstance(value, fx.Node):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _nodes(item)


def _plain(value: object, short: bool = True) -> str:
    """Python's way to write it; if `short`, a list of equal numbers is one number, as people write strides."""
    if isinstance(value, torch.dtype):
        return _DTYPES.get(value, str(value).removeprefix("torch."))
    if isinstance(value, list | tuple):
        items = [_plain(item) for item in value]
        return items[0] if short and len(items) > 1 and len(set(items)) == 1 else f"[{','.join(items)}]"
    return repr(value) if isinstance(value, bool | int | float | str | None) else str(value)


def rank(kind: str) -> int:
    """How many dimensions a type such as `f32[16,128]` has."""
    sizes = kind.partition("[")[2].rstrip("]")
    return len(sizes.split(",")) if sizes else 0


def _type(value: object) -> str:
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    dtype = _DTYPES.get(value.dtype, str(value.dtype).removeprefix("torch."))
    return f"{dtype}[{','.join(str(int(size)) for size in value.shape)}]"
