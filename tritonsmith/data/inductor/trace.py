"""A task's forward as a graph of aten operators whose sizes are symbols.

Every dimension of every input and weight is a symbol of its own, and so is every integer that a module keeps
(`num_heads`, `stride`): what the operators require to be equal becomes equal, and what they need to know becomes a
number. Nothing is computed: tensors are fakes. Matrix products and convolutions become the operators of `externs`.
Does not generate code: see `generate`.
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch._dynamo.source import LocalSource
from torch._inductor.decomposition import select_decomp_table
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, free_unbacked_symbols
from torch.fx.traceback import preserve_node_meta
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree

from tritonsmith.data.externs import DECOMPOSITIONS, Sizes, naming
from tritonsmith.data.inductor.functional import Symbolic, Untraceable
from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import TaskError, TaskModule
from tritonsmith.types import Task


@dataclass(frozen=True)
class Graph:
    """A traced forward."""

    module: torch.fx.GraphModule
    """Takes `arguments` in order and returns the flat list of outputs."""
    arguments: list[object]
    """Fake tensors and symbolic integers."""
    paths: list[str]
    """What each argument is in ModelNew.forward: `x`, `self.linear.weight`, `self.num_heads`."""
    sizes: Sizes
    """Symbols for sizes that are computed from others."""
    env: ShapeEnv
    mode: FakeTensorMode
    output: pytree.TreeSpec
    """The structure of what forward returns."""
    inputs: list[str]
    """Those of forward's parameters that are tensors."""


@dataclass(frozen=True)
class _Slot:
    """A place in a module that holds a tensor or an integer."""

    owner: nn.Module
    name: str
    index: int | None
    """Where in a tuple of integers; None for what is no tuple."""
    path: str

    def put(self, value: object) -> None:
        """Put something else there."""
        if self.index is not None:
            values = list(getattr(self.owner, self.name))
            values[self.index] = value
            value = tuple(values)
        self.owner._parameters.pop(self.name, None)
        self.owner._buffers.pop(self.name, None)
        setattr(self.owner, self.name, value)


def trace(task: Task) -> Graph:
    """Trace a task's forward; raises Untraceable."""
    model, inputs = _reference(task)
    return _Tracer(model, inputs).graph()


def _reference(task: Task) -> tuple[nn.Module, list[object]]:
    """Model and inputs, of shapes alone where the task allows it, else of sizes that a CPU bears."""
    for device in ("meta", "cpu"):
        try:
            module = TaskModule.of(task if device == "meta" else scaling.full(task).task)
            with torch.no_grad():
                return module.model(0, device), module.inputs(0, device)
        except TaskError as error:
            raise Untraceable("the reference does not run") from error
        except Exception as error:  # the task's own code, which may fail on tensors without values in any way it likes
            failure = error
    raise Untraceable("the reference does not build") from failure


