"""The values of a graph at given sizes, by the first spelling of each operator.

Leaves and modules' parameters are drawn as a task draws them, with a few values far out. Writes no task.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import CodeType

import torch
import torch.nn.functional as F
from torch import Tensor

from tritonsmith.tasks.graphs.dims import Shape, evaluate
from tritonsmith.tasks.graphs.draft import Draft, index_range
from tritonsmith.tasks.graphs.graph import PARAMETER, Leaf, Node
from tritonsmith.tasks.graphs.operator import FIELD, HELD, OPERANDS, Value
from tritonsmith.tasks.graphs.sizes import Sizes
from tritonsmith.tasks.graphs.table import TABLE

_POOL = 1 << 20
"""Normal numbers that are drawn once; every leaf is a part of them."""
_FAR = torch.tensor([-5.0, 5.0, -4.5, 4.5, 0.0625], dtype=torch.float64)


def literal(value: Value) -> str:
    """An attribute's value as people write it."""
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value).replace("e-0", "e-")


@cache
def _code(name: str, attributes: tuple[tuple[str, Value], ...]) -> CodeType:
    """The first spelling of a node; operands and parameters keep their names."""
    known = dict(attributes)

    def fill(match: re.Match[str]) -> str:
        field, default = match.group(1), match.group(2)
        if field not in known or field in HELD:
            return field
        return literal(known[field]) if default is None else f", {field}={literal(known[field])}"

    return compile(FIELD.sub(fill, TABLE[name].spellings[0]), name, "eval")


def normal(shape: Sequence[int], seed: int) -> Tensor:
    """Normal values in float64, float32 by nature; the same for the same seed."""
    count = math.prod(shape)
    start = seed * 7919 % (_POOL // 2)
    if start + count > _POOL:
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()
    return _pool()[start : start + count].view(*shape).clone()


@cache
def _pool() -> Tensor:
    return torch.randn(_POOL, generator=torch.Generator().manual_seed(0)).double()


def _uniform(shape: Sequence[int], seed: int) -> Tensor:
    return (0.5 * (1.0 + torch.erf(normal(shape, seed) / math.sqrt(2.0)))).float().double()


def draw_leaf(leaf: Leaf, shape: Sequence[int], values: int, seed: int, uniform: bool = False) -> Tensor:
    """A leaf's values; `values` is how many an index takes, `uniform` draws normal inputs from 0 to 1."""
    kind = leaf.kind
    if kind == "normal" and uniform:
        return _uniform(shape, seed)
    if kind in ("normal", PARAMETER):
        drawn = normal(shape, seed)
        if kind == "normal" and drawn.numel() > 256:
            drawn.view(-1)[:: drawn.numel() // len(_FAR)][: len(_FAR)] = _FAR
        return drawn
    flat = _uniform(shape, seed)
    if kind == "positive":
        return flat + 0.5
    if kind == "near_one":
        return (0.9 + 0.2 * flat).float().double()
    if kind in ("labels", "indices"):
        return (flat * values).long().clamp(0, values - 1)
    if kind == "mask":
        return flat > 0.5
    if kind == "rare":
        return flat < 1.0 / shape[-1]
    if kind == "binary":
        return (flat > 0.5).double()
    if kind == "signs":
        return (flat > 0.5).double() * 2 - 1
    drawn = normal(shape, seed)
    return drawn.softmax(-1) if kind == "probabilities" else drawn.log_softmax(-1)


def concrete(shape: Shape, sizes: Sizes) -> tuple[int, ...]:
    """A shape in numbers."""
    return tuple(evaluate(dim, sizes) for dim in shape)


@dataclass
class Evaluation:
    """A draft at given sizes: leaves and parameters drawn once, nodes computed from them."""

    draft: Draft
    sizes: Sizes
    uniform: bool = False
    """Whether normal inputs are drawn from 0 to 1 instead."""
    seed: int = 0
    drawn: dict[int, Tensor] = field(default_factory=dict)
    held: dict[int, dict[str, Tensor]] = field(default_factory=dict)

    def leaf(self, place: int, again: bool = False) -> Tensor:
        """A leaf's values in float64, or as integers; `again` draws others."""
        if place in self.drawn and not again:
            return self.drawn[place]
        item = self.draft.items[place]
        assert isinstance(item, Leaf)
        shape = concrete(self.draft.shape(place), self.sizes)
        picks = item.kind in ("labels", "indices")
        values = evaluate(index_range(self.draft, place), self.sizes) if picks else 2
        found = draw_leaf(item, shape, values, place + (1000 if again else 0) + 37 * self.seed, self.uniform)
        return found if again else self.drawn.setdefault(place, found)

    def parameters(self, place: int) -> dict[str, Tensor]:
        """What a node's module holds, in float64."""
        if place in self.held:
            return self.held[place]
        item = self.draft.items[place]
        assert isinstance(item, Node)
        found: dict[str, Tensor] = {}
        rule, fan_in = TABLE[item.name].parameters, 1
        if rule is not None:
            shapes = [self.draft.shape(one) for one in item.operands]
            parameters = rule(shapes, self.draft.shape(place), dict(item.attributes))
            for number, (name, parameter) in enumerate(parameters.items()):
                shape = concrete(parameter.shape, self.sizes)
                fan_in = math.prod(shape[1:]) if name == "weight" else fan_in
                found[name] = _initial(parameter.init, shape, fan_in, 100 * place + number + 50 + 37 * self.seed)
        return self.held.setdefault(place, found)

    def node(self, place: int, operands: Sequence[Tensor], dtype: torch.dtype = torch.float64) -> Tensor:
        """One node's value in a precision."""
        item = self.draft.items[place]
        assert isinstance(item, Node)
        names: dict[str, object] = {"torch": torch, "F": F, "weight": None, "bias": None}
        names |= dict(zip(OPERANDS, operands, strict=False))
        names |= {name: _to(one, dtype) for name, one in self.parameters(place).items()}
        value = eval(_code(item.name, item.attributes), names)  # our own text, from the operator table
        return _to(value, dtype)  # what a spelling itself makes a float32

    def run(
        self,
        dtype: torch.dtype = torch.float64,
        known: Sequence[Tensor] = (),
        changed: Mapping[int, Tensor] | None = None,
    ) -> list[Tensor]:
        """Every value in a precision; the first ones may be known, others may be put in place of what they are."""
        values = list(known)
        for place in range(len(values), len(self.draft.items)):
            item = self.draft.items[place]
            if changed and place in changed:
                values.append(changed[place])
            elif isinstance(item, Leaf):
                values.append(_to(self.leaf(place), dtype))
            else:
                values.append(self.node(place, [values[one] for one in item.operands], dtype))
        return values


def _initial(init: str, shape: Sequence[int], fan_in: int, seed: int) -> Tensor:
    if init == "ones":
        return torch.ones(*shape, dtype=torch.float64)
    if init == "zeros":
        return torch.zeros(*shape, dtype=torch.float64)
    if init == "normal":
        return normal(shape, seed)
    drawn = _uniform(shape, seed)
    return (drawn + 0.5 if init == "variance" else (2 * drawn - 1) / math.sqrt(fan_in)).float().double()


def _to(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
