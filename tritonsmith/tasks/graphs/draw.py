"""Draws random graphs: single operators, fusions as KernelBench's second level has them, and graphs of any wiring.

Every step is tried at once on small values, so that little has to be thrown away. Whole blocks of networks are
`blocks`. What is drawn is not yet safe in the end: `safety.is_safe` decides.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from torch import Tensor

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
ANCHORS = ("matmul", "conv")
"""Families of which a graph seldom has two."""
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

    def leaf(self, kind: str, pattern: str) -> int:
        """A new leaf."""
        self.inputs += kind != PARAMETER
        return self.draft.leaf(kind, pattern)

    def step(self, name: str, *operands: int, **attributes: Value) -> int:
        """Apply an operator, with attributes drawn where they are not given. Raises MisfitError where it may not be."""
        operator = TABLE[name]
        if operator.family not in self.families:
            raise MisfitError(f"{name} is of no family that is wanted")
        before = self.draft.copy(), self.inputs
        try:
            rank = len(self.draft.shape(operands[0]))
            drawn = operator.draw(self.rng, rank) | attributes
            given = [*operands]
            for kind in operator.further[len(operands) - 1 :]:
                given.append(self._operand(operator, kind, operands[0]))
            place = self.draft.apply(operator, given, drawn)
            if not self._try():
                raise MisfitError(f"{name} does not suit these values")
        except MisfitError:
            self.draft, self.inputs = before
            raise
        return place

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
        if kind not in ("value", PARAMETER):
            pattern = "n" * rank if operator.second is None else operator.second(rank)
            return self.leaf(kind, pattern)
        if operator.second is not None:
            return self._factor(operator, operator.second(rank))
        earlier = self._earlier(x)
        roll = self.rng.random()
        if kind == "value" and earlier and roll < 0.35:
            return self.rng.choice(earlier)
        if kind == PARAMETER or (roll < 0.7 and rank > 1) or self.inputs >= 3:
            return self.leaf(PARAMETER, _vector(self.rng, rank))
        return self.leaf("positive" if operator.positive else "normal", self._further(x, rank))

    def _factor(self, operator: Operator, pattern: str) -> int:
        kind = PARAMETER if self.rng.random() < 0.3 and len(pattern) == 2 else "normal"
        if len(pattern) == 2 and operator.name == "matmul" and self.rng.random() < 0.08:
            pattern = "n1"
        return self.leaf(kind, pattern)

    def _earlier(self, x: int) -> list[int]:
        """Earlier values that x may be combined with: of its shape, or stretched to it."""
        shape, found = self.draft.shape(x), []
        for place in range(x):
            other, item = self.draft.shape(place), self.draft.items[place]
            fits = len(other) == len(shape) and all(b in (a, 1) for a, b in zip(shape, other, strict=True))
            if fits and not (isinstance(item, Leaf) and item.kind != "normal"):
                found.append(place)
        return found

    def _further(self, x: int, rank: int) -> str:
        """The pattern of a further input: x's shape mostly, or one that is stretched."""
        plain = all(isinstance(dim, Symbol) for dim in self.draft.shape(x))
        if rank and (self.rng.random() < 0.25 or not plain):
            return _vector(self.rng, rank) if self.rng.random() < 0.5 else "n1" + "1" * (rank - 2) if rank > 1 else "n"
        return "n" * rank


def _vector(rng: random.Random, rank: int) -> str:
    """The pattern of a bias: a value for each channel, or for each feature."""
    if rank >= 4:
        return rng.choice(("n" + "1" * (rank - 2),) * 3 + ("1n" + "1" * (rank - 2),))
    if rank == 3:
        return rng.choice(("n", "n", "n1", "11n"))
    return rng.choice(("n", "n", "n", "1n")) if rank == 2 else "n" * rank


def draw(rng: random.Random, depth: int, families: Collection[str] = FAMILIES) -> Graph | None:
    """A random graph of that depth out of those families; None where it came to a dead end."""
    sketch = Sketch(rng, families)
    try:
        output = _chain(sketch, depth, fusion=depth > 1 and rng.random() < 0.5)
    except MisfitError:
        return None
    graph = sketch.draft.canonical(output)
    return graph if graph.depth == depth else None


def _chain(sketch: Sketch, depth: int, fusion: bool) -> int:
    """Operators one after the other, values from before coming back in where a binary operator takes one."""
    rng = sketch.rng
    pool = [one for one in TABLE.values() if one.family in sketch.families]
    anchors = [one for one in pool if one.family in ANCHORS]
    x = _start(sketch, anchors if fusion and anchors else pool)
    anchored = TABLE[_name(sketch.draft, x)].family in ANCHORS
    for _ in range(depth - 1):
        weights = [_weight(one, anchored) for one in pool]
        x = _next(sketch, x, rng.choices(pool, weights, k=TRIES))
        anchored = anchored or TABLE[_name(sketch.draft, x)].family in ANCHORS
    return x


def _weight(operator: Operator, anchored: bool) -> float:
    scale = {"conv": 0.15, "matmul": 0.15, "reduction": 0.6}.get(operator.family, 1.0)
    return operator.weight * (scale * 0.4 if anchored and operator.family in ANCHORS else scale)


def _start(sketch: Sketch, pool: Sequence[Operator]) -> int:
    """The first operator on a fresh input."""
    rng = sketch.rng
    for operator in rng.choices(pool, [one.weight for one in pool], k=TRIES):
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
    if TABLE[_name(sketch.draft, x)].last:
        raise MisfitError("nothing comes after integers")
    for operator in operators:
        if operator.first is not None or len(sketch.draft.shape(x)) not in operator.ranks:
            continue
        try:
            return sketch.step(operator.name, x)
        except MisfitError:
            continue
    raise MisfitError("no operator fits")


def _name(draft: Draft, place: int) -> str:
    item = draft.items[place]
    assert isinstance(item, Node)
    return item.name