class _Tracer:
    def __init__(self, model: nn.Module, inputs: Sequence[object]) -> None:
        self.model, self.inputs = model, inputs
        self.env = ShapeEnv(duck_shape=False)
        self.sizes = Sizes()
        self.mode = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True)
        self.arguments: list[object] = []
        self.paths: list[str] = []

    def graph(self) -> Graph:
        """The graph; raises Untraceable."""
        names = _parameters(self.model, len(self.inputs))
        for value, name in zip(self.inputs, names, strict=True):
            self._input(value, name)
        slots = [*_tensor_slots(self.model), *_number_slots(self.model)]
        for slot in slots:
            value = getattr(slot.owner, slot.name)
            self._argument(value if slot.index is None else value[slot.index], slot.path)
        grouped = dict(self._groups())
        spec: list[pytree.TreeSpec] = []

        def run(*flat: object) -> list[object]:
            given = dict(zip(self.paths, flat, strict=True))
            for slot in slots:
                slot.put(given[slot.path])
            for path, norm in grouped.items():
                torch._check(norm.weight.shape[0] == norm.num_groups * given[path])  # type: ignore[operator]
            with Symbolic():
                output = self.model(*[given.get(name, value) for name, value in zip(names, self.inputs, strict=True)])
            leaves, structure = pytree.tree_flatten(output)
            spec[:] = [structure]
            return leaves

        table = {**select_decomp_table(), **DECOMPOSITIONS}
        functional = torch.func.functionalize(run, remove="mutations")
        try:
            with (
                naming(self.sizes),
                self.mode,
                torch.no_grad(),
                sdpa_kernel(SDPBackend.MATH),
                preserve_node_meta(),
            ):
                module = make_fx(functional, decomposition_table=table)(*self.arguments)
        except Untraceable:
            raise
        except Exception as error:  # the task's forward may do what cannot be traced, and fails in any way it likes
            raise Untraceable(f"not traceable: {type(error).__name__}") from error
        _drop_mutations(module)
        if any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in module.graph.nodes):
            raise Untraceable("draws random numbers")
        if any(free_unbacked_symbols(node.meta.get("val")) for node in module.graph.nodes):
            raise Untraceable("it depends on values of tensors")
        tensors = [name for name, value in zip(names, self.inputs, strict=True) if torch.is_tensor(value)]
        return Graph(
            module, self.arguments, self.paths, self.sizes, self.env, self.mode, spec[0], tensors
        )  # fmt: skip

    def _groups(self) -> Iterator[tuple[str, nn.GroupNorm]]:
        """Channels a group, of every normalisation by groups: with them known, channels divide by groups evenly."""
        for prefix, owner in self.model.named_modules():
            if isinstance(owner, nn.GroupNorm) and owner.num_groups > 1 and owner.affine:
                path = f"{_path(self.model, prefix, 'num_channels')} // {_path(self.model, prefix, 'num_groups')}"
                self._argument(owner.num_channels // owner.num_groups, path)
                yield path, owner

    def _input(self, value: object, name: str) -> None:
        if isinstance(value, torch.Tensor) or type(value) is int:
            self._argument(value, name)
        elif not (value is None or isinstance(value, (bool, str, float))):
            raise Untraceable(f"an input is a {type(value).__name__}")

    def _argument(self, value: torch.Tensor | int, path: str) -> None:
        if isinstance(value, torch.Tensor):
            sizes = [self._symbol(size, f"{path}.shape[{dim}]") for dim, size in enumerate(value.shape)]
            with self.mode:
                self.arguments.append(torch.empty(sizes, dtype=value.dtype, device="cpu"))
        else:
            self.arguments.append(self._symbol(value, path))
        self.paths.append(path)

    def _symbol(self, value: int, path: str) -> int | torch.SymInt:
        source = LocalSource(path)
        symbol = self.env.create_symbol(value, source, DimDynamic.DYNAMIC)
        return self.env.create_symintnode(symbol, hint=value, source=source)


def _parameters(model: nn.Module, count: int) -> list[str]:
    """Names of forward's first positional parameters."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in inspect.signature(model.forward).parameters.values() if p.kind in kinds]
    if len(names) < count:
        raise Untraceable("forward takes a variable number of inputs")
    return names[:count]


def _tensor_slots(model: nn.Module) -> Iterator[_Slot]:
    """Parameters, buffers and tensors kept as plain attributes."""
    for prefix, owner in model.named_modules(remove_duplicate=False):
        for name, value in [*owner._parameters.items(), *owner._buffers.items(), *vars(owner).items()]:
            if isinstance(value, torch.Tensor):
                yield _Slot(owner, name, None, _path(model, prefix, name))


def _number_slots(model: nn.Module) -> Iterator[_Slot]:
    """Integers of 2 and more, alone and in tuples; what is 0 or 1 often says whether, not how many."""
    for prefix, owner in model.named_modules():
        for name, value in list(vars(owner).items()):
            if name.startswith("_"):
                continue
            path = _path(model, prefix, name)
            if type(value) is int and value > 1:
                yield _Slot(owner, name, None, path)
            elif isinstance(value, (tuple, list)) and all(type(item) is int for item in value):
                yield from (_Slot(owner, name, i, f"{path}[{i}]") for i, item in enumerate(value) if item > 1)


def _path(model: nn.Module, prefix: str, name: str) -> str:
    """`self.net[0].weight` for `net.0` and `weight`."""
    text, module = "self", model
    for part in prefix.split(".") if prefix else []:
        if isinstance(module, (nn.Sequential, nn.ModuleList)) and part.isdigit():
            text += f"[{part}]"
        elif isinstance(module, nn.ModuleDict):
            text += f"[{part!r}]"
        else:
            text += f".{part}"
        module = module.get_submodule(part)
    if isinstance(module, nn.ParameterList):
        return f"{text}[{name}]"
    return f"{text}[{name!r}]" if isinstance(module, nn.ParameterDict) else f"{text}.{name}"


def _drop_mutations(module: torch.fx.GraphModule) -> None:
    """Leave out what is written back into arguments: running statistics are no output."""
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten.copy_.default and node.args[0].op == "placeholder":
            node.replace_all_uses_with(node.args[1])
            module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    module.recompile()
