"""Draws random graphs: single operators, fusions as KernelBench's second level has them, and graphs of any wiring.

Every step is tried at once on small values, so that little has to be thrown away. Whole blocks of networks are
`blocks`. What is drawn is not yet safe in the end: `safety.is_safe` decides.
"""

import itertools
import random
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

from torch import Tensor

from tritonsmith.tasks.graphs.blocks import RECIPES
from tritonsmith.tasks.graphs.dims import MisfitError, Symbol
from tritonsmith.tasks.graphs.draft import Draft
from tritonsmith.tasks.graphs.evaluation import Evaluation
from tritonsmith.tasks.graphs.graph import PARAMETER, Graph, Leaf, Node
from tritonsmith.tasks.graphs.operator import Operator, Value
from tritonsmith.tasks.graphs.safety import is_sound
from tritonsmith.tasks.graphs.sizes import probe_sizes
from tritonsmith.tasks.graphs.table import FAMILIES, TABLE

TRIES = 12
"""Operators tried at a place before the graph is given up."""
MAX_INPUTS = 3
MIN_BLOCK = 3
"""Least depth at which a graph may be a block of a network."""
BACK = 0.5
"""How often a value that can be stretched to an earlier one is put together with it."""
STRETCHED = ("sub", "sub", "mul", "mul", "add", "div", "gate")
LAYERS = ("matmul", "conv")
ALONE, ANCHOR, TAIL, FREE = "alone", "anchor", "tail", "free"
SHARES: dict[str, dict[str, float]] = {
    ALONE: dict.fromkeys(FAMILIES, 1.0) | {"matmul": 1.5, "conv": 3.0, "loss": 1.5, "attention": 0.5},
    ANCHOR: {"matmul": 1.0, "conv": 1.3},
    TAIL: dict.fromkeys(FAMILIES, 0.15)
    | {"pointwise": 1.0, "norm": 0.9, "pooling": 1.0, "reduction": 0.7, "softmax": 0.6, "matmul": 0.06, "conv": 0.06},
    FREE: dict.fromkeys(FAMILIES, 1.0) | {"matmul": 0.2, "conv": 0.2, "reduction": 0.6, "loss": 0.7},
}
"""How often operators of a family stand at a kind of place, times their own weights: alone, first of a fusion, after a
layer that multiplies (as KernelBench's second level has it), anywhere else."""
_FIRST_RANKS = {2: 5, 4: 4, 3: 3, 5: 1, 1: 0.3}


