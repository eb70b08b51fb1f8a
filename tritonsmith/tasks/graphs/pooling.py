"""Pooling over windows and to given sizes, and its opposite: interpolation and pixel shuffling."""

from collections.abc import Callable, Sequence

from tritonsmith.tasks.graphs.conv import describe, window
from tritonsmith.tasks.graphs.dims import MisfitError, Shape, Solver, divide, multiply
from tritonsmith.tasks.graphs.operator import Attributes, Operator, integer, need_rank

FAMILY = "pooling"
Rule = Callable[[Solver, Sequence[Shape], Attributes], Shape]


def _slide(rank: int) -> Rule:
    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        need_rank(shapes[0], rank + 2)
        describe(solver, shapes[0])
        kernel, stride = integer(a, "kernel_size"), integer(a, "stride")
        padding, dilation = integer(a, "padding"), 1 if "dilation" not in a else integer(a, "dilation")
        if 2 * padding > kernel:
            raise MisfitError("padded by more than half of the window")
        if rank == 3 and "dilation" not in a:
            for dim in shapes[0][2:]:
                solver.at_least(dim, kernel)  # torch's avg_pool3d wants as much without the padding
        spatial = [window(solver, dim, kernel, stride, padding, dilation) for dim in shapes[0][2:]]
        return (*shapes[0][:2], *spatial)

    return rule


def _halve(rank: int) -> Rule:
    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        need_rank(shapes[0], rank + 2)
        describe(solver, shapes[0])
        kernel = integer(a, "kernel_size")
        return (*shapes[0][:2], *(window(solver, dim, kernel, kernel, 0) for dim in shapes[0][2:]))

    return rule


def _adaptive(rank: int) -> Rule:
    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        need_rank(shapes[0], rank + 2)
        describe(solver, shapes[0])
        size = integer(a, "output_size")
        for dim in shapes[0][2:]:
            solver.at_least(dim, 2 * size)
        return (*shapes[0][:2], *(size,) * rank)

    return rule


def _upsample(rank: int) -> Rule:
    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        need_rank(shapes[0], rank + 2)
        describe(solver, shapes[0])
        return (*shapes[0][:2], *(multiply(dim, integer(a, "scale_factor")) for dim in shapes[0][2:]))

    return rule


def _shuffle(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    need_rank(shapes[0], 4)
    describe(solver, shapes[0])
    batch, channels, height, width = shapes[0]
    factor = integer(a, "factor")
    solver.divisible(channels, factor * factor)
    return batch, divide(channels, factor * factor), multiply(height, factor), multiply(width, factor)


def _unshuffle(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    need_rank(shapes[0], 4)
    describe(solver, shapes[0])
    batch, channels, height, width = shapes[0]
    factor = integer(a, "factor")
    solver.divisible(height, factor)
    solver.divisible(width, factor)
    return batch, multiply(channels, factor * factor), divide(height, factor), divide(width, factor)


_ROWS = {1: 0.4, 2: 1.0, 3: 0.5}
_KERNELS = (2, 2, 2, 3, 3, 4, 5)


def _pool(kind: str, rank: int, weight: float) -> tuple[Operator, ...]:
    function, module = f"F.{kind}_pool{rank}d", f"nn.{kind.capitalize()}Pool{rank}d"
    dilated = {"dilation": (1,) * 8 + (2, 3)} if kind == "max" else {}
    option = "{dilation?1}" if kind == "max" else ""
    first = f"{function}({{x}}, {{kernel_size}}, {{stride}}, {{padding}}{option})"
    return (
        Operator(
            f"{kind}_pool{rank}d",
            FAMILY,
            (first, f"{function}({{x}}, kernel_size={{kernel_size}}, stride={{stride}}{{padding?0}}{option})"),
            _slide(rank),
            modules=(
                f"{module}({{kernel_size}}, stride={{stride}}{{padding?0}}{option})",
                f"{module}(kernel_size={{kernel_size}}, stride={{stride}}{{padding?0}}{option})",
            ),
            attributes={"kernel_size": _KERNELS, "stride": (1, 1, 2, 2, 3), "padding": (0, 0, 1, 1, 2), **dilated},
            ranks=(rank + 2,),
            weight=0.6 * weight,
        ),
        Operator(
            f"{kind}_pool{rank}d_whole",
            FAMILY,
            (f"{function}({{x}}, {{kernel_size}})", f"{function}({{x}}, kernel_size={{kernel_size}})"),
            _halve(rank),
            modules=(f"{module}({{kernel_size}})", f"{module}(kernel_size={{kernel_size}})"),
            attributes={"kernel_size": (2, 2, 2, 3, 4)},
            ranks=(rank + 2,),
            weight=weight,
        ),
    )


def _adaptive_pool(kind: str, rank: int, weight: float) -> Operator:
    return Operator(
        f"adaptive_{kind}_pool{rank}d",
        FAMILY,
        (f"F.adaptive_{kind}_pool{rank}d({{x}}, {{output_size}})",),
        _adaptive(rank),
        modules=(f"nn.Adaptive{kind.capitalize()}Pool{rank}d({{output_size}})",),
        attributes={"output_size": (1, 1, 1, 1, 2, 3, 4) if rank < 3 else (1, 1, 2)},
        ranks=(rank + 2,),
        weight=weight,
    )


TABLE = (
    *(one for rank, weight in _ROWS.items() for kind in ("max", "avg") for one in _pool(kind, rank, weight)),
    *(_adaptive_pool("avg", rank, weight) for rank, weight in _ROWS.items()),
    *(_adaptive_pool("max", rank, 0.3 * weight) for rank, weight in _ROWS.items()),
    Operator(
        "upsample_nearest2d",
        FAMILY,
        (
            'F.interpolate({x}, scale_factor={scale_factor}, mode="nearest")',
            "F.interpolate({x}, scale_factor={scale_factor})",
        ),
        _upsample(2),
        modules=(
            'nn.Upsample(scale_factor={scale_factor}, mode="nearest")',
            "nn.Upsample(scale_factor={scale_factor})",
        ),
        attributes={"scale_factor": (2, 2, 2, 3)},
        ranks=(4,),
        weight=0.7,
    ),
    Operator(
        "upsample_nearest1d",
        FAMILY,
        ("F.interpolate({x}, scale_factor={scale_factor})",),
        _upsample(1),
        modules=("nn.Upsample(scale_factor={scale_factor})",),
        attributes={"scale_factor": (2, 3, 4)},
        ranks=(3,),
        weight=0.2,
    ),
    Operator(
        "pixel_shuffle",
        FAMILY,
        ("F.pixel_shuffle({x}, {factor})",),
        _shuffle,
        modules=("nn.PixelShuffle({factor})",),
        attributes={"factor": (2, 2, 3)},
        ranks=(4,),
        weight=0.3,
    ),
    Operator(
        "pixel_unshuffle",
        FAMILY,
        ("F.pixel_unshuffle({x}, {factor})",),
        _unshuffle,
        modules=("nn.PixelUnshuffle({factor})",),
        attributes={"factor": (2,)},
        ranks=(4,),
        weight=0.2,
    ),
)
