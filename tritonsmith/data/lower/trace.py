"""A task as a list of operators: what `forward` calls, in torch's own vocabulary, whatever way it was written in.

`F.relu(x)`, `x.relu()`, `torch.relu(x)` and `nn.ReLU()(x)` all become one `relu`. Traced on tensors that have shapes
alone, so a task of any size takes milliseconds. Sizes are those of the task as given; how they follow from tensors
at run time is `sizes`' business. Control flow that depends on values cannot be traced.
"""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import torch
from torch import nn
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule, Node
from torch.fx.graph import _PyTreeCodeGen
from torch.utils import _pytree as pytree

from tritonsmith.tasks.traced import Untraceable, record
from tritonsmith.types import Task

_FOLLOWS = re.compile(r"\.dtype|type_as|_like\(|\.new_|\.to\((?!torch\.)")
"""Ways to write that a dtype is another tensor's."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the program; each object is one tensor."""

    name: str
    """Its variable in `forward`: an argument's name, `self.conv.weight`, or `v3`."""
    shape: tuple[int, ...]
    dtype: torch.dtype
    kind: str
    """`input`, `parameter` or `result`."""
    ordered: bool = True
    """Whether torch has its elements in order; a transposed view has not."""
    exact: bool = False
    """Whether its dtype stays where the inputs have another one."""

    @property
    def numel(self) -> int:
        """Number of elements."""
        return int(torch.Size(self.shape).numel())


@dataclass(frozen=True, eq=False)
class Op:
    """One operator with its arguments by name, defaults included."""

    name: str
    """torch's name without overload and without the underscore of in-place forms: `conv2d`, `add`."""
    args: dict[str, object]
    """`Value`, lists of them, numbers, None, by the names of torch's schema."""
    results: tuple[Value, ...]
    owner: str | None
    """The module that called it, as written in `forward`: `self.pool`; None for what forward does itself."""

    @property
    def result(self) -> Value:
        """The only result."""
        return self.results[0]

    @property
    def operands(self) -> list[Value]:
        """Tensors it reads, in order, each once."""
        found = [leaf for leaf in pytree.tree_leaves(list(self.args.values())) if isinstance(leaf, Value)]
        return list(dict.fromkeys(found))

    def tensor(self, name: str) -> Value:
        """The tensor argument of that name. Raises Untraceable where there is none."""
        value = self.args.get(name)
        if not isinstance(value, Value):
            raise Untraceable(f"{self.name} without {name}")
        return value


@dataclass
class Program:
    """A traced task."""

    model: nn.Module
    """The model, on tensors without values."""
    inputs: list[Value]
    ops: list[Op]
    output: object
    """`Value`s in the structure that `forward` returns."""
    parameters: dict[str, Value] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    """Arguments of `forward` that are numbers: their names, and what the task gives for them."""
    follows: bool = False
    """Whether a dtype may be another tensor's (`.to(x.dtype)`): what is traced names each dtype as it was."""

    @property
    def outputs(self) -> list[Value]:
        """The tensors it returns, in order."""
        return [leaf for leaf in pytree.tree_leaves(self.output) if isinstance(leaf, Value)]


def trace(task: Task, arguments: Sequence[str]) -> Program:
    """Trace a task; `arguments` names the parameters of `forward` in order.

    Raises TaskError where the task does not load, and Untraceable.
    """
    recording = record(task.source)
    given = dict(zip(arguments, recording.inputs, strict=False))
    numbers = {name: one for name, one in given.items() if type(one) in (int, float)}
    tensors = [name for name, one in given.items() if isinstance(one, torch.Tensor)]
    if len(numbers) + len(tensors) < len(recording.inputs):
        raise Untraceable("an argument that is no tensor")
    program = _Reader(recording.graph, recording.model, list(recording.weights), tensors).read()
    program.numbers = cast(dict[str, float], numbers)
    program.follows = _FOLLOWS.search(task.source) is not None
    return program