@dataclass
class Sketch:
    """A draft with its values at small sizes, and what may still be put in."""

    rng: random.Random
    families: Collection[str] = FAMILIES
    draft: Draft = field(default_factory=Draft)
    values: list[Tensor] = field(default_factory=list)
    evaluation: Evaluation | None = None
    inputs: int = 0
    """Inputs so far; three are enough for most people."""

    @property
    def depth(self) -> int:
        """Number of operators so far."""
        return sum(isinstance(item, Node) for item in self.draft.items)

    def leaf(self, kind: str, pattern: str) -> int:
        """A new leaf."""
        self.inputs += kind != PARAMETER
        return self.draft.leaf(kind, pattern)

    def step(self, name: str, *operands: int, **attributes: Value) -> int:
        """Apply an operator, with attributes drawn where they are not given. Raises MisfitError where it may not be."""
        operator = TABLE[name]
        if not {operator.family, name} & {*self.families}:
            raise MisfitError(f"{name} is of no family that is wanted")
        before = self.draft.copy(), self.inputs, self.values, self.rng
        try:
            for one in operands:
                self._follow(one)
            rank = len(self.draft.shape(operands[0]))
            drawn = operator.draw(self.rng, rank) | attributes
            given = [*operands]
            for kind in operator.further[len(operands) - 1 :]:
                given.append(self._operand(operator, kind, operands[0]))
            place = self.draft.apply(operator, given, drawn)
            if not self._try():
                raise MisfitError(f"{name} does not suit these values")
        except MisfitError:
            self.draft, self.inputs, self.values, self.rng = before
            raise
        return place

    def _follow(self, place: int) -> None:
        """Let something come after a value. Raises MisfitError where nothing may.

        What is drawn behind a value that nothing followed once comes from a generator of its own, so that the graphs
        of a seed drawn before are drawn still.
        """
        item = self.draft.items[place]
        if isinstance(item, Leaf) or not TABLE[item.name].last:
            return
        name = TABLE[item.name].followed
        if name is None:
            raise MisfitError("nothing comes after integers")
        self.rng = random.Random(str(self.draft.items))
        self.draft.items[place] = replace(item, name=name)
        self.values = [*self.values]
        if place < len(self.values):
            self.values[place] = self.values[place].double()

    def _try(self) -> bool:
        """Whether the newest node suits, at small sizes."""
        sizes = probe_sizes(self.draft)
        if sizes is None:
            return False
        known = self.evaluation is not None and self.evaluation.sizes == sizes
        values = self.values if known else []
        evaluation = Evaluation(self.draft, sizes)
        if known and self.evaluation is not None:
            evaluation.drawn, evaluation.held = dict(self.evaluation.drawn), dict(self.evaluation.held)
        values = evaluation.run(known=values)
        if not is_sound(evaluation, len(values) - 1, values):
            return False
        self.evaluation, self.values = evaluation, values
        return True

    def _operand(self, operator: Operator, kind: str, x: int) -> int:
        """A further operand for an operator on x."""
        rank = len(self.draft.shape(x))
        pattern = "n" * rank if operator.second is None else operator.second(rank)
        if kind not in ("value", PARAMETER):
            return self.leaf(kind, pattern)
        if operator.family == "matmul":
            return self._factor(operator, pattern)
        earlier, roll = self._earlier(x), self.rng.random()
        if kind == "value" and earlier and roll < 0.35:
            return self.rng.choice(earlier)
        if operator.second is not None:
            return self.leaf("normal", pattern)
        if kind == PARAMETER or (roll < 0.7 and rank > 1) or self.inputs >= MAX_INPUTS:
            return self.leaf(PARAMETER, _vector(self.rng, rank))
        return self.leaf("positive" if operator.positive else "normal", self._further(x, rank))

    def _factor(self, operator: Operator, pattern: str) -> int:
        """The other operand of a product."""
        if operator.name == "matmul" and self.rng.random() < 0.08:
            pattern = "n1"
        kind = PARAMETER if self.rng.random() < 0.3 and len(pattern) == 2 else "normal"
        return self.leaf(kind, pattern)

    def _earlier(self, x: int) -> list[int]:
        """Earlier values that x may be combined with: of its shape, or stretched to it."""
        shape, found = self.draft.shape(x), []
        for place in range(x):
            other = self.draft.shape(place)
            fits = len(other) == len(shape) and all(b in (a, 1) for a, b in zip(shape, other, strict=True))
            if fits and self._is_value(place):
                found.append(place)
        return found

    def wider(self, x: int) -> list[int]:
        """Earlier values to which x may be stretched, such as what it was reduced from."""
        shape, found = self.draft.shape(x), []
        for place in range(x):
            other = self.draft.shape(place)
            same_rank = len(other) == len(shape) and other != shape
            if same_rank and all(a in (b, 1) for a, b in zip(shape, other, strict=True)) and self._is_value(place):
                found.append(place)
        return found

    def _is_value(self, place: int) -> bool:
        item = self.draft.items[place]
        return item.kind == "normal" if isinstance(item, Leaf) else not TABLE[item.name].last

    def _further(self, x: int, rank: int) -> str:
        """The pattern of a further input: x's shape mostly, or one that is stretched."""
        plain = all(isinstance(dim, Symbol) for dim in self.draft.shape(x))
        if rank and (self.rng.random() < 0.25 or not plain):
            return _vector(self.rng, rank) if self.rng.random() < 0.5 else "n1" + "1" * (rank - 2) if rank > 1 else "n"
        return "n" * rank


def _vector(rng: random.Random, rank: int) -> str:
    """The pattern of a bias: a value for each channel, or for each feature; seldom one value for all."""
    if rng.random() < 0.06:
        return "1"
    if rank >= 4:
        return rng.choice(("n" + "1" * (rank - 2),) * 3 + ("1n" + "1" * (rank - 2),))
    if rank == 3:
        return rng.choice(("n", "n", "n1", "11n"))
    return rng.choice(("n", "n", "n", "1n")) if rank == 2 else "n" * rank


