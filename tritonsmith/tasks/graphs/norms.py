"""Normalisations: by statistics of the batch, of a layer, of groups, of an image; and by norms of vectors."""

from collections.abc import Callable, Mapping, Sequence

from tritonsmith.tasks.graphs.conv import describe
from tritonsmith.tasks.graphs.dims import Dim, MisfitError, Shape, Solver, Term
from tritonsmith.tasks.graphs.operator import Attributes, Operator, Parameter, axis, integer, need_rank, same

FAMILY = "norm"
Rule = Callable[[Solver, Sequence[Shape], Attributes], Shape]


def _of_images(*ranks: int) -> Rule:
    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        need_rank(shapes[0], *ranks)
        if len(shapes[0]) > 2:
            describe(solver, shapes[0])
        for dim in shapes[0][2:] or shapes[0][:1]:
            solver.at_least(dim, 2)  # statistics of one value are refused
        return shapes[0]

    return rule


def _group(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    need_rank(shapes[0], 2, 3, 4, 5)
    solver.divisible(shapes[0][1], integer(a, "num_groups"))
    solver.at_least(shapes[0][1], 2 * integer(a, "num_groups"))
    if len(shapes[0]) > 2:
        describe(solver, shapes[0])
    return shapes[0]


def _channels(shapes: Sequence[Shape], out: Shape) -> Mapping[str, Dim]:
    return {"num_features": shapes[0][1], "num_channels": shapes[0][1]}


def _last(shapes: Sequence[Shape], out: Shape) -> Mapping[str, Dim]:
    return {"normalized_shape": shapes[0][-1]}


def _affine(place: int, *names: str) -> Callable[[Sequence[Shape], Shape, Attributes], Mapping[str, Parameter]]:
    """Parameters along one axis, as modules have them at first."""
    inits = {"weight": "ones", "bias": "zeros", "mean": "normal", "variance": "variance"}

    def parameters(shapes: Sequence[Shape], out: Shape, a: Attributes) -> Mapping[str, Parameter]:
        return {name: Parameter((shapes[0][place],), inits[name]) for name in names}

    return parameters


def _batch_norm(rank: int) -> Operator:
    return Operator(
        f"batch_norm{rank}d",
        FAMILY,
        ("F.batch_norm({x}, None, None, {weight}, {bias}, training=True)",),
        _of_images(*((2, 3) if rank == 1 else (rank + 2,))),
        modules=(f"nn.BatchNorm{rank}d({{num_features}})",),
        ranks=(2, 3) if rank == 1 else (rank + 2,),
        sizes=_channels,
        parameters=_affine(1, "weight", "bias"),
        weight={1: 0.8, 2: 2.5, 3: 1.0}[rank],
    )


_STATISTICS = (
    "nn.init.normal_(self.{member}.running_mean)",
    "nn.init.uniform_(self.{member}.running_var, 0.5, 1.5)",
)
"""As they are at first they would change nothing."""


def _batch_norm_eval(rank: int) -> Operator:
    return Operator(
        f"batch_norm{rank}d_eval",
        FAMILY,
        ("F.batch_norm({x}, {mean}, {variance}, {weight}, {bias}, training=False)",),
        _of_images(*((2, 3) if rank == 1 else (rank + 2,))),
        modules=(f"nn.BatchNorm{rank}d({{num_features}}).eval()",),
        after=_STATISTICS,
        ranks=(2, 3) if rank == 1 else (rank + 2,),
        sizes=_channels,
        parameters=_affine(1, "mean", "variance", "weight", "bias"),
        weight={1: 0.2, 2: 0.6, 3: 0.2}[rank],
    )


def _instance_norm(rank: int) -> Operator:
    return Operator(
        f"instance_norm{rank}d",
        FAMILY,
        ("F.instance_norm({x})",),
        _of_images(rank + 2),
        modules=(f"nn.InstanceNorm{rank}d({{num_features}})",),
        ranks=(rank + 2,),
        sizes=_channels,
        weight={1: 0.2, 2: 0.8, 3: 0.6}[rank],
    )


def _image_layer_norm(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    need_rank(shapes[0], 4)
    describe(solver, shapes[0])
    if any(isinstance(solver.find(dim), Term) for dim in shapes[0][1:]):
        raise MisfitError("the module names these sizes, so they must not be what windows leave")
    return shapes[0]


def _image_sizes(shapes: Sequence[Shape], out: Shape) -> Mapping[str, Dim]:
    return {"channels": shapes[0][1], "height": shapes[0][2], "width": shapes[0][3]}


def _image_parameters(shapes: Sequence[Shape], out: Shape, a: Attributes) -> Mapping[str, Parameter]:
    return {"weight": Parameter(shapes[0][1:], "ones"), "bias": Parameter(shapes[0][1:], "zeros")}


def _vector(name: str, *spellings: str, weight: float = 1.0) -> Operator:
    return Operator(name, FAMILY, spellings, same, attributes={"dim": axis}, ranks=(2, 3, 4), weight=weight)


TABLE = (
    *(_batch_norm(rank) for rank in (1, 2, 3)),
    *(_batch_norm_eval(rank) for rank in (1, 2, 3)),
    *(_instance_norm(rank) for rank in (1, 2, 3)),
    Operator(
        "group_norm",
        FAMILY,
        ("F.group_norm({x}, {num_groups}, {weight}, {bias})",),
        _group,
        modules=("nn.GroupNorm({num_groups}, {num_channels})",),
        attributes={"num_groups": (2, 4, 8, 8, 16)},
        ranks=(2, 3, 4, 5),
        sizes=_channels,
        parameters=_affine(1, "weight", "bias"),
        weight=2.5,
    ),
    Operator(
        "layer_norm",
        FAMILY,
        ("F.layer_norm({x}, {x}.shape[-1:], {weight}, {bias})",),
        same,
        modules=("nn.LayerNorm({normalized_shape})",),
        ranks=(2, 3),
        sizes=_last,
        parameters=_affine(-1, "weight", "bias"),
        weight=2.5,
    ),
    Operator(
        "layer_norm_plain",
        FAMILY,
        ("F.layer_norm({x}, {x}.shape[-1:])", "F.layer_norm({x}, ({x}.shape[-1],))"),
        same,
        modules=("nn.LayerNorm({normalized_shape}, elementwise_affine=False)",),
        ranks=(2, 3),
        sizes=_last,
        weight=0.6,
    ),
    Operator(
        "layer_norm_image",
        FAMILY,
        ("F.layer_norm({x}, {x}.shape[1:], {weight}, {bias})",),
        _image_layer_norm,
        modules=("nn.LayerNorm(({channels}, {height}, {width}))", "nn.LayerNorm([{channels}, {height}, {width}])"),
        ranks=(4,),
        sizes=_image_sizes,
        parameters=_image_parameters,
        weight=0.5,
    ),
    Operator(
        "rms_norm",
        FAMILY,
        (
            "{x} * torch.rsqrt({x}.pow(2).mean(dim={dim}, keepdim=True) + {eps})",
            "{x} / torch.sqrt(torch.mean({x} ** 2, dim={dim}, keepdim=True) + {eps})",
        ),
        same,
        attributes={"dim": axis, "eps": (1e-5, 1e-6)},
        ranks=(2, 3, 4),
        weight=2.0,
    ),
    Operator(
        "rms_norm_weight",
        FAMILY,
        ("F.rms_norm({x}, {x}.shape[-1:], {weight}, eps={eps})",),
        same,
        modules=("nn.RMSNorm({normalized_shape}, eps={eps})",),
        attributes={"eps": (1e-5, 1e-6)},
        ranks=(2, 3),
        sizes=_last,
        parameters=_affine(-1, "weight"),
        weight=1.0,
    ),
    _vector(
        "l2_normalize",
        "F.normalize({x}, dim={dim})",
        "F.normalize({x}, p=2, dim={dim})",
        "{x} / torch.clamp(torch.norm({x}, p=2, dim={dim}, keepdim=True), min=1e-12)",
        weight=1.0,
    ),
    _vector(
        "l1_normalize",
        "{x} / torch.sum(torch.abs({x}), dim={dim}, keepdim=True)",
        "{x} / {x}.abs().sum(dim={dim}, keepdim=True)",
        "F.normalize({x}, p=1, dim={dim})",
        weight=0.5,
    ),
    _vector("max_normalize", "{x} / {x}.abs().amax(dim={dim}, keepdim=True)", weight=0.2),
    Operator(
        "frobenius_normalize",
        FAMILY,
        ('{x} / torch.norm({x}, p="fro")', "{x} / torch.norm({x})", "{x} / torch.linalg.vector_norm({x})"),
        same,
        ranks=(2, 3, 4),
        weight=0.4,
    ),
    _vector("center", "{x} - {x}.mean(dim={dim}, keepdim=True)", "{x} - torch.mean({x}, dim={dim}, keepdim=True)"),
    _vector(
        "standardize",
        "({x} - {x}.mean(dim={dim}, keepdim=True)) / ({x}.std(dim={dim}, keepdim=True) + 1e-5)",
        weight=0.4,
    ),
)
