"""The pieces of a task's source while it is written: names, constants, members of the model, expressions.

Puts no file together: see `writing`.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tritonsmith.tasks.graphs import styles
from tritonsmith.tasks.graphs.dims import Dim, Symbol, symbols
from tritonsmith.tasks.graphs.draft import Draft
from tritonsmith.tasks.graphs.evaluation import literal
from tritonsmith.tasks.graphs.graph import PARAMETER, Leaf, Node
from tritonsmith.tasks.graphs.operator import FIELD, HELD, Operator, Value
from tritonsmith.tasks.graphs.styles import Style
from tritonsmith.tasks.graphs.table import TABLE

_AFFINE = {
    "weight": "nn.init.uniform_(self.{member}.weight, 0.5, 1.5)",
    "bias": "nn.init.normal_(self.{member}.bias)",
}
_INITIAL = {
    "ones": "torch.ones({shape})",
    "zeros": "torch.zeros({shape})",
    "uniform": "torch.randn({shape}) * 0.1",
    "bias": "torch.randn({shape}) * 0.1",
    "normal": "torch.randn({shape})",
    "variance": "torch.rand({shape}) + 0.5",
}
"""How people make what a module would hold, by `Parameter.init`."""
_AXES = ("dim", "dim0", "dim1")


_STRUCTURE = ("order", "pad", "index", "chunks", "skip", "shifts", "at")
"""Attributes that nobody makes an argument."""


@dataclass
class Writer:
    """The pieces of one task's source while it is written."""

    draft: Draft
    sizes: Mapping[Symbol, int]
    style: Style
    rng: random.Random
    uniform: bool = False
    """Whether inputs may be drawn from 0 to 1."""
    names: dict[Symbol, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    """Names of sizes and attributes at module level, and what they are."""
    arguments: dict[str, str] = field(default_factory=dict)
    """The constructor's arguments, and their types."""
    members: dict[str, str] = field(default_factory=dict)
    """Members of the model, and how they are made."""
    after: list[str] = field(default_factory=list)
    """Statements of `__init__` after the members."""
    chosen: dict[int, str] = field(default_factory=dict)
    """For each node its template: `self.<member>({x})`, or a spelling."""
    modules: dict[int, str] = field(default_factory=dict)
    """For each node that is a module's call on its operand, the member."""
    lines: list[str] = field(default_factory=list)
    """Statements of `forward`."""
    inputs: dict[int, str] = field(default_factory=dict)
    """Names of the inputs; no constant may have one of them."""

    # -- names ---------------------------------------------------------------------------------------------

    def fresh(self, wanted: str, taken: Mapping[str, object]) -> str:
        """The name, with a number where it is taken."""
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}{number}"
        return name

    def free(self, wanted: str) -> str:
        """A name for a constant."""
        return self.fresh(wanted, dict.fromkeys([*self.constants, *self.inputs.values(), *self.members]))

    def symbol(self, symbol: Symbol) -> str:
        """The name of a size; it becomes a constant of the module."""
        if symbol not in self.names:
            role = self.draft.solver.roles[symbol]
            if self.style.short_names and role in styles.SHORT_NAMES:
                wanted = styles.SHORT_NAMES[role]
            else:
                wanted = self.rng.choice(styles.SIZE_NAMES[role])
            self.name(symbol, wanted)
        return self.names[symbol]

    def name(self, symbol: Symbol, wanted: str) -> None:
        """Give a size a name."""
        self.names[symbol] = self.free(wanted)
        self.constants[self.names[symbol]] = str(self.sizes[symbol])

    def dim(self, dim: Dim, tight: bool = False) -> str:
        """A dimension as an expression of names; `tight` puts parentheses around a sum."""
        if isinstance(dim, int):
            return str(dim)
        if isinstance(dim, Symbol):
            return self.symbol(dim)
        left = self.dim(dim.left, tight=dim.operator != "+")
        if dim.operator == "+" and isinstance(dim.right, int) and dim.right < 0:
            text = f"{left} - {-dim.right}"
        else:
            text = f"{left} {dim.operator} {self.dim(dim.right, tight=dim.operator != '+')}"
        return f"({text})" if tight else text

    def size(self, dim: Dim) -> str:
        """A size inside `__init__`; the symbols in it become arguments."""
        text = self.dim(dim)
        for symbol in symbols(dim):
            self.arguments.setdefault(self.names[symbol], "int")
        return text

    def attribute(self, place: int, name: str, value: Value, inside_init: bool) -> str:
        """An attribute where it is used: a number, or an argument of the constructor, kept in a member."""
        node = self._node(place)
        if name in _AXES or name == "dims":
            return self._axes(place, value)
        if name in _STRUCTURE:
            return literal(value)
        plain = isinstance(value, bool | str) or value is None
        chance = self.style.attribute_arguments * (1.0 if inside_init else 0.8)
        if plain or self.rng.random() >= chance or (isinstance(value, int) and not inside_init):
            return literal(value)
        wanted = self.rng.choice(styles.ATTRIBUTE_NAMES.get((node.name, name), (name if name != "c" else "value",)))
        shared = self.constants.get(wanted) == literal(value) and wanted in self.arguments
        shared = shared and self.members.get(wanted, wanted) == wanted
        argument = wanted if shared else self.free(wanted)
        self.constants[argument] = literal(value)
        self.arguments[argument] = (
            "float" if isinstance(value, float) else "tuple" if isinstance(value, tuple) else "int"
        )
        if inside_init:
            return argument
        self.members.setdefault(argument, argument)
        return f"self.{argument}"

    def _axes(self, place: int, value: Value) -> str:
        rank = len(self.draft.shape(self._node(place).operands[0]))

        def one(axis: int) -> str:
            negative = axis == rank - 1 and self.style.negative_axes
            return str(axis - rank if negative else axis)

        if isinstance(value, tuple):
            inner = ", ".join(str(axis) for axis in value)
            return f"[{inner}]" if self.rng.random() < 0.4 else f"({inner}{',' if len(value) == 1 else ''})"
        assert isinstance(value, int)
        return one(value)

    def _node(self, place: int) -> Node:
        item = self.draft.items[place]
        assert isinstance(item, Node)
        return item

    # -- members -------------------------------------------------------------------------------------------

    def choose(self, place: int) -> None:
        """Decide how a node is spelled, and make the member it needs."""
        node = self._node(place)
        operator = TABLE[node.name]
        held = operator.parameters is not None or (operator.first == PARAMETER and self._is_parameter(node.operands[0]))
        module = operator.modules and self.rng.random() < (1 - self.style.functional if held else self.style.modules)
        if module:
            member = self._module(place, operator)
            self.chosen[place] = f"self.{member}({operator.call})"
            if operator.call == "{x}":
                self.modules[place] = member
        elif operator.parameters is not None:
            self.chosen[place] = self._functional(place, operator)
        else:
            self.chosen[place] = self._spelling(operator)

    def _is_parameter(self, place: int) -> bool:
        item = self.draft.items[place]
        return isinstance(item, Leaf) and item.kind == PARAMETER

    def _module(self, place: int, operator: Operator) -> str:
        member = self.fresh(self.rng.choice(_member_words(operator)), self.members)
        self.members[member] = ""  # taken, before attributes take names too
        self.members[member] = self.fill(place, self.rng.choice(operator.modules), {}, inside_init=True)
        self.after += [statement.format(member=member) for statement in operator.after]
        if self.style.affine and operator.family == "norm" and operator.parameters is not None:
            shapes = [self.draft.shape(one) for one in self._node(place).operands]
            held = operator.parameters(shapes, self.draft.shape(place), dict(self._node(place).attributes))
            self.after += [_AFFINE[name].format(member=member) for name in held if name in _AFFINE]
        return member

    def _functional(self, place: int, operator: Operator) -> str:
        """The first spelling on parameters of the model's own."""
        node = self._node(place)
        assert operator.parameters is not None
        shapes = [self.draft.shape(one) for one in node.operands]
        template = operator.spellings[0]
        held = operator.parameters(shapes, self.draft.shape(place), dict(node.attributes))
        for name in HELD:
            if name not in held:
                template = template.replace(f"{{{name}}}", "None")
                continue
            member = self.fresh(name, self.members)
            shape = ", ".join(self.size(dim) for dim in held[name].shape)
            self.members[member] = f"nn.Parameter({_INITIAL[held[name].init].format(shape=shape)})"
            template = template.replace(f"{{{name}}}", f"self.{member}")
        return template

    def _spelling(self, operator: Operator) -> str:
        wanted = {"torch": "torch.", "functional": "F.", "method": "{x}."}.get(self.style.namespace)
        liked = [one for one in operator.spellings if wanted and one.startswith(wanted)]
        return self.rng.choice(liked if liked and self.rng.random() < 0.8 else operator.spellings)

    def parameter(self, place: int) -> str:
        """A parameter leaf as a member."""
        shape = self.draft.shape(place)
        matrix = len([dim for dim in shape if dim != 1]) > 1
        member = self.fresh(self.rng.choice(styles.MEMBER_NAMES["matrix" if matrix else "parameter"]), self.members)
        text = ", ".join(self.size(dim) for dim in shape)
        made = self.style.parameter_init.format(shape=text)
        whole = len(shape) > 1 and all(isinstance(dim, int | Symbol) for dim in shape)
        if matrix:
            made = f"torch.randn({text}) / {text.split(', ')[0]} ** 0.5"
        elif whole and self.style.attribute_arguments > 0.5 and self.rng.random() < 0.6:
            argument = self.free(f"{member}_shape")
            self.constants[argument] = f"({text})"
            self.arguments[argument] = "tuple"
            made = f"torch.randn({argument})"
        self.members[member] = f"nn.Parameter({made})"
        return f"self.{member}"

    # -- expressions ---------------------------------------------------------------------------------------

    def fill(self, place: int, template: str, operands: Mapping[str, str], inside_init: bool = False) -> str:
        """A template with everything put in."""
        node = self._node(place)
        operator, known = TABLE[node.name], dict(node.attributes)
        shapes = [self.draft.shape(one) for one in node.operands]
        sized = operator.sizes(shapes, self.draft.shape(place)) if operator.sizes else {}
        texts: dict[str, str] = {}
        parts, end = [], 0
        for match in FIELD.finditer(template):
            parts.append(template[end : match.start()])
            end = match.end()
            name, default = match.groups()
            if name in operands:
                parts.append(_enclosed(operands[name], template, match.start(), match.end()))
            elif name in sized:
                parts.append(self.size(sized[name]))
            elif name == "spread":
                parts.append(literal(known["order"])[1:-1])
            elif default is not None:
                if literal(known[name]) != default or self.rng.random() < self.style.explicit:
                    parts.append(f", {name}={self.attribute(place, name, known[name], inside_init)}")
            else:
                if name not in texts:
                    texts[name] = self.attribute(place, name, known[name], inside_init)
                parts.append(texts[name])
        return "".join([*parts, template[end:]]).replace("(, ", "(")


def _enclosed(text: str, template: str, start: int, end: int) -> str:
    """An operand's text, in parentheses where it would be torn apart."""
    whole = start > 0 and template[:start].rstrip()[-1:] in "([," and template[end : end + 1] in (")", "]", ",")
    return text if whole or not is_operation(text) else f"({text})"


def is_operation(expression: str) -> bool:
    """Whether the outermost thing in an expression is an infix or prefix operator."""
    level = 0
    for character in expression:
        level += (character in "([") - (character in ")]")
        if character in " -" and level == 0:
            return True
    return False


def _member_words(operator: Operator) -> Sequence[str]:
    for key, words in styles.MEMBER_NAMES.items():
        if operator.name.startswith(key):
            return words
    if operator.family == "loss":
        return "loss", "criterion", "loss_fn"
    if operator.family == "pointwise":
        return (operator.name, operator.name, *styles.MEMBER_NAMES["pointwise"])
    return (operator.name.rstrip("123d") or operator.name,)
