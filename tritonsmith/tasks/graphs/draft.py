"""A graph while it is drawn or replayed: operators applied one after the other, shapes solved on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tritonsmith.tasks.graphs.dims import Dim, MisfitError, Shape, Solver
from tritonsmith.tasks.graphs.graph import Graph, Item, Leaf, Node
from tritonsmith.tasks.graphs.operator import Operator, Value
from tritonsmith.tasks.graphs.table import TABLE, is_commutative

_ROLES = {
    0: (),
    1: ("features",),
    2: ("batch", "features"),
    3: ("batch", "length", "features"),
    4: ("batch", "channels", "height", "width"),
    5: ("batch", "channels", "depth", "height", "width"),
}


@dataclass
class Draft:
    """Leaves and nodes so far, with the shape of each."""

    items: list[Item] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    solver: Solver = field(default_factory=Solver)

    def leaf(self, kind: str, pattern: str) -> int:
        """Add an input or a parameter; its place. Raises ValueError for a pattern that is none."""
        if not set(pattern) <= {"n", "1"} or len(pattern) not in _ROLES:
            raise ValueError(f"no pattern of dimensions: {pattern}")
        roles = _ROLES[len(pattern)]
        shape = tuple(
            1 if letter == "1" else self.solver.fresh(role) for letter, role in zip(pattern, roles, strict=True)
        )
        self.items.append(Leaf(kind, pattern))
        self.shapes.append(shape)
        return len(self.items) - 1

    def apply(self, operator: Operator, operands: Sequence[int], attributes: Mapping[str, Value]) -> int:
        """Add an operator; its place. Raises MisfitError, and changes nothing, where it does not fit.

        Raises ValueError for operands or attributes that are not the operator's.
        """
        _check(operator, operands, attributes)
        trial = self.solver.copy()
        given = [trial.shape(self.shapes[place]) for place in operands]
        if len(given[0]) not in operator.ranks:
            raise MisfitError(f"{operator.name} takes no rank {len(given[0])}")
        shape = operator.shape(trial, given, attributes)
        self.solver = trial
        self.items.append(Node(operator.name, tuple(operands), tuple(attributes.items())))
        self.shapes.append(shape)
        return len(self.items) - 1

    def shape(self, place: int) -> Shape:
        """The shape of a value, with everything known put in."""
        return self.solver.shape(self.shapes[place])

    def copy(self) -> "Draft":
        """A draft of its own."""
        return Draft(list(self.items), list(self.shapes), self.solver.copy())

    def canonical(self, output: int) -> Graph:
        """The canonical graph of one of the values."""
        return Graph.of(self.items, output, is_commutative)


def _check(operator: Operator, operands: Sequence[int], attributes: Mapping[str, Value]) -> None:
    if len(operands) != 1 + len(operator.further) or list(attributes) != list(operator.attributes):
        raise ValueError(f"{operator.name} takes {1 + len(operator.further)} operands and {list(operator.attributes)}")
    for name, value in attributes.items():
        choice = operator.attributes[name]
        kinds = (int, tuple) if callable(choice) else tuple(type(one) for one in choice)
        if not isinstance(value, kinds):
            raise ValueError(f"{operator.name} takes no {name}={value!r}")


def replay(graph: Graph) -> Draft:
    """The draft of a graph, shapes solved. Raises ValueError for a graph that is not valid."""
    draft = Draft()
    try:
        for item in graph.items:
            if isinstance(item, Leaf):
                draft.leaf(item.kind, item.pattern)
            else:
                draft.apply(TABLE[item.name], item.operands, dict(item.attributes))
    except (MisfitError, KeyError, IndexError, TypeError, ValueError, AssertionError) as error:
        raise ValueError(f"no valid graph: {graph}: {error}") from error
    return draft


def index_range(draft: Draft, place: int) -> Dim:
    """How many values an index leaf has: the size of what it picks from."""
    for node in draft.items:
        if isinstance(node, Node) and place in node.operands:
            operator = TABLE[node.name]
            if operator.picks is not None:
                shapes = [draft.shape(one) for one in node.operands]
                return operator.picks(shapes, dict(node.attributes))
    return 2
