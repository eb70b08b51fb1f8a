"""Reductions over any axes, the softmax family, and running sums."""

import random
from collections.abc import Sequence

from tritonsmith.tasks.graphs.dims import Dim, MisfitError, Shape, Solver
from tritonsmith.tasks.graphs.operator import Attributes, Operator, axis, same

FAMILY = "reduction"


def _last(rng: random.Random, rank: int) -> int:
    return rank - 1


def _axes(rng: random.Random, rank: int) -> tuple[int, ...]:
    """Several axes; the spatial ones of images most often."""
    if rank >= 4 and rng.random() < 0.6:
        return tuple(range(2, rank))
    return tuple(sorted(rng.sample(range(rank), rng.randint(2, max(2, rank - 1)))))


def _reduce(solver: Solver, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    shape = shapes[0]
    gone = attributes.get("dims", (attributes.get("dim"),))
    assert isinstance(gone, tuple)
    if any(not isinstance(place, int) or place >= len(shape) for place in gone):
        raise MisfitError(f"no axes {gone} in {len(shape)}")
    for place in gone:
        assert isinstance(place, int)
        solver.at_least(shape[place], 2)
    one: tuple[Dim, ...] = (1,)
    kept = [one if place in gone else (dim,) for place, dim in enumerate(shape)]
    if not attributes.get("keepdim"):
        kept = [() if place in gone else dim for place, dim in enumerate(kept)]
    return tuple(dim for part in kept for dim in part)


def _everything(solver: Solver, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    return ()


def _one(name: str, *spellings: str, weight: float = 1.0, last: bool = False, exact: bool = False) -> Operator:
    return Operator(
        name,
        FAMILY,
        spellings,
        _reduce,
        attributes={"dim": axis, "keepdim": (False, False, True)},
        weight=weight,
        last=last,
        exact=exact,
    )


def _many(name: str, *spellings: str, weight: float = 1.0) -> Operator:
    return Operator(
        name,
        FAMILY,
        spellings,
        _reduce,
        attributes={"dims": _axes, "keepdim": (False, True)},
        ranks=(3, 4, 5),
        weight=weight,
    )


def _all(name: str, *spellings: str, weight: float = 0.15) -> Operator:
    return Operator(name, FAMILY, spellings, _everything, weight=weight)


_SUM = "torch.sum({x}, dim={dim}{keepdim?False})", "{x}.sum(dim={dim}{keepdim?False})", "{x}.sum({dim}{keepdim?False})"
_MEAN = "torch.mean({x}, dim={dim}{keepdim?False})", "{x}.mean(dim={dim}{keepdim?False})"
_MAX = "torch.amax({x}, dim={dim}{keepdim?False})", "torch.max({x}, dim={dim}{keepdim?False})[0]"
_MIN = "torch.amin({x}, dim={dim}{keepdim?False})", "torch.min({x}, dim={dim}{keepdim?False})[0]"

REDUCTIONS = (
    _one("sum", *_SUM, weight=3.0),
    _one("mean", *_MEAN, weight=3.0),
    _one("amax", *_MAX, "{x}.amax(dim={dim}{keepdim?False})", "{x}.max(dim={dim}{keepdim?False}).values", weight=2.0),
    _one("amin", *_MIN, "{x}.amin(dim={dim}{keepdim?False})", "{x}.min(dim={dim}{keepdim?False}).values"),
    _one("logsumexp", "torch.logsumexp({x}, dim={dim}{keepdim?False})", weight=1.5),
    _one("var", "torch.var({x}, dim={dim}{keepdim?False})", "{x}.var(dim={dim}{keepdim?False})", weight=0.6),
    _one("var_biased", "torch.var({x}, dim={dim}, unbiased=False{keepdim?False})", weight=0.4),
    _one("std", "torch.std({x}, dim={dim}{keepdim?False})", "{x}.std(dim={dim}{keepdim?False})", weight=0.6),
    _one(
        "l2_reduce",
        "torch.linalg.vector_norm({x}, dim={dim}{keepdim?False})",
        "torch.norm({x}, p=2, dim={dim}{keepdim?False})",
        "{x}.norm(dim={dim}{keepdim?False})",
    ),
    _one(
        "l1_reduce",
        "torch.norm({x}, p=1, dim={dim}{keepdim?False})",
        "{x}.abs().sum(dim={dim}{keepdim?False})",
        weight=0.5,
    ),
    _one("mean_square", "{x}.pow(2).mean(dim={dim}{keepdim?False})", weight=0.4),
    _one(
        "argmax",
        "torch.argmax({x}, dim={dim}{keepdim?False})",
        "{x}.argmax(dim={dim}{keepdim?False})",
        weight=0.4,
        last=True,
        exact=True,
    ),
    _one("argmin", "torch.argmin({x}, dim={dim}{keepdim?False})", weight=0.3, last=True, exact=True),
    Operator(
        "prod",
        FAMILY,
        ("torch.prod({x}, dim={dim}{keepdim?False})", "{x}.prod(dim={dim}{keepdim?False})"),
        _reduce,
        attributes={"dim": axis, "keepdim": (False, True)},
        first="near_one",
        weight=0.3,
    ),
    Operator(
        "any",
        FAMILY,
        ("torch.any({x}, dim={dim}{keepdim?False})", "{x}.any(dim={dim}{keepdim?False})"),
        _reduce,
        attributes={"dim": _last, "keepdim": (False, True)},
        first="rare",
        weight=0.1,
        last=True,
        followed="any_float",
    ),
    Operator(
        "any_float",
        FAMILY,
        (
            "torch.any({x}, dim={dim}{keepdim?False}).float()",
            "{x}.any(dim={dim}{keepdim?False}).float()",
            "{x}.any(dim={dim}{keepdim?False}).to(torch.float32)",
        ),
        _reduce,
        attributes={"dim": _last, "keepdim": (False, True)},
        first="rare",
        weight=0.0,
    ),
    _many("sum_axes", "torch.sum({x}, dim={dims}{keepdim?False})", "{x}.sum(dim={dims}{keepdim?False})"),
    _many("mean_axes", "torch.mean({x}, dim={dims}{keepdim?False})", "{x}.mean(dim={dims}{keepdim?False})", weight=2.0),
    _many("amax_axes", "torch.amax({x}, dim={dims}{keepdim?False})", "{x}.amax(dim={dims}{keepdim?False})", weight=0.6),
    _many("logsumexp_axes", "torch.logsumexp({x}, dim={dims}{keepdim?False})", weight=0.3),
    _all("sum_all", "torch.sum({x})", "{x}.sum()"),
    _all("mean_all", "torch.mean({x})", "{x}.mean()", weight=0.3),
    _all("amax_all", "torch.max({x})", "{x}.max()"),
    _all("norm_all", "torch.norm({x})", "torch.linalg.vector_norm({x})"),
)


def _normalised(name: str, *spellings: str, module: str | None = None, weight: float = 1.0) -> Operator:
    modules = (module,) if module else ()
    return Operator(name, "softmax", spellings, same, modules=modules, attributes={"dim": axis}, weight=weight)


SOFTMAX = (
    _normalised(
        "softmax",
        "torch.softmax({x}, dim={dim})",
        "F.softmax({x}, dim={dim})",
        "{x}.softmax(dim={dim})",
        module="nn.Softmax(dim={dim})",
        weight=4.0,
    ),
    _normalised(
        "log_softmax",
        "torch.log_softmax({x}, dim={dim})",
        "F.log_softmax({x}, dim={dim})",
        module="nn.LogSoftmax(dim={dim})",
        weight=2.0,
    ),
    _normalised("softmin", "F.softmin({x}, dim={dim})", module="nn.Softmin(dim={dim})", weight=0.4),
)


def _running(name: str, *spellings: str, weight: float = 1.0, further: tuple[str, ...] = ()) -> Operator:
    return Operator(name, "cumulative", spellings, same, attributes={"dim": axis}, weight=weight, further=further)


def _with_mask(solver: Solver, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    if len(shapes[0]) != len(shapes[1]):
        raise MisfitError("a mask of another rank")
    return tuple(solver.same(left, right) for left, right in zip(*shapes, strict=True))


CUMULATIVE = (
    _running("cumsum", "torch.cumsum({x}, dim={dim})", "{x}.cumsum(dim={dim})", weight=2.0),
    _running(
        "cumsum_reverse",
        "torch.cumsum({x}.flip({dim}), dim={dim}).flip({dim})",
        "torch.flip(torch.cumsum(torch.flip({x}, dims=[{dim}]), dim={dim}), dims=[{dim}])",
    ),
    Operator(
        "cumsum_masked",
        "cumulative",
        ("torch.cumsum({x} * {y}, dim={dim})", "({x} * {y}).cumsum(dim={dim})"),
        _with_mask,
        attributes={"dim": axis},
        further=("mask",),
        weight=0.7,
    ),
    Operator(
        "cumsum_exclusive",
        "cumulative",
        ("torch.cumsum({x}, dim={dim}) - {x}",),
        same,
        attributes={"dim": axis},
        weight=0.5,
    ),
    Operator(
        "cumprod",
        "cumulative",
        ("torch.cumprod({x}, dim={dim})", "{x}.cumprod(dim={dim})"),
        same,
        attributes={"dim": axis},
        first="near_one",
        weight=0.7,
    ),
    Operator(
        "cummax",
        "cumulative",
        ("torch.cummax({x}, dim={dim})[0]", "torch.cummax({x}, dim={dim}).values"),
        same,
        attributes={"dim": axis},
        weight=0.3,
    ),
)

TABLE = REDUCTIONS + SOFTMAX + CUMULATIVE