def draw(rng: random.Random, depth: int, families: Collection[str] = FAMILIES) -> Graph | None:
    """A random graph of that depth out of those families (or operators, by name); None where it came to a dead end."""
    sketch = Sketch(rng, families)
    blocks = 0.0 if depth < MIN_BLOCK else 0.3 if depth <= 6 else 0.7
    try:
        output = _blocks(sketch, depth) if rng.random() < blocks else _chain(sketch, depth)
    except MisfitError:
        return None
    graph = sketch.draft.canonical(output)
    return graph if graph.depth == depth else None


def _blocks(sketch: Sketch, depth: int) -> int:
    """A block of a network, another where there is room, and operators one by one up to that depth."""
    x = sketch.leaf("normal", "n" * sketch.rng.choices((2, 3, 4), (4, 4, 5))[0])
    if sketch.rng.random() < 0.15:
        x = _next(sketch, x, _operators(sketch, FREE))
    while recipes := RECIPES.get(len(sketch.draft.shape(x)), ()):
        if depth - sketch.depth < MIN_BLOCK:
            break
        x = sketch.rng.choice(recipes)(sketch, x)
        if sketch.rng.random() < 0.5:
            break
    while sketch.depth < depth:
        x = _next(sketch, x, _operators(sketch, TAIL))
    return x


def _chain(sketch: Sketch, depth: int) -> int:
    """Operators one after the other, values from before coming back in where a binary operator takes one."""
    fusion = depth > 1 and sketch.rng.random() < 0.5
    x = _start(sketch, _operators(sketch, ALONE if depth == 1 else ANCHOR if fusion else FREE))
    while sketch.depth < depth:
        item = sketch.draft.items[x]
        anchored = fusion or (isinstance(item, Node) and TABLE[item.name].family in LAYERS)
        x = _next(sketch, x, _operators(sketch, TAIL if anchored else FREE))
    return x


def _operators(sketch: Sketch, place: str) -> list[Operator]:
    """Operators to try one after the other at a kind of place."""
    operators, weights = _pool(frozenset(sketch.families), place)
    return sketch.rng.choices(operators, cum_weights=weights, k=TRIES)


@cache
def _pool(families: frozenset[str], place: str) -> tuple[list[Operator], list[float]]:
    """The operators of those families, or of those names, and how often each is drawn at a place, summed up; what is
    named is drawn as often as anything else that is.
    """
    pool = [one for one in TABLE.values() if {one.family, one.name} & families]
    share = SHARES[place]
    weights = [
        1.0 if one.name in families else share.get(one.family, 0.0) * one.weight ** (0.5 if place == ALONE else 1.0)
        for one in pool
    ]
    if not any(weights):  # none of those families stands there; then all of them do
        weights = [one.weight for one in pool]
    return pool, list(itertools.accumulate(weights))


def _start(sketch: Sketch, operators: Sequence[Operator]) -> int:
    """The first operator on a fresh input."""
    rng = sketch.rng
    for operator in operators:
        ranks = [rank for rank in _FIRST_RANKS if rank in operator.ranks]
        rank = rng.choices(ranks, [_FIRST_RANKS[one] for one in ranks])[0]
        kind = operator.first or ("positive" if operator.positive else "normal")
        before = sketch.draft.copy(), sketch.inputs
        try:
            return sketch.step(operator.name, sketch.leaf(kind, "n" * rank))
        except MisfitError:
            sketch.draft, sketch.inputs = before
    raise MisfitError("no operator to start with")


def _next(sketch: Sketch, x: int, operators: Sequence[Operator]) -> int:
    """One more operator on x."""
    if sketch.rng.random() < BACK and (wider := sketch.wider(x)):
        with suppress(MisfitError):
            return sketch.step(sketch.rng.choice(STRETCHED), sketch.rng.choice(wider), x)
    for operator in operators:
        if operator.first is not None or len(sketch.draft.shape(x)) not in operator.ranks:
            continue
        try:
            return sketch.step(operator.name, x)
        except MisfitError:
            continue
    raise MisfitError("no operator fits")
