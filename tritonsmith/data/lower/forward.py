"""`forward` while it is written: which tensors are in memory, the kernels, the statements.

Emitters of anchors work through this: they ask where a tensor lies, allocate results, and spell numbers so that they
follow from the task's own members rather than from today's sizes.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import torch
from torch import nn

from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.site import Held
from tritonsmith.data.lower.text import Kernel, safe
from tritonsmith.data.lower.trace import Op, Program, Untraceable, Value

_OPERANDS = {"other", "scale", "self", "value", "fill_value"}
"""Arguments that tasks work out from sizes: factors, divisors, and what they fill with."""
MAX_INT32 = 2**31 - 1
"""The largest number of elements whose offsets fit the 32 bits that Triton's indices have."""


@dataclass
class Forward:
    """The pieces of one candidate."""

    program: Program
    read_by: Mapping[str, frozenset[str]]
    """By the name of each class of the task, names of `self` that its methods read."""
    literals: frozenset[float]
    """Numbers that the task's methods write."""
    written: Mapping[str, frozenset[float]] = field(default_factory=dict)
    """By the name of each class of the task, those of them that may be sizes."""
    lines: list[str] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    """Source of functions that kernels call."""
    notes: list[str] = field(default_factory=list)
    """Lines of the plan, one a kernel."""
    _held: dict[Value, Held] = field(default_factory=dict)
    _kinds: dict[str, str] = field(default_factory=dict)
    """What the dtype of a variable is, as `forward` spells it."""
    _made: dict[Value, bool] = field(default_factory=dict)
    """Whether a value's dtype is that of a float made of no float."""
    _buffers: int = 0

    # -- kernels

    def kernel_name(self, stem: str) -> str:
        """A name for a kernel, taken by no other."""
        taken = {kernel.name for kernel in self.kernels}
        names = (f"{stem}_kernel{k if k > 1 else ''}" for k in count(1))
        return next(name for name in names if name not in taken)

    def help(self, source: str) -> None:
        """Note a function that kernels call, once."""
        if source not in self.helpers:
            self.helpers.append(source)

    def emit(self, kernel: Kernel) -> None:
        """Launch a finished kernel here; one that reads like an earlier one is that one, launched again."""
        passed = set(kernel.pointers.values())
        if any(held.name in passed and math.prod(held.shape) > MAX_INT32 for held in self._held.values()):
            kernel.widen()
        for known in self.kernels:
            if replace(kernel, name=known.name).definition() == known.definition():
                self.notes = [note for note in self.notes if not note.startswith(f"{kernel.name}: ")]
                kernel.name = known.name
                break
        else:
            self.kernels.append(kernel)
        self.lines += kernel.launch()

    # -- tensors

    def hold(self, value: Value, name: str, label: str = "x", contiguous: bool = True) -> Held:
        """Note under which variable a tensor is in memory; kernels call it x, so that equal ones read alike."""
        held = Held(name, value.shape, label, contiguous, value.dtype.is_floating_point)
        self._held[value] = held
        return held

    def held(self, value: Value) -> Held:
        """Where a tensor lies. Parameters lie where the task keeps them."""
        if value not in self._held:
            if value.kind != "parameter":
                raise Untraceable(f"{value.name} is not in memory")
            last = value.name.rpartition(".")[2].replace("[", "").replace("]", "")
            self.hold(value, value.name, safe(last))
        return self._held[value]

    def in_order(self, value: Value) -> Held:
        """Where a tensor lies, its elements in order; copied first where they are not."""
        held = self.held(value)
        if held.contiguous:
            return held
        name = self.fresh()
        self.lines.append(f"{name} = {held.name}.contiguous()")
        return self.hold(value, name)

    def relabel(self, value: Value, source: Value) -> None:
        """The value is the source with sizes of one added or left out: nothing happens in memory."""
        held = self.held(source)
        old = iter([held.size(d) for d, size in enumerate(source.shape) if size != 1])
        sizes = tuple("1" if size == 1 else next(old) for size in value.shape)
        self._held[value] = replace(held, shape=value.shape, sizes=sizes)

    def shaped(self, value: Value) -> Held:
        """The value as a variable that has its sizes, which one that is only called so (`relabel`) has not."""
        held = self.held(value)
        if not held.sizes:
            return held
        name = self.fresh()
        self.lines.append(f"{name} = {held.name}.view({', '.join(held.sizes) or '()'})")
        return self.hold(value, name, contiguous=held.contiguous)

    def fresh(self) -> str:
        """A new variable, none of the arguments' names."""
        self._buffers += 1
        name = f"t{self._buffers}"
        return self.fresh() if name in self._arguments() else name

    def local(self, name: str) -> str:
        """A variable, by another name where an argument has this one."""
        return f"out_{name}" if name in self._arguments() else name

    def _arguments(self) -> set[str]:
        return {value.name for value in self.program.inputs}

    def allocate(self, value: Value, shape: Sequence[str] | Held) -> Held:
        """Memory for a result: of the shape of a tensor that is there, or of these sizes."""
        last = any(value is one for one in self.program.outputs) and len(self.program.outputs) == 1
        name = "out" if last and "out" not in self._arguments() else self.fresh()
        kind = self._like(value)
        if isinstance(shape, Held) and (shape.sizes or not shape.contiguous):
            shape = [shape.size(d) for d in range(len(shape.shape))]
        if isinstance(shape, Held):
            same = kind == f"{shape.name}.dtype" or self._kinds.get(shape.name) == kind
            self.lines.append(f"{name} = torch.empty_like({shape.name}{'' if same else f', dtype={kind}'})")
        else:
            sizes = ", ".join(shape) + ("," if len(shape) == 1 else "")
            like, _, follows = kind.rpartition(".")
            if follows == "dtype":
                self.lines.append(f"{name} = {like}.new_empty(({sizes}))")
            else:
                self.lines.append(f"{name} = torch.empty(({sizes}), dtype={kind}, device={self._any()}.device)")
        self._kinds[name] = kind
        return self.hold(value, name)

    def note_kind(self, value: Value) -> None:
        """Note that an input has the dtype of an earlier one, if it has."""
        if value.dtype.is_floating_point:
            self._kinds[self.held(value).name] = self._like(value)

    def scratch(self, sizes: str, like: Held, kind: str = "torch.float32") -> str:
        """Memory for a kernel's intermediate figures; the variable's name."""
        name = self.fresh()
        self.lines.append(f"{name} = torch.empty({sizes}, dtype={kind}, device={like.name}.device)")
        return name

    def _like(self, value: Value) -> str:
        """The dtype of a result: that of an input or weight which has it, so that other precisions follow.

        What is made a float of no float (`(x > y).float()`), and what is computed with it, follows nothing, unless the
        module takes dtypes from tensors.
        """
        if value.exact or (not self.program.follows and self._of_no_float(value)):
            return str(value.dtype)
        known = [*self.program.inputs, *self.program.parameters.values()]
        for one in known:
            if one.dtype == value.dtype and value.dtype.is_floating_point:
                return f"{self.held(one).name}.dtype"
        return str(value.dtype)

    def _of_no_float(self, value: Value) -> bool:
        """Whether a float's dtype is that of one made of no float; one without dimensions decides only over such."""
        if value not in self._made:
            op = next((op for op in self.program.ops if value in op.results), None)
            self._made[value] = (
                op is not None
                and value.dtype.is_floating_point
                and (
                    op.name == "as_float"
                    or any(self._of_no_float(one) for one in op.operands if one.shape or not value.shape)
                )
            )
        return self._made[value]

    def _any(self) -> str:
        known = [*self.program.inputs, *self.program.parameters.values()]
        if not known:
            raise Untraceable("no tensor to take the device from")
        return self.held(known[0]).name

    # -- numbers

    def expression(self, op: Op, name: str, index: int | None = None) -> str:
        """An argument that is a number, as `forward` writes it; `index` picks from a list."""
        given = op.args.get(name)
        one = given[min(index or 0, len(given) - 1)] if isinstance(given, (list, tuple)) else given
        if op.owner and (found := self._member(op.owner, name, one, index)):
            return found
        return self._named(name, one) or self.spelled(one)

    def spelled(self, given: object) -> str:
        """A number as `forward` writes it: the model's own member that has this value, or a literal."""
        return self._attribute(given) or spell(given)

    def sizes_written(self, op: Op) -> frozenset[float]:
        """Numbers that may be sizes, written by the class whose code calls the operator; torch's own writes a 3."""
        kind = type(_resolve(self.program.model, op.owner)).__name__ if op.owner else "Model"
        return self.written.get(kind, frozenset((3,)))

    def member(self, op: Op, given: int) -> str | None:
        """The member that has this value: of the model, if its methods read it, or of the module that calls."""
        if (found := self._attribute(given)) or not op.owner or given in (0, 1, -1):
            return found
        own = vars(_resolve(self.program.model, op.owner)).items()
        names = (name for name, one in own if type(one) is int and one == given and not name.startswith("_"))
        return next((f"{op.owner}.{name}" for name in names), None)

    def input_size(self, size: int, dim: int = 0, rank: int = 0) -> str | None:
        """The size of an input that is equal, at best of one of this rank in this dimension."""
        if size <= 1:
            return None
        found = [(one, d) for one in self.program.inputs for d, own in enumerate(one.shape) if own == size]
        found.sort(key=lambda place: (len(place[0].shape), place[1]) != (rank, dim))
        return next((f"{self.held(one).name}.shape[{d}]" for one, d in found), None)

    def weight_size(self, size: int) -> str | None:
        """The size of a weight that is equal."""
        places = ((one, d) for one in self.program.parameters.values() for d, own in enumerate(one.shape))
        return next((f"{one.name}.shape[{d}]" for one, d in places if one.shape[d] == size > 1), None)

    def _named(self, name: str, given: object) -> str | None:
        """The model's own member that is called as the argument is and has this value."""
        own = vars(self.program.model).get(name)
        same = name in self.read_by["Model"] and type(own) in (int, float) and own == given
        return f"self.{name}" if same else None

    def number(self, kernel: Kernel, op: Op, name: str, given: object) -> str:
        """An argument that is a number, as a kernel writes it: its own parameter where it is a member of the model."""
        if name == "exponent":
            return spell(given)  # powers are written out by what they are
        floating = any(operand.dtype.is_floating_point for operand in op.operands)
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            if op.owner and (found := self._member(op.owner, name, given, None)):
                return kernel.size(safe(name), found)
            if found := self._attribute(given) or self._owned(op, given):
                return kernel.size(safe(found.rsplit(".", 1)[-1]), found)
            if found := self._of_sizes(op, name, given) or self._of_root(op, name, given):
                return kernel.size(*found)
            if isinstance(given, int) and floating and name != "alpha":
                return spell(float(given))
        return spell(given)

    def _member(self, owner: str, name: str, given: object, index: int | None) -> str | None:
        """The owner's own attribute of that name, unless it is what its constructor takes by default."""
        module = _resolve(self.program.model, owner)
        attribute = getattr(module, name, None)
        default = inspect.signature(type(module).__init__).parameters.get(name)
        if default is not None and default.default == attribute:
            return None
        if isinstance(attribute, (tuple, list)) and index is not None and len(attribute) > index:
            return f"{owner}.{name}[{index}]" if attribute[index] == given else None
        if type(attribute) in (int, float) and attribute == given:
            return f"{owner}.{name}"
        return None

    def _of_sizes(self, op: Op, name: str, given: float) -> tuple[str, str] | None:
        """A number that the task writes nowhere and that follows from an input's size: itself, or of a root of it.

        No number that an operator has by default: softplus's threshold is 20 whatever the sizes are.
        """
        if name not in _OPERANDS or given in (0, 1, -1) or given in self.literals or given in self.sizes_written(op):
            return None
        for value in self.program.inputs:
            for d, size in enumerate(value.shape):
                where = f"{self.held(value).name}.shape[{d}]"
                if size > 1 and type(given) is int and given == size:
                    return "count", where
                if size > 1 and type(given) is float and given in (size**0.5, math.sqrt(size)):
                    return "root", f"{where} ** 0.5"
                if size > 1 and type(given) is float and given in (size**-0.5, 1 / math.sqrt(size)):
                    return "scale", f"{where} ** -0.5"
        return None

    def _of_root(self, op: Op, name: str, given: float) -> tuple[str, str] | None:
        """A factor that the task writes nowhere and that follows from the root of a width in memory, the latest one's.

        It is what scores are scaled by: the root of a head's width, which no input has.
        """
        if name not in ("other", "scale") or type(given) is not float or given <= 0 or given == 1:
            return None
        if given in self.literals or given in self.sizes_written(op):
            return None
        size = round(given**2 if given > 1 else given**-2)
        kind, power = ("root", 0.5) if given > 1 else ("scale", -0.5)
        if size < 2 or not math.isclose(size**power, given, rel_tol=1e-9):
            return None
        for value, held in reversed(self._held.items()):
            if value.shape[-1:] == (size,):
                return kind, f"{held.size(len(value.shape) - 1)} ** {power}"
        return None

    def _attribute(self, given: object) -> str | None:
        """An argument, or a member of the model itself that its methods read, that has this value."""
        if type(given) not in (int, float):
            return None
        for name, value in self.program.numbers.items():
            if type(value) is type(given) and value == given:
                return name
        if given in (0, 1, -1) or given in self.literals:
            return None
        return _holding(self.program.model, self.read_by["Model"], "self", given)

    def _owned(self, op: Op, given: float) -> str | None:
        """The member with this value that the class of the task which calls the operator reads."""
        if not op.owner or given in (0, 1, -1) or given in self.sizes_written(op):
            return None
        module = _resolve(self.program.model, op.owner)
        return _holding(module, self.read_by.get(type(module).__name__, frozenset()), op.owner, given)


Emitter = Callable[[Forward, Op, Unit], None]
"""Writes the kernel of an anchor, with its prologue and epilogue."""


def spell(given: object) -> str:
    """A literal."""
    if isinstance(given, float) and given in (float("inf"), float("-inf")):
        return f'float("{given}")'
    if isinstance(given, torch.dtype):
        return str(given)
    return repr(given)


def _holding(module: nn.Module, read: frozenset[str], spelled: str, given: object) -> str | None:
    """The first of these members of a module that has the value, as `forward` writes it."""
    for name, value in vars(module).items():
        if name in read and type(value) is type(given) and value == given:
            return f"{spelled}.{name}"
    return None


def _resolve(model: nn.Module, spelled: str) -> nn.Module:
    """The submodule that `self.layers[0].act` names."""
    name = spelled.removeprefix("self").replace("[", ".").replace("]", "").lstrip(".")
    return model.get_submodule(name)
