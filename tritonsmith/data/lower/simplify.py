"""Operators in terms of fewer: aliases disappear, losses and the like become arithmetic and reductions.

Each rule gets an operator and a maker of new ones, and returns the value that takes the result's place.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch.utils import _pytree as pytree

from tritonsmith.data.lower.trace import Op, Program, Value


@dataclass
class Maker:
    """Makes operators in the place of another."""

    owner: str | None
    made: list[Op] = field(default_factory=list)

    def __call__(self, name: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, **args: object) -> Value:
        """A new operator's result."""
        result = Value("made", shape, dtype, "result")
        self.made.append(Op(name, args, (result,), self.owner))
        return result

    def shaped(self, source: Value, shape: tuple[int, ...]) -> Value:
        """The source with sizes of one added or left out."""
        return self("as_shape", shape, source.dtype, self=source)


Rule = Callable[[Op, Maker], Value | tuple[Value, ...] | None]
"""None: the operator stays."""

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators of these names."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def simplify(program: Program) -> None:
    """Apply the rules until none applies, in place."""
    stands: dict[Value, Value] = {}

    def now(given: object) -> object:
        while isinstance(given, Value) and given in stands:
            given = stands[given]
        return given

    def rewrite(op: Op) -> list[Op]:
        op = replace(op, args={name: pytree.tree_map(now, given) for name, given in op.args.items()})
        maker = Maker(op.owner)
        found = RULES[op.name](op, maker) if op.name in RULES else None
        if found is None:
            return [op]
        results = found if isinstance(found, tuple) else (found,)
        done = [one for made in maker.made for one in rewrite(made)]
        stands.update({old: new for old, new in zip(op.results, results, strict=False)})
        return done

    program.ops = [one for op in program.ops for one in rewrite(op)]
    program.output = pytree.tree_map(now, program.output)
