"""Convolutions in one, two and three dimensions, transposed ones, depthwise ones."""

import random
from collections.abc import Callable, Mapping, Sequence

from tritonsmith.tasks.graphs.dims import Dim, MisfitError, Shape, Solver, add, divide, multiply
from tritonsmith.tasks.graphs.operator import Attributes, Operator, Parameter, Value, integer, need_rank

FAMILY = "conv"
SPATIAL = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}


def _along(value: Value, place: int) -> int:
    """An attribute's value along one spatial axis."""
    if isinstance(value, tuple):
        return value[place]
    assert isinstance(value, int)
    return value


def window(solver: Solver, dim: Dim, kernel: int, stride: int, padding: int, dilation: int = 1) -> Dim:
    """Size after a window has slid over it (torch.nn.Conv2d, Shape)."""
    reach = dilation * (kernel - 1) + 1
    solver.at_least(dim, max(reach - 2 * padding, 2))
    return add(divide(add(dim, 2 * padding - reach), stride), 1)


def describe(solver: Solver, shape: Shape) -> None:
    """Say what the dimensions of an image are."""
    for dim, role in zip(shape, ("batch", "channels", *SPATIAL[len(shape) - 2]), strict=True):
        solver.hint(dim, role)


def _slide(solver: Solver, shape: Shape, channels: Dim, a: Attributes) -> Shape:
    _check_padding(a, len(shape) - 2)
    spatial = [
        window(
            solver,
            dim,
            _along(a["kernel_size"], place),
            _along(a["stride"], place),
            _along(a["padding"], place),
            _along(a["dilation"], place),
        )
        for place, dim in enumerate(shape[2:])
    ]
    return (shape[0], channels, *spatial)


def _check_padding(a: Attributes, rank: int) -> None:
    """Nobody pads by more than the kernel reaches."""
    for place in range(rank):
        if _along(a["padding"], place) > _along(a["dilation"], place) * (_along(a["kernel_size"], place) - 1):
            raise MisfitError("padded by more than the kernel reaches")


def _convolve(rank: int) -> Callable[[Solver, Sequence[Shape], Attributes], Shape]:
    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        need_rank(shapes[0], rank + 2)
        describe(solver, shapes[0])
        channels = solver.fresh("out_channels")
        groups = integer(a, "groups")
        if groups > 1:
            solver.divisible(shapes[0][1], groups)
            solver.divisible(channels, groups)
        return _slide(solver, shapes[0], channels, a)

    return rule


def _depthwise(rank: int) -> Callable[[Solver, Sequence[Shape], Attributes], Shape]:
    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        need_rank(shapes[0], rank + 2)
        describe(solver, shapes[0])
        return _slide(solver, shapes[0], shapes[0][1], a)

    return rule


def _spread(rank: int) -> Callable[[Solver, Sequence[Shape], Attributes], Shape]:
    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        need_rank(shapes[0], rank + 2)
        describe(solver, shapes[0])
        _check_padding(a, rank)
        channels = solver.fresh("out_channels")
        groups = integer(a, "groups")
        if groups > 1:
            solver.divisible(shapes[0][1], groups)
            solver.divisible(channels, groups)
        spatial = []
        for place, dim in enumerate(shapes[0][2:]):
            stride, padding = _along(a["stride"], place), _along(a["padding"], place)
            if integer(a, "output_padding") >= max(stride, _along(a["dilation"], place)):
                raise MisfitError("output padding must be smaller than stride or dilation")
            reach = _along(a["dilation"], place) * (_along(a["kernel_size"], place) - 1)
            extra = reach - 2 * padding + _along(a["output_padding"], place) + 1 - stride
            spatial.append(add(multiply(dim, stride), extra))
            solver.at_least(spatial[-1], 2)
        return (shapes[0][0], channels, *spatial)

    return rule


def _kernel(rank: int, even: bool = True) -> Callable[[random.Random, int], Value]:
    def choose(rng: random.Random, _: int) -> Value:
        if rank > 1 and rng.random() < 0.1:
            return tuple(rng.choice((1, 3, 5) if rank == 3 else (1, 3, 5, 7)) for _ in range(rank))
        common = (3,) * 8 + (1, 5, 5, 2, 4, 7) if even else (3,) * 5 + (5, 7)
        rare = (9, 11, 6) if rank < 3 else (3,)
        return rng.choice(common if rng.random() < 0.95 else rare)

    return choose


def _sizes(shapes: Sequence[Shape], out: Shape) -> Mapping[str, Dim]:
    return {"in_channels": shapes[0][1], "out_channels": out[1]}


def _weights(rank: int, transposed: bool = False, depthwise: bool = False) -> Callable[..., Mapping[str, Parameter]]:
    def parameters(shapes: Sequence[Shape], out: Shape, a: Attributes) -> Mapping[str, Parameter]:
        kernel = tuple(_along(a["kernel_size"], place) for place in range(rank))
        incoming, outgoing = shapes[0][1], out[1]
        groups = a.get("groups", 1)
        assert isinstance(groups, int)
        if depthwise:
            shape: Shape = (outgoing, 1, *kernel)
        elif transposed:
            shape = (incoming, divide(outgoing, groups), *kernel)
        else:
            shape = (outgoing, divide(incoming, groups), *kernel)
        found = {"weight": Parameter(shape)}
        return found | {"bias": Parameter((outgoing,), "bias")} if a["bias"] else found

    return parameters


