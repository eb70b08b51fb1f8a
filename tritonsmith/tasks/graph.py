"""Operator graphs as plain data: which operators follow each other, with which constants.

A graph is canonical: nothing in it speaks of names, shapes or writing. Graphs are chains (one value passes through;
further inputs enter on the way); no branches. Splits are made by the hash of its text.
"""

import hashlib
from dataclasses import dataclass

from tritonsmith.tasks import operators
from tritonsmith.tasks.operators import Operator

FAMILIES: tuple[str, ...] = ("pointwise", "row", "gemm")

EXTRA_INPUTS = ("y", "z")
"""Names of the further inputs in a graph, in the order in which they enter."""


@dataclass(frozen=True)
class Step:
    """One operator of a graph with its constants, or with the further input it takes."""

    name: str
    constants: tuple[float, ...] = ()
    extra: str | None = None

    @property
    def operator(self) -> Operator:
        """The operator's entry in the table."""
        return operators.find(self.name, binary=self.extra is not None)

    def __str__(self) -> str:
        return " ".join([self.name, *map(repr, self.constants), *([self.extra] if self.extra else [])])

    @classmethod
    def parse(cls, text: str) -> "Step":
        """Inverse of `str`. Raises ValueError for what is no step."""
        name, *rest = text.split()
        extra = rest[0] if rest and rest[0] in EXTRA_INPUTS else None
        step = cls(name, () if extra else tuple(map(float, rest)), extra)
        try:
            expected = len(step.operator.constants)
        except KeyError:
            raise ValueError(f"unknown operator: {text!r}") from None
        if len(step.constants) != expected:
            raise ValueError(f"{name} takes {expected} constants: {text!r}")
        return step


@dataclass(frozen=True)
class Graph:
    """A chain of operators, of one family."""

    family: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"{self.family}: " + " | ".join(map(str, self.steps))

    @classmethod
    def parse(cls, text: str) -> "Graph":
        """Inverse of `str`. Raises ValueError for what is no graph."""
        family, colon, chain = text.partition(":")
        if not colon or family not in FAMILIES:
            raise ValueError(f"no operator graph: {text!r}")
        return cls(family, tuple(Step.parse(part) for part in chain.split("|")))

    @property
    def depth(self) -> int:
        """Number of operators."""
        return len(self.steps)

    @property
    def extras(self) -> tuple[str, ...]:
        """The further inputs, in the order in which they enter."""
        return tuple(step.extra for step in self.steps if step.extra)

    @property
    def reduced(self) -> bool:
        """Whether the last axis is gone at the end."""
        return any(step.operator.kind == "reduce" for step in self.steps)

    @property
    def heldout(self) -> bool:
        """Whether the graph belongs to the tenth that is never trained on."""
        return int(digest(str(self)), 16) % 10 == 0


def digest(text: str) -> str:
    """The hash that names a graph and decides its split."""
    return hashlib.sha256(text.encode()).hexdigest()
