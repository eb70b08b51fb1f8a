"""All operators, by name and by family."""

from tritonsmith.tasks.graphs import (
    attention,
    conv,
    indexing,
    losses,
    matmul,
    norms,
    pointwise,
    pooling,
    reductions,
    views,
)
from tritonsmith.tasks.graphs.operator import Operator

TABLE: dict[str, Operator] = {
    operator.name: operator
    for operators in (
        pointwise.TABLE,
        reductions.TABLE,
        norms.TABLE,
        matmul.TABLE,
        conv.TABLE,
        pooling.TABLE,
        losses.TABLE,
        indexing.TABLE,
        views.TABLE,
        attention.TABLE,
    )
    for operator in operators
}
FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(operator.family for operator in TABLE.values()))


def is_commutative(name: str) -> bool:
    """Whether an operator's first two operands may be exchanged."""
    return TABLE[name].commutative