_BIAS = (True, True, True, False)


def _uneven(rank: int, *values: tuple[int, int]) -> tuple[Value, ...]:
    """Values that differ from axis to axis, in two dimensions."""
    return values if rank == 2 else ()


def _strides(rank: int) -> tuple[Value, ...]:
    return (1,) * 14 + (2,) * 6 + (3, *_uneven(rank, (1, 2), (2, 1)))


def _conv(rank: int, weight: float) -> Operator:
    return Operator(
        f"conv{rank}d",
        FAMILY,
        (f"F.conv{rank}d({{x}}, {{weight}}, {{bias}}, {{stride}}, {{padding}}, {{dilation}}, {{groups}})",),
        _convolve(rank),
        modules=(
            f"nn.Conv{rank}d({{in_channels}}, {{out_channels}}, {{kernel_size}}"
            "{stride?1}{padding?0}{dilation?1}{groups?1}{bias?True})",
            f"nn.Conv{rank}d({{in_channels}}, {{out_channels}}, kernel_size={{kernel_size}}"
            "{stride?1}{padding?0}{dilation?1}{groups?1}{bias?True})",
        ),
        attributes={
            "kernel_size": _kernel(rank),
            "stride": _strides(rank),
            "padding": (0, 0, 0, 1, 1, 1, 2, 3) * 3 + _uneven(rank, (1, 0), (1, 2), (2, 1), (3, 1)),
            "dilation": (1,) * 24 + (2, 2, 3) + _uneven(rank, (2, 1), (1, 2)),
            "groups": (1,) * 14 + (2, 4, 8),
            "bias": _BIAS,
        },
        ranks=(rank + 2,),
        sizes=_sizes,
        parameters=_weights(rank),
        weight=weight,
    )


def _conv_depthwise(rank: int, weight: float) -> Operator:
    return Operator(
        f"depthwise_conv{rank}d",
        FAMILY,
        (f"F.conv{rank}d({{x}}, {{weight}}, {{bias}}, {{stride}}, {{padding}}, {{dilation}}, {{weight}}.shape[0])",),
        _depthwise(rank),
        modules=(
            f"nn.Conv{rank}d({{in_channels}}, {{in_channels}}, {{kernel_size}}"
            "{stride?1}{padding?0}{dilation?1}, groups={in_channels}{bias?True})",
            f"nn.Conv{rank}d({{in_channels}}, {{in_channels}}, kernel_size={{kernel_size}}"
            "{stride?1}{padding?0}{dilation?1}, groups={in_channels}{bias?True})",
        ),
        attributes={
            "kernel_size": _kernel(rank, even=False),
            "stride": (1, 1, 1, 2),
            "padding": (0, 1, 1, 2, 3),
            "dilation": (1,) * 9 + (2,),
            "bias": _BIAS,
        },
        ranks=(rank + 2,),
        sizes=_sizes,
        parameters=_weights(rank, depthwise=True),
        weight=weight,
    )


def _output_padding(rng: random.Random, _: int) -> Value:
    return 1 if rng.random() < 0.25 else 0


def _conv_transposed(rank: int, weight: float) -> Operator:
    return Operator(
        f"conv_transpose{rank}d",
        FAMILY,
        (
            f"F.conv_transpose{rank}d({{x}}, {{weight}}, {{bias}}, {{stride}}, {{padding}}, {{output_padding}}, "
            "{groups}, {dilation})",
        ),
        _spread(rank),
        modules=(
            f"nn.ConvTranspose{rank}d({{in_channels}}, {{out_channels}}, {{kernel_size}}"
            "{stride?1}{padding?0}{output_padding?0}{groups?1}{bias?True}{dilation?1})",
            f"nn.ConvTranspose{rank}d({{in_channels}}, {{out_channels}}, kernel_size={{kernel_size}}"
            "{stride?1}{padding?0}{output_padding?0}{groups?1}{bias?True}{dilation?1})",
        ),
        attributes={
            "kernel_size": _kernel(rank),
            "stride": (1, 1, 1, 2, 2, 2, 3, *_uneven(rank, (1, 2), (2, 1))),
            "padding": (0, 0, 1, 1, 2),
            "output_padding": _output_padding,
            "dilation": (1,) * 9 + (2,),
            "groups": (1,) * 10 + (2, 4),
            "bias": _BIAS,
        },
        ranks=(rank + 2,),
        sizes=_sizes,
        parameters=_weights(rank, transposed=True),
        weight=weight,
    )


TABLE = (
    _conv(1, 1.0),
    _conv(2, 4.0),
    _conv(3, 1.5),
    _conv_depthwise(1, 0.3),
    _conv_depthwise(2, 1.0),
    _conv_depthwise(3, 0.2),
    _conv_transposed(1, 0.6),
    _conv_transposed(2, 1.5),
    _conv_transposed(3, 1.2),
)
