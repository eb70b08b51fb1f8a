"""An operator graph as plain data, in a canonical form that knows nothing of names, sizes and writing.

`str` of a graph is Python: `x0 = normal('nnnn'); v0 = conv2d(x0, kernel_size=3, ...); v1 = relu(v0)`. A leaf is an
input or a parameter; its pattern has an `n` for each free dimension and a `1` for each that is stretched. Operands of
commutative operators stand in the order that makes the text smallest. Splits are made by the hash of the text.
"""

import ast
import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tritonsmith.tasks.graphs.operator import Value

Split = Literal["train", "validation", "heldout"]
LEAVES = (
    "normal",
    "positive",
    "near_one",
    "labels",
    "indices",
    "mask",
    "rare",
    "binary",
    "signs",
    "probabilities",
    "log_probabilities",
    "parameter",
)
"""Kinds of leaves: what their values are like, for whoever draws them."""
PARAMETER = "parameter"
MAX_TIES = 7
"""Commutative operators whose orders are tried out; the rest keep theirs."""


@dataclass(frozen=True)
class Leaf:
    """An input or a parameter."""

    kind: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.kind}({self.pattern!r})"


@dataclass(frozen=True)
class Node:
    """An operator with its operands: indices into the leaves and nodes before it."""

    name: str
    operands: tuple[int, ...]
    attributes: tuple[tuple[str, Value], ...] = ()


Item = Leaf | Node


@dataclass(frozen=True)
class Graph:
    """Leaves, then nodes, each after what it uses; the last one is the output."""

    items: tuple[Item, ...]

    def __str__(self) -> str:
        return _text(self.items)

    @classmethod
    def of(cls, items: Sequence[Item], output: int, commutative: Callable[[str], bool]) -> "Graph":
        """The canonical graph of what `items[output]` is made of; what it does not need is left out."""
        ties = [
            place
            for place in sorted(_needed(items, output))
            if isinstance(item := items[place], Node)
            and commutative(item.name)
            and item.operands[0] != item.operands[1]
        ]
        best: tuple[str, tuple[Item, ...]] | None = None
        for turned in itertools.product((False, True), repeat=min(len(ties), MAX_TIES)):
            swapped = {place for place, turn in zip(ties, turned, strict=False) if turn}
            ordered = _ordered(items, output, swapped)
            text = _text(ordered)
            if best is None or text < best[0]:
                best = text, ordered
        assert best is not None
        return cls(best[1])

    @classmethod
    def parse(cls, text: str) -> "Graph":
        """Inverse of `str`. Raises ValueError for what is no graph."""
        try:
            return cls(tuple(_items(ast.parse(text))))
        except (SyntaxError, KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"no operator graph: {text!r}") from error

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Inputs and parameters, in the order in which they are used."""
        return tuple(item for item in self.items if isinstance(item, Leaf))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The operators."""
        return tuple(item for item in self.items if isinstance(item, Node))

    @property
    def depth(self) -> int:
        """Number of operators."""
        return len(self.nodes)

    @property
    def digest(self) -> str:
        """The hash that names the graph and decides its split."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    @property
    def split(self) -> Split:
        """A tenth is held out, a twentieth is for validation; the rest may be trained on."""
        number = int(self.digest, 16) % 20
        return "heldout" if number < 2 else "validation" if number == 2 else "train"


def _needed(items: Sequence[Item], output: int) -> set[int]:
    needed, pending = set(), [output]
    while pending:
        place = pending.pop()
        if place not in needed:
            needed.add(place)
            item = items[place]
            pending += item.operands if isinstance(item, Node) else ()
    return needed


def _ordered(items: Sequence[Item], output: int, swapped: set[int]) -> tuple[Item, ...]:
    """Leaves in the order of first use, then nodes in post-order from the output."""
    leaves: list[int] = []
    nodes: list[int] = []
    seen: set[int] = set()

    def operands(place: int) -> tuple[int, ...]:
        item = items[place]
        assert isinstance(item, Node)
        return (item.operands[1], item.operands[0], *item.operands[2:]) if place in swapped else item.operands

    def visit(place: int) -> None:
        if place in seen:
            return
        seen.add(place)
        if isinstance(items[place], Leaf):
            leaves.append(place)
            return
        for operand in operands(place):
            visit(operand)
        nodes.append(place)

    visit(output)
    at = {place: index for index, place in enumerate([*leaves, *nodes])}
    made: list[Item] = [items[place] for place in leaves]
    for place in nodes:
        item = items[place]
        assert isinstance(item, Node)
        made.append(Node(item.name, tuple(at[one] for one in operands(place)), item.attributes))
    return tuple(made)


def _text(items: Sequence[Item]) -> str:
    names: list[str] = []
    lines: list[str] = []
    counts = {"x": 0, "p": 0, "v": 0}
    for item in items:
        letter = "v" if isinstance(item, Node) else "p" if item.kind == PARAMETER else "x"
        names.append(f"{letter}{counts[letter]}")
        counts[letter] += 1
        if isinstance(item, Leaf):
            lines.append(f"{names[-1]} = {item}")
        else:
            attributes = [f"{name}={value!r}" for name, value in item.attributes]
            lines.append(f"{names[-1]} = {item.name}({', '.join([*(names[i] for i in item.operands), *attributes])})")
    return "; ".join(lines)


def _items(tree: ast.Module) -> list[Item]:
    names: dict[str, int] = {}
    items: list[Item] = []
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            raise TypeError("a graph is assignments of calls")
        call, target = statement.value, statement.targets[0]
        if not isinstance(call.func, ast.Name) or not isinstance(target, ast.Name):
            raise TypeError("a graph calls operators by name")
        if call.func.id in LEAVES:
            items.append(Leaf(call.func.id, ast.literal_eval(call.args[0])))
        else:
            operands = tuple(names[one.id] for one in call.args if isinstance(one, ast.Name))
            attributes = tuple((str(one.arg), ast.literal_eval(one.value)) for one in call.keywords)
            items.append(Node(call.func.id, operands, attributes))
        names[target.id] = len(items) - 1
    if not items:
        raise TypeError("a graph has at least one operator")
    return items
