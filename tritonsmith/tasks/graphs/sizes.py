"""Sizes for a graph's free dimensions: small ones to try it, and those that a task is written with."""

import math
import random
from collections.abc import Callable, Mapping

from tritonsmith.tasks import scaling, versions
from tritonsmith.tasks.graphs.dims import Shape, Solver, Symbol, evaluate, symbols
from tritonsmith.tasks.graphs.draft import Draft
from tritonsmith.tasks.graphs.graph import Leaf, Node
from tritonsmith.tasks.graphs.operator import Value
from tritonsmith.tasks.graphs.table import TABLE

Sizes = Mapping[Symbol, int]
SPATIAL = ("length", "height", "width", "depth")
PROBE = {
    "batch": 6,
    "channels": 8,
    "out_channels": 12,
    "features": 40,
    "in_features": 40,
    "out_features": 36,
    "length": 14,
    "height": 12,
    "width": 10,
    "depth": 8,
    "vocabulary": 50,
    "classes": 20,
    "picked": 7,
    "heads": 2,
    "head_features": 16,
}
"""Sizes at which a graph is tried, by role."""
PROBE_ELEMENTS, PROBE_OPERATIONS = 1 << 23, 1e10
"""What trying a graph may take: minima asked of what comes late can make the first sizes very large."""
LEAST = {"batch": 2, "channels": 4, "out_channels": 4, "features": 16, "height": 6, "width": 6, "depth": 6}
"""Sizes of last resort, by role."""
FEW_CHANNELS = 4
MAX_ELEMENTS = 1 << 30
"""Elements of all values of a task together: 4 GB in float32."""
MAX_OPERATIONS = 1e12
"""Floating-point operations of a task: some tenths of a second on a GPU, in float64 too."""

_SCALES: dict[str, dict[str, tuple[int, ...]]] = {
    "small": {
        "batch": (1, 2, 3, 4, 8, 8, 10, 16, 32),
        "channels": (3, 4, 8, 16, 24, 32),
        "features": (10, 16, 20, 32, 50, 64, 100, 128),
        "length": (16, 20, 32, 50, 64, 100, 128),
        "image": (8, 14, 16, 28, 32),
        "depth": (4, 8, 10, 16),
    },
    "medium": {
        "batch": (4, 8, 16, 32, 64, 100, 128, 256),
        "channels": (3, 8, 16, 32, 48, 64, 96, 128),
        "features": (128, 200, 256, 384, 512, 768, 1000, 1024),
        "length": (64, 128, 200, 256, 512, 1000, 1024),
        "image": (28, 32, 56, 64, 96, 128),
        "depth": (8, 16, 24, 32),
    },
    "large": {
        "batch": (8, 10, 16, 64, 112, 128, 256, 1024, 2048, 4096),
        "channels": (3, 16, 32, 64, 96, 128, 256),
        "features": (1024, 1536, 2048, 3000, 4096, 5120, 8192, 10240, 16384),
        "length": (512, 1024, 2048, 4096, 8192),
        "image": (64, 128, 224, 256, 384, 512),
        "depth": (16, 24, 32, 48, 64),
    },
}
_COUNTS = {
    "vocabulary": (100, 500, 1000, 5000, 10000, 32000),
    "classes": (10, 20, 100, 512, 1000, 1024, 4096),
    "picked": (4, 8, 10, 16, 32, 100),
    "heads": (2, 4, 8, 12, 16),
    "head_features": (16, 32, 64, 64, 80, 128),
}
"""Sizes that have the same range in tasks of all scales."""
_COLUMN = {"height": "image", "width": "image", "out_channels": "channels"} | {
    role: "features" for role in ("in_features", "out_features")
}


