"""What attention is made of: heads, masked softmax, and the whole of it in one operator."""

from collections.abc import Sequence

from tritonsmith.tasks.graphs.dims import Dim, MisfitError, Shape, Solver, divide, multiply
from tritonsmith.tasks.graphs.operator import Attributes, Operator, integer, need_rank

FAMILY = "attention"
_FUTURE = "torch.triu(torch.ones_like({x}, dtype=torch.bool), diagonal=1)"
_SIZE = "torch.ones({x}.shape[-2], {x}.shape[-1], dtype=torch.bool, device={x}.device)"


def _split_heads(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    need_rank(shapes[0], 3)
    batch, length, features = shapes[0]
    heads = integer(a, "heads")
    solver.divisible(features, heads)
    solver.at_least(features, 4 * heads)
    return batch, heads, length, divide(features, heads)


def _merge_heads(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    need_rank(shapes[0], 4)
    batch, heads, length, features = shapes[0]
    return batch, length, multiply(features, heads)


def _square(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    *front, rows, columns = shapes[0]
    size = solver.same(rows, columns)
    return (*front, size, size)


def _attend(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    """Queries (..., m, e), keys (..., n, e), values (..., n, v) into (..., m, v)."""
    queries, keys, values = shapes
    if not len(queries) == len(keys) == len(values):
        raise MisfitError("other ranks")
    front: list[Dim] = []
    for one, two, three in zip(queries[:-2], keys[:-2], values[:-2], strict=True):
        front.append(solver.same(solver.same(one, two), three))
    solver.same(queries[-1], keys[-1])
    length = solver.same(keys[-2], values[-2])
    if a["is_causal"]:
        solver.same(queries[-2], length)
    return tuple(solver.find(dim) for dim in (*front, queries[-2], values[-1]))


TABLE = (
    Operator(
        "split_heads",
        FAMILY,
        (
            "{x}.view({x}.shape[0], {x}.shape[1], {heads}, -1).transpose(1, 2)",
            "{x}.reshape({x}.size(0), {x}.size(1), {heads}, -1).permute(0, 2, 1, 3)",
        ),
        _split_heads,
        attributes={"heads": (2, 4, 4, 8, 8, 12)},
        ranks=(3,),
        weight=0.15,
    ),
    Operator(
        "merge_heads",
        FAMILY,
        (
            "{x}.transpose(1, 2).flatten(2)",
            "{x}.permute(0, 2, 1, 3).reshape({x}.shape[0], {x}.shape[2], -1)",
            "{x}.transpose(1, 2).contiguous().view({x}.size(0), {x}.size(2), -1)",
        ),
        _merge_heads,
        ranks=(4,),
        weight=0.1,
    ),
    Operator(
        "causal_softmax",
        FAMILY,
        (
            f'torch.softmax({{x}}.masked_fill({_FUTURE}, float("-inf")), dim=-1)',
            f'F.softmax({{x}}.masked_fill(torch.triu({_SIZE}, diagonal=1), float("-inf")), dim=-1)',
            f'F.softmax({{x}}.masked_fill(~torch.tril({_SIZE}), float("-inf")), dim=-1)',
        ),
        _square,
        ranks=(3, 4),
        weight=0.2,
    ),
    Operator(
        "scaled_dot_product_attention",
        FAMILY,
        ("F.scaled_dot_product_attention({x}, {y}, {z}{is_causal?False})",),
        _attend,
        attributes={"is_causal": (False, False, True)},
        further=("value", "value"),
        second=lambda rank: "n" * rank,
        ranks=(3, 4),
        weight=0.5,
    ),
    Operator(
        "rotate_half",
        FAMILY,
        (
            "torch.cat([-{x}.chunk(2, dim=-1)[1], {x}.chunk(2, dim=-1)[0]], dim=-1)",
            "torch.cat((-{x}[..., {x}.shape[-1] // 2 :], {x}[..., : {x}.shape[-1] // 2]), dim=-1)",
        ),
        lambda solver, shapes, a: _halves(solver, shapes[0]),
        ranks=(3, 4),
        weight=0.1,
    ),
)


def _halves(solver: Solver, shape: Shape) -> Shape:
    solver.divisible(shape[-1], 2)
    return shape