@dataclass
class _Reader:
    """Reads torch's graph into operators."""

    graph: GraphModule
    model: nn.Module
    weights: list[str]
    arguments: list[str]
    values: dict[Node, object] = field(default_factory=dict)
    count: int = 0

    def read(self) -> Program:
        places = [node for node in self.graph.graph.nodes if node.op == "placeholder"]
        parameters: dict[str, Value] = {}
        given: list[Value] = []
        for place, (node, name) in enumerate(zip(places, [*self.weights, *self.arguments], strict=False)):
            kind = "parameter" if place < len(self.weights) else "input"
            spelled = _spelled(name) if kind == "parameter" else name
            value = self._value(node, spelled, kind)
            self.values[node] = value
            if isinstance(value, Value) and kind == "input":
                given.append(value)
            elif isinstance(value, Value):
                parameters[name] = value
        constants = [node for node in self.graph.graph.nodes if node.op == "get_attr"]
        ops = [op for node in constants for op in self._constant(node)]
        ops += [op for node in self.graph.graph.nodes if node.op == "call_function" for op in self._op(node)]
        program = Program(self.model, given, ops, self._output(), parameters)
        prune(program)
        read = [*program.outputs, *(operand for op in program.ops for operand in op.operands)]
        if any(value.kind == "constant" for value in read):
            raise Untraceable("a constant tensor")
        if not program.outputs:
            raise Untraceable("no tensor comes out")
        return program

    def _output(self) -> object:
        """What `forward` returns, in its own structure: torch's graph has it flat."""
        (last,) = [node for node in self.graph.graph.nodes if node.op == "output"]
        given = self._argument(last.args[0])
        codegen = self.graph.graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info.out_spec is not None:
            leaves = list(given) if isinstance(given, (list, tuple)) else [given]
            return pytree.tree_unflatten(leaves, codegen.pytree_info.out_spec)
        return given

    def _value(self, node: Node, name: str, kind: str) -> object:
        fake = node.meta.get("val")
        if not isinstance(fake, torch.Tensor):
            raise Untraceable("an argument that is no tensor")
        return Value(name, tuple(map(int, fake.shape)), fake.dtype, kind, fake.is_contiguous())

    def _constant(self, node: Node) -> list[Op]:
        """A tensor that `forward` makes of a number is that number everywhere; others have no place in an answer."""
        tensor = getattr(self.graph, cast(str, node.target))
        known = getattr(tensor, "constant", None)
        known = tensor if known is None else known
        shape = tuple(map(int, tensor.shape))
        if tensor.numel() != 1 or isinstance(known, FakeTensor):
            self.values[node] = Value(str(node.target), shape, tensor.dtype, "constant")
            return []
        self.values[node] = made = Value(f"v{self.count}", shape, tensor.dtype, "result")
        self.count += 1
        return [Op("full", {"fill_value": known.item()}, (made,), None)]

    def _op(self, node: Node) -> list[Op]:
        if node.target is operator.getitem:
            source, index = node.args
            self.values[node] = cast(tuple[Value, ...], self.values[cast(Node, source)])[cast(int, index)]
            return []
        if not isinstance(node.target, OpOverload):
            if node.target in (torch._C._set_grad_enabled,):
                return []
            raise Untraceable(f"{getattr(node.target, '__name__', node.target)} in the graph")
        schema = node.target._schema
        names = [argument.name for argument in schema.arguments]
        defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
        given = dict(zip(names, map(self._argument, node.args), strict=False))
        given |= {name: self._argument(value) for name, value in node.kwargs.items()}
        args = {name: given.get(name, defaults.get(name)) for name in names}
        results = self._results(node)
        owner = next(iter(node.meta.get("nn_module_stack", {})), None)
        name = schema.name.split("::")[-1]
        inplace = name.endswith("_") and not name.endswith("__")
        op = Op(name.rstrip("_") if inplace else name, args, results, _spelled(owner) if owner else None)
        if inplace:
            self._rebind(op)
        if inplace and op.name == "copy":  # nothing is left of what was there
            op = replace(op, args={"src": args["src"]})
        return [op]

    def _rebind(self, op: Op) -> None:
        """After an in-place operator the tensor it changed is its result."""
        changed = op.operands[0]
        if changed.kind == "input":
            raise Untraceable("an input is changed")
        for node, value in self.values.items():
            if value is changed:
                self.values[node] = op.result

    def _results(self, node: Node) -> tuple[Value, ...]:
        made = node.meta["val"]
        leaves = [made] if isinstance(made, torch.Tensor) else list(made)
        results = []
        for leaf in leaves:
            shape = tuple(map(int, leaf.shape))
            results.append(Value(f"v{self.count}", shape, leaf.dtype, "result", leaf.is_contiguous()))
            self.count += 1
        self.values[node] = results[0] if isinstance(made, torch.Tensor) else tuple(results)
        return tuple(results)

    def _argument(self, given: object) -> object:
        return pytree.tree_map(lambda leaf: self.values[leaf] if isinstance(leaf, Node) else leaf, given)


def _spelled(name: str) -> str:
    """`layers.0.weight` as an expression: `self.layers[0].weight`."""
    parts = [f"[{part}]" if part.isdigit() else f".{part}" for part in name.split(".")]
    return "self" + "".join(parts)


def prune(program: Program) -> None:
    """Leave out what no output depends on."""
    needed = set(program.outputs)
    kept: list[Op] = []
    for op in reversed(program.ops):
        if any(result in needed for result in op.results):
            kept.append(op)
            needed |= {operand for operand in op.operands}
    program.ops = kept[::-1]
