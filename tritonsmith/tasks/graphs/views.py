"""Operators that only move values: transposes, flattening, slices, padding, joining."""

import random
from collections.abc import Sequence

from tritonsmith.tasks.graphs.dims import Dim, MisfitError, Shape, Solver, add, divide, multiply
from tritonsmith.tasks.graphs.operator import Attributes, Operator, Value, axis, integer, need_rank, steps

FAMILY = "view"


def _two(rng: random.Random, rank: int) -> tuple[int, ...]:
    """Two different axes, neighbours or the last ones mostly."""
    first = rng.randrange(rank - 1)
    return (first, rng.randrange(first + 1, rank))


def _transpose(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    first, second = integer(a, "dim0"), integer(a, "dim1")
    shape = list(shapes[0])
    if not first < second < len(shape):
        raise MisfitError("no such axes")
    shape[first], shape[second] = shape[second], shape[first]
    return tuple(shape)


def _first_axis(rng: random.Random, rank: int) -> int:
    return rng.randrange(rank - 1)


def _last_axis(rng: random.Random, rank: int) -> int:
    return rank - 1


def _permutation(rng: random.Random, rank: int) -> tuple[int, ...]:
    return tuple(rng.sample(range(rank), rank))


def _permute(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    order = a["order"]
    assert isinstance(order, tuple)
    if order == tuple(range(len(order))) or len(order) != len(shapes[0]):
        raise MisfitError("no permutation")
    return tuple(shapes[0][place] for place in order)


def _flatten(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    product: Dim = 1
    for dim in shapes[0][1:]:
        product = multiply(product, dim)
    return shapes[0][0], product


def _flatten_spatial(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    product: Dim = 1
    for dim in shapes[0][2:]:
        product = multiply(product, dim)
    return (*shapes[0][:2], product)


def _split(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    dim, parts = integer(a, "dim"), integer(a, "chunks")
    if integer(a, "index") >= parts:
        raise MisfitError("no such part")
    solver.divisible(shapes[0][dim], parts)
    return tuple(divide(size, parts) if place == dim else size for place, size in enumerate(shapes[0]))


def _cat(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    left, right = shapes
    dim = integer(a, "dim")
    if len(left) != len(right):
        raise MisfitError("other ranks")
    return tuple(
        add(one, two) if place == dim else solver.same(one, two)
        for place, (one, two) in enumerate(zip(left, right, strict=True))
    )


def _stack(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    left, right = shapes
    if len(left) != len(right):
        raise MisfitError("other ranks")
    shape = [solver.same(one, two) for one, two in zip(left, right, strict=True)]
    at = integer(a, "at")
    return (*shape[:at], 2, *shape[at:])


def _pad_last(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    widths = a["pad"]
    assert isinstance(widths, tuple)
    shape = list(shapes[0])
    if len(widths) // 2 > len(shape) - 1:
        raise MisfitError("more padding than axes")
    for place in range(len(widths) // 2):
        shape[-1 - place] = add(shape[-1 - place], widths[2 * place] + widths[2 * place + 1])
    return tuple(shape)


def _padding(rng: random.Random, rank: int) -> tuple[int, ...]:
    axes = 1 if rank < 4 or rng.random() < 0.3 else 2
    if rng.random() < 0.6:
        return (rng.randint(1, 3),) * (2 * axes)
    drawn = tuple(rng.randint(0, 3) for _ in range(2 * axes))
    return drawn if any(drawn) else (1,) * (2 * axes)


def _glu(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    dim = integer(a, "dim")
    solver.divisible(shapes[0][dim], 2)
    return tuple(divide(size, 2) if place == dim else size for place, size in enumerate(shapes[0]))


def _same(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    return shapes[0]


def _unsqueeze(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    at = integer(a, "at")
    return (*shapes[0][:at], 1, *shapes[0][at:])


def _narrow(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    """Every second of the last axis, or all but the ends."""
    need_rank(shapes[0], 2, 3, 4)
    return (*shapes[0][:-1], add(shapes[0][-1], -integer(a, "skip")))


_ANY: tuple[Value, ...] = (0.0, *steps(-20, 20))

TABLE = (
    Operator(
        "transpose",
        FAMILY,
        ("{x}.transpose({dim0}, {dim1})", "torch.transpose({x}, {dim0}, {dim1})"),
        _transpose,
        attributes={"dim0": _first_axis, "dim1": _last_axis},
        ranks=(2, 3, 4),
        weight=0.8,
    ),
    Operator(
        "permute",
        FAMILY,
        ("{x}.permute({order})", "torch.permute({x}, {order})", "{x}.permute({spread})", "{x}.permute({spread})"),
        _permute,
        attributes={"order": _permutation},
        ranks=(3, 4),
        weight=0.5,
    ),
    Operator(
        "flatten",
        FAMILY,
        ("torch.flatten({x}, 1)", "{x}.flatten(1)", "{x}.view({x}.size(0), -1)", "{x}.reshape({x}.shape[0], -1)"),
        _flatten,
        modules=("nn.Flatten()",),
        ranks=(3, 4, 5),
        weight=0.8,
    ),
    Operator(
        "flatten_spatial",
        FAMILY,
        ("{x}.flatten(2)", "torch.flatten({x}, 2)", "{x}.view({x}.size(0), {x}.size(1), -1)"),
        _flatten_spatial,
        ranks=(4, 5),
        weight=0.3,
    ),
    Operator(
        "chunk",
        FAMILY,
        ("{x}.chunk({chunks}, dim={dim})[{index}]", "torch.chunk({x}, {chunks}, dim={dim})[{index}]"),
        _split,
        attributes={"chunks": (2, 2, 3, 4), "index": (0, 1, 1, 2), "dim": _last_axis},
        ranks=(2, 3, 4),
        weight=0.3,
    ),
    Operator(
        "cat",
        FAMILY,
        ("torch.cat([{x}, {y}], dim={dim})", "torch.cat(({x}, {y}), dim={dim})"),
        _cat,
        attributes={"dim": axis},
        further=("value",),
        second=lambda rank: "n" * rank,
        ranks=(2, 3, 4),
        weight=0.8,
    ),
    Operator(
        "stack",
        FAMILY,
        ("torch.stack([{x}, {y}], dim={at})", "torch.stack(({x}, {y}), dim={at})"),
        _stack,
        attributes={"at": axis},
        further=("value",),
        second=lambda rank: "n" * rank,
        ranks=(1, 2, 3),
        weight=0.3,
    ),
    Operator(
        "pad",
        FAMILY,
        ("F.pad({x}, {pad})",),
        _pad_last,
        attributes={"pad": _padding},
        ranks=(2, 3, 4),
        weight=0.5,
    ),
    Operator(
        "pad_value",
        FAMILY,
        ("F.pad({x}, {pad}, value={c})", 'F.pad({x}, {pad}, mode="constant", value={c})'),
        _pad_last,
        attributes={"pad": _padding, "c": _ANY[1:]},
        ranks=(2, 3, 4),
        weight=0.2,
    ),
    Operator(
        "flip",
        FAMILY,
        ("torch.flip({x}, dims=[{dim}])", "{x}.flip({dim})"),
        _same,
        attributes={"dim": axis},
        ranks=(2, 3, 4),
        weight=0.4,
    ),
    Operator(
        "roll",
        FAMILY,
        ("torch.roll({x}, shifts={shifts}, dims={dim})", "{x}.roll({shifts}, dims={dim})"),
        _same,
        attributes={"shifts": (1, 1, 2, 3, -1, -2), "dim": axis},
        ranks=(2, 3, 4),
        weight=0.3,
    ),
    Operator(
        "expand_spatial",
        FAMILY,
        ("{x}[:, :, None, None]", "{x}.unsqueeze(-1).unsqueeze(-1)", "{x}.view({x}.size(0), {x}.size(1), 1, 1)"),
        lambda solver, shapes, a: (*shapes[0], 1, 1),
        ranks=(2,),
        weight=0.05,
    ),
    Operator(
        "glu",
        FAMILY,
        ("F.glu({x}, dim={dim})",),
        _glu,
        modules=("nn.GLU(dim={dim})",),
        attributes={"dim": _last_axis},
        ranks=(2, 3, 4),
        weight=0.6,
    ),
    Operator(
        "glu_channels",
        FAMILY,
        ("F.glu({x}, dim=1)",),
        lambda solver, shapes, a: _glu(solver, shapes, {"dim": 1}),
        modules=("nn.GLU(dim=1)", "nn.GLU(1)"),
        ranks=(3, 4),
        weight=0.3,
    ),
    Operator(
        "skip_first",
        FAMILY,
        ("{x}[..., {skip}:]",),
        _narrow,
        attributes={"skip": (1, 1, 2)},
        ranks=(2, 3, 4),
        weight=0.2,
    ),
    Operator(
        "difference",
        FAMILY,
        ("{x}[..., 1:] - {x}[..., :-1]", "torch.diff({x}, dim=-1)"),
        lambda solver, shapes, a: _narrow(solver, shapes, {"skip": 1}),
        ranks=(2, 3, 4),
        weight=0.3,
    ),
    Operator(
        "unsqueeze", FAMILY, ("{x}.unsqueeze({at})",), _unsqueeze, attributes={"at": axis}, ranks=(2, 3), weight=0.2
    ),
)
