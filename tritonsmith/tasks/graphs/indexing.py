"""Picking values by index: embeddings, gather, index_select, diagonals and triangles, one-hot."""

from collections.abc import Sequence

from tritonsmith.tasks.graphs.dims import Shape, Solver
from tritonsmith.tasks.graphs.operator import Attributes, Operator, axis, integer, need_rank, same

FAMILY = "indexing"


def _table(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    """A table (vocabulary, features) and indices of any shape."""
    need_rank(shapes[0], 2)
    solver.hint(shapes[0][0], "vocabulary")
    return (*shapes[1], shapes[0][1])


def _select(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    dim = integer(a, "dim")
    return tuple(shapes[1][0] if place == dim else size for place, size in enumerate(shapes[0]))


def _gather(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    """Indices (rows, k) into the columns of (rows, features)."""
    need_rank(shapes[0], 2)
    solver.same(shapes[0][0], shapes[1][0])
    solver.hint(shapes[1][1], "picked")
    return solver.find(shapes[0][0]), shapes[1][1]


def _one_each(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    need_rank(shapes[0], 2)
    solver.same(shapes[0][0], shapes[1][0])
    return (solver.find(shapes[0][0]),)


TABLE = (
    Operator(
        "embedding",
        FAMILY,
        ("F.embedding({y}, {x})", "{x}[{y}]"),
        _table,
        modules=("nn.Embedding({num_embeddings}, {embedding_dim})",),
        call="{y}",
        sizes=lambda shapes, _: {"num_embeddings": shapes[0][0], "embedding_dim": shapes[0][1]},
        further=("indices",),
        second=lambda _: "nn",
        picks=lambda shapes, _: shapes[0][0],
        ranks=(2,),
        first="parameter",
        weight=1.0,
    ),
    Operator(
        "index_select",
        FAMILY,
        ("torch.index_select({x}, {dim}, {y})", "{x}.index_select({dim}, {y})"),
        _select,
        attributes={"dim": axis},
        further=("indices",),
        second=lambda _: "n",
        picks=lambda shapes, a: shapes[0][integer(a, "dim")],
        ranks=(2, 3),
        weight=0.6,
    ),
    Operator(
        "gather",
        FAMILY,
        ("torch.gather({x}, 1, {y})", "{x}.gather(1, {y})", "torch.gather({x}, dim=1, index={y})"),
        _gather,
        further=("indices",),
        second=lambda _: "nn",
        picks=lambda shapes, _: shapes[0][1],
        ranks=(2,),
        weight=0.6,
    ),
    Operator(
        "take_one",
        FAMILY,
        ("{x}.gather(1, {y}.unsqueeze(1)).squeeze(1)", "torch.gather({x}, 1, {y}[:, None])[:, 0]"),
        _one_each,
        further=("indices",),
        second=lambda _: "n",
        picks=lambda shapes, _: shapes[0][1],
        ranks=(2,),
        weight=0.3,
    ),
    Operator(
        "tril",
        FAMILY,
        ("torch.tril({x})", "{x}.tril()"),
        same,
        ranks=(2, 3, 4),
        weight=0.4,
    ),
    Operator(
        "triu",
        FAMILY,
        ("torch.triu({x}{diagonal?0})",),
        same,
        attributes={"diagonal": (0, 0, 1)},
        ranks=(2, 3),
        weight=0.4,
    ),
)
