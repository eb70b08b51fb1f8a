"""Symbolic sizes of tensor dimensions, and a solver that makes them equal where operators need it.

A dimension is an integer, a symbol (a size that the writing of a task is free to choose), or a term made of them by
`+`, `*` and `//`. Does not choose sizes: see `sizes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


class MisfitError(Exception):
    """An operator does not take operands of these shapes; drawing goes on with another."""


@dataclass(frozen=True)
class Symbol:
    """A size that is free."""

    index: int


@dataclass(frozen=True)
class Term:
    """An operator `+`, `*` or `//` over two dimensions."""

    operator: str
    left: "Dim"
    right: "Dim"


Dim = int | Symbol | Term
Shape = tuple[Dim, ...]


def add(left: Dim, right: Dim) -> Dim:
    """left + right; constants are gathered on the right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, int):
        left, right = right, left
    if right == 0:
        return left
    if isinstance(right, int) and isinstance(left, Term) and left.operator == "+" and isinstance(left.right, int):
        return add(left.left, left.right + right)
    return Term("+", left, right)


def multiply(left: Dim, right: Dim) -> Dim:
    """left * right; a constant stands on the right."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if isinstance(left, int):
        left, right = right, left
    if right == 1:
        return left
    if isinstance(right, int) and isinstance(left, Term) and left.operator == "*" and isinstance(left.right, int):
        return multiply(left.left, left.right * right)
    return Term("*", left, right)


def divide(left: Dim, right: int) -> Dim:
    """left // right."""
    if isinstance(left, int):
        return left // right
    if right == 1:
        return left
    if isinstance(left, Term) and left.operator == "*" and isinstance(left.right, int) and left.right % right == 0:
        return multiply(left.left, left.right // right)
    return Term("//", left, right)


def evaluate(dim: Dim, sizes: Mapping[Symbol, int]) -> int:
    """The dimension as a number."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Symbol):
        return sizes[dim]
    left, right = evaluate(dim.left, sizes), evaluate(dim.right, sizes)
    return left + right if dim.operator == "+" else left * right if dim.operator == "*" else left // right


def symbols(dim: Dim) -> tuple[Symbol, ...]:
    """The symbols in a dimension, each as often as it stands there."""
    if isinstance(dim, Term):
        return symbols(dim.left) + symbols(dim.right)
    return (dim,) if isinstance(dim, Symbol) else ()


@dataclass
class Solver:
    """What is known about the sizes of a graph: which are equal, what divides them, how large they must be."""

    roles: dict[Symbol, str] = field(default_factory=dict)
    """What a size is, for whoever names it: `batch`, `channels`, `height`, ..."""
    bound: dict[Symbol, Dim] = field(default_factory=dict)
    divisors: list[tuple[Dim, int]] = field(default_factory=list)
    minima: list[tuple[Dim, int]] = field(default_factory=list)

    def fresh(self, role: str) -> Symbol:
        """A new free size."""
        symbol = Symbol(len(self.roles))
        self.roles[symbol] = role
        return symbol

    def hint(self, dim: Dim, role: str) -> None:
        """Say what a size is, where it is still free and not known to be what a layer gives."""
        found = self.find(dim)
        if isinstance(found, Symbol) and not self.roles[found].startswith("out_"):
            self.roles[found] = role

    def find(self, dim: Dim) -> Dim:
        """The dimension with everything known put in."""
        if isinstance(dim, Symbol):
            return self.find(self.bound[dim]) if dim in self.bound else dim
        if isinstance(dim, int):
            return dim
        left, right = self.find(dim.left), self.find(dim.right)
        if dim.operator == "//":
            return divide(left, right) if isinstance(right, int) else dim
        return add(left, right) if dim.operator == "+" else multiply(left, right)

    def shape(self, shape: Shape) -> Shape:
        """`find` of every dimension."""
        return tuple(self.find(dim) for dim in shape)

    def same(self, left: Dim, right: Dim) -> Dim:
        """Make two dimensions equal; raises MisfitError where they cannot be."""
        left, right = self.find(left), self.find(right)
        if left == right:
            return left
        if (
            isinstance(left, Term)
            and isinstance(right, Term)
            and (left.operator, left.right) == (right.operator, right.right)
        ):
            self.same(left.left, right.left)
            return self.find(left)
        younger = isinstance(left, Symbol) and isinstance(right, Symbol) and left.index < right.index
        if younger or not isinstance(left, Symbol):
            left, right = right, left
        # A free size takes what the other is, except for a constant: that would no longer be a size to choose.
        if not isinstance(left, Symbol) or isinstance(right, int) or left in symbols(right):
            raise MisfitError(f"{left} is not {right}")
        self.bound[left] = right
        return right

    def divisible(self, dim: Dim, by: int) -> None:
        """Ask that `by` divides a size; raises MisfitError where that is not for us to choose."""
        found = self.find(dim)
        if isinstance(found, int) and found % by == 0:
            return
        core = (
            found.left if isinstance(found, Term) and found.operator == "*" and isinstance(found.right, int) else found
        )
        if not isinstance(core, Symbol):
            raise MisfitError(f"{found} may not be divisible by {by}")
        self.divisors.append((found, by))

    def at_least(self, dim: Dim, least: int) -> None:
        """Ask that a size is not below `least`."""
        found = self.find(dim)
        if isinstance(found, int) and found < least:
            raise MisfitError(f"{found} is below {least}")
        self.minima.append((found, least))

    def copy(self) -> "Solver":
        """A solver of its own with the same knowledge."""
        return Solver(dict(self.roles), dict(self.bound), list(self.divisors), list(self.minima))
