"""What an operator is: its name, attributes, shape rule, and how people spell it in PyTorch.

The table itself is spread over a file a family; `table` puts it together. In a spelling `{x}`, `{y}`, `{z}` are the
operands and `{name}` is an attribute, a size or a parameter; `{name?value}` stands for `, name=...` and is left out
where the attribute has that value. Knows nothing of Triton.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tritonsmith.tasks.graphs.dims import Dim, MisfitError, Shape, Solver

Value = int | float | bool | str | tuple[int, ...] | None
Attributes = Mapping[str, Value]
ShapeRule = Callable[[Solver, Sequence[Shape], Attributes], Shape]
Choice = tuple[Value, ...] | Callable[[random.Random, int], Value]
"""Values an attribute is drawn from, or a function of the generator and the rank of the first operand."""

FIELD = re.compile(r"\{(\w+)(?:\?([^}]*))?\}")
"""A field of a spelling."""
OPERANDS = ("x", "y", "z")
HELD = ("weight", "bias", "mean", "variance")
"""Names of the parameters and buffers that a module holds."""


@dataclass(frozen=True)
class Parameter:
    """A tensor that an operator's module holds."""

    shape: Shape
    init: str = "uniform"
    """`uniform` within 1/sqrt(fan in), as nn.Linear does, and `bias` likewise; `ones`, `zeros`, `normal`, or
    `variance`, from 0.5 to 1.5."""


@dataclass(frozen=True)
class Operator:
    """One operator. All of its spellings and modules mean the same; the first spelling defines its values."""

    name: str
    family: str
    spellings: tuple[str, ...]
    """Expressions of `forward`. The first one uses operands, attributes and parameters only."""
    shape: ShapeRule
    modules: tuple[str, ...] = ()
    """The `nn` module that does the same, as made in `__init__`."""
    call: str = "{x}"
    """What the module is called with; an operand that is not in it is the module's own."""
    after: tuple[str, ...] = ()
    """Statements of `__init__` once `self.{member}` is made."""
    attributes: Mapping[str, Choice] = field(default_factory=dict)
    further: tuple[str, ...] = ()
    """What the operands after the first are: `value`, or a kind of leaf (`labels`, `mask`, ...)."""
    ranks: tuple[int, ...] = (1, 2, 3, 4, 5)
    """Ranks of the first operand."""
    sizes: Callable[[Sequence[Shape], Shape], Mapping[str, Dim]] | None = None
    """Sizes that the module's constructor names, from the operands' shapes and the result's."""
    parameters: Callable[[Sequence[Shape], Shape, Attributes], Mapping[str, Parameter]] | None = None
    """What the module holds, for the first spelling."""
    second: Callable[[int], str] | None = None
    """The pattern of its further leaf for a first operand of some rank, where that is not the first one's."""
    picks: Callable[[Sequence[Shape], Attributes], Dim] | None = None
    """How many values its operand of labels or indices has."""
    positive: bool = False
    """Its last operand must be clearly positive."""
    weight: float = 1.0
    """How often it is drawn."""
    commutative: bool = False
    first: str | None = None
    """Kind of leaf that the first operand must be, where it is not any value."""
    exact: bool = False
    """Not continuous: its operand must be an input as it is, or rounding decides."""
    last: bool = False
    """Gives integers, truths or zeros and ones: nothing comes after it, but for `followed`."""
    followed: str | None = None
    """The operator that stands in its place where something comes after it, of the same operands and attributes."""

    def draw(self, rng: random.Random, rank: int) -> dict[str, Value]:
        """Attributes for a first operand of that rank."""
        return {
            name: choice(rng, rank) if callable(choice) else rng.choice(choice)
            for name, choice in self.attributes.items()
        }


def same(solver: Solver, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """The shape rule of what changes no shape."""
    return shapes[0]


def broadcast(solver: Solver, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """The shape rule of arithmetic: dimensions from the right, 1 stretches, all others are made equal."""
    result = shapes[0]
    for shape in shapes[1:]:
        rank = max(len(result), len(shape))
        left, right = (1,) * (rank - len(result)) + result, (1,) * (rank - len(shape)) + shape
        result = tuple(b if a == 1 else a if b == 1 else solver.same(a, b) for a, b in zip(left, right, strict=True))
    return result


def axis(rng: random.Random, rank: int) -> int:
    """An axis: the last one half of the time, the first of several seldom."""
    if rank == 1 or rng.random() < 0.5:
        return rank - 1
    return 0 if rng.random() < 0.15 else rng.randrange(1, rank)


def integer(attributes: Attributes, name: str) -> int:
    """An attribute that is an integer."""
    value = attributes[name]
    assert isinstance(value, int)
    return value


def steps(low: int, high: int) -> tuple[float, ...]:
    """Multiples of 0.05 from low/20 to high/20 that are no whole numbers."""
    return tuple(round(k / 20, 2) for k in range(low, high + 1) if k % 20)


def need_rank(shape: Shape, *ranks: int) -> None:
    """Raises MisfitError for a shape of another rank."""
    if len(shape) not in ranks:
        raise MisfitError(f"rank {len(shape)} is none of {ranks}")