def _solve(solver: Solver, free: list[Symbol], pick: Callable[[Symbol], int]) -> dict[Symbol, int] | None:
    """Sizes as picked, made larger until everything that is asked of them holds; None where it never does."""
    multiple = {symbol: 1 for symbol in free}
    for dim, by in solver.divisors:
        for symbol in set(symbols(solver.find(dim))):
            multiple[symbol] = math.lcm(multiple[symbol], by)
    sizes = {symbol: -(-pick(symbol) // multiple[symbol]) * multiple[symbol] for symbol in free}
    for _ in range(8):
        low = [
            symbol
            for dim, least in solver.minima
            if evaluate(found := solver.find(dim), sizes) < least
            for symbol in symbols(found)
        ]
        if not low:
            break
        for symbol in set(low):
            sizes[symbol] *= 2
    return sizes if _holds(solver, sizes) else None


def _holds(solver: Solver, sizes: Sizes) -> bool:
    return all(evaluate(solver.find(dim), sizes) >= least for dim, least in solver.minima) and all(
        evaluate(solver.find(dim), sizes) % by == 0 for dim, by in solver.divisors
    )


def free_symbols(draft: Draft) -> list[Symbol]:
    """The sizes that are to be chosen, in the order in which the values have them."""
    found = [s for place in range(len(draft.items)) for dim in draft.shape(place) for s in symbols(dim)]
    return list(dict.fromkeys(found))


def probe_sizes(draft: Draft, factor: int = 1, few: bool = False) -> dict[Symbol, int] | None:
    """Small sizes, the same for the same draft; None where there are none.

    `factor` makes features wider; `few` gives few channels and features.
    """
    roles = draft.solver.roles

    def pick(symbol: Symbol) -> int:
        role = roles[symbol]
        if few and ("channels" in role or "features" in role):
            return FEW_CHANNELS
        if factor > 1 and role == "batch":
            return 3
        return PROBE[role] * (factor if "features" in role or role == "length" else 1)

    sizes = _solve(draft.solver, free_symbols(draft), pick)
    return sizes if sizes and _is_bearable(draft, sizes, PROBE_ELEMENTS, PROBE_OPERATIONS) else None


def least_sizes(draft: Draft) -> dict[Symbol, int] | None:
    """Sizes so small that the interpreter bears them; None where there are none, and then nobody can try the graph."""
    sizes = _solve(draft.solver, free_symbols(draft), lambda symbol: LEAST.get(draft.solver.roles[symbol], 8))
    return sizes if sizes and can_be_scaled(draft, sizes) else None


def draw_sizes(draft: Draft, rng: random.Random, small: bool = False) -> dict[Symbol, int] | None:
    """Sizes of a task, from tiny to those of real networks, within MAX_ELEMENTS; None for a graph too large for any.

    `small`: such as Triton's interpreter computes at as they are, so that no smaller version stands for the task.
    """
    free, roles = free_symbols(draft), draft.solver.roles
    scales = rng.choices((("small",), ("medium",), ("large", "medium", "small")), (1, 3, 2))[0]
    scales = ("small",) if small else (*scales, "medium", "small")
    side = rng.random() < 0.7
    for attempt in range(40):
        table = _SCALES[scales[min(attempt // 10, len(scales) - 1)]]
        image = rng.choice(table["image"])

        def pick(symbol: Symbol, table: dict[str, tuple[int, ...]] = table, image: int = image) -> int:
            column = _COLUMN.get(roles[symbol], roles[symbol])
            if column in _COUNTS:
                return rng.choice(_COUNTS[column])
            return image if column == "image" and side else rng.choice(table[column])

        sizes = _solve(draft.solver, free, pick)
        if sizes and _is_bearable(draft, sizes) and (scaled := _scaled(draft, sizes)):
            return scaled if small else sizes
    return least_sizes(draft)


def _is_bearable(draft: Draft, sizes: Sizes, elements: int = MAX_ELEMENTS, most: float = MAX_OPERATIONS) -> bool:
    """Whether there is room and time for a task, by default on a GPU."""
    values = sum(_count(draft.shape(place), sizes) for place in range(len(draft.items)))
    held, operations = _cost(draft, sizes)
    return values + held <= elements and operations <= most


def can_be_scaled(draft: Draft, sizes: Sizes) -> bool:
    """Whether `tasks.scaling` will find a version that the interpreter bears: sizes halved until they are small."""
    return _scaled(draft, sizes) is not None


def _scaled(draft: Draft, sizes: Sizes) -> dict[Symbol, int] | None:
    """The largest version of some sizes that the interpreter bears.

    Attributes are taken as they are, whether a writing makes constants of them or not; so no size may have to become
    smaller than they are.
    """
    largest = max(
        (_largest(value) for node in draft.items if isinstance(node, Node) for _, value in node.attributes), default=0
    )
    for cap in versions.FULL_CAPS:
        if cap < largest:
            return None
        small = {symbol: versions.shrink(size, cap) for symbol, size in sizes.items()}
        if not _holds(draft.solver, small):
            continue
        count, operations = _cost(draft, small)
        if count <= scaling.FULL.elements and operations <= scaling.FULL.flops:
            return small
    return None


def _cost(draft: Draft, sizes: Sizes) -> tuple[int, float]:
    """Elements of inputs, weights and output, and floating-point operations of the layers that multiply."""
    count, operations = 0, 0.0
    for place, item in enumerate(draft.items):
        shape = draft.shape(place)
        if isinstance(item, Leaf) or place == len(draft.items) - 1:
            count += _count(shape, sizes)
        if not isinstance(item, Node):
            continue
        operator, shapes = TABLE[item.name], [draft.shape(one) for one in item.operands]
        if operator.parameters is not None:
            held = operator.parameters(shapes, shape, dict(item.attributes))
            count += sum(_count(one.shape, sizes) for one in held.values())
            if operator.family in ("conv", "matmul"):
                moved = shapes[0] if "transpose" in item.name else shape
                operations += 2 * _count(moved, sizes) * _count(held["weight"].shape[1:], sizes)
        elif operator.family in ("matmul", "attention") and len(shapes) > 1:
            operations += 2 * math.sqrt(_count(shapes[0], sizes) * _count(shapes[1], sizes) * _count(shape, sizes))
    return count, operations


def _largest(value: Value) -> int:
    if isinstance(value, tuple):
        return max(value)
    return value if isinstance(value, int) else 0


def _count(shape: Shape, sizes: Sizes) -> int:
    return math.prod(evaluate(dim, sizes) for dim in shape)
