"""Sizes for a graph's free dimensions: small ones to try it, and those that a task is written with."""

import math
import random
from collections.abc import Callable, Mapping

from tritonsmith.tasks.graphs.dims import Solver, Symbol, evaluate, symbols
from tritonsmith.tasks.graphs.draft import Draft

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
}
"""Sizes at which a graph is tried, by role."""
MAX_ELEMENTS = 1 << 30
"""Elements of all values of a task together: 4 GB in float32."""

_SCALES: dict[str, dict[str, tuple[int, ...]]] = {
    "small": {
        "batch": (2, 4, 8, 10, 16, 32),
        "channels": (3, 4, 8, 16, 24, 32),
        "features": (10, 16, 20, 32, 50, 64, 100, 128),
        "length": (16, 20, 32, 50, 64, 100, 128),
        "image": (8, 14, 16, 28, 32),
        "depth": (4, 8, 10, 16),
    },
    "medium": {
        "batch": (16, 32, 64, 100, 128, 256),
        "channels": (3, 8, 16, 32, 48, 64, 96, 128),
        "features": (128, 200, 256, 384, 512, 768, 1000, 1024),
        "length": (64, 128, 200, 256, 512, 1000, 1024),
        "image": (28, 32, 56, 64, 96, 128),
        "depth": (8, 16, 24, 32),
    },
    "large": {
        "batch": (16, 64, 112, 128, 256, 1024, 2048, 4096),
        "channels": (3, 16, 32, 64, 96, 128, 256),
        "features": (1024, 1536, 2048, 3000, 4096, 5120, 8192, 10240, 16384),
        "length": (512, 1024, 2048, 4096, 8192),
        "image": (64, 128, 224, 256, 384, 512),
        "depth": (16, 24, 32, 48, 64),
    },
}
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
    sound = all(evaluate(solver.find(dim), sizes) >= least for dim, least in solver.minima) and all(
        evaluate(solver.find(dim), sizes) % by == 0 for dim, by in solver.divisors
    )
    return sizes if sound else None


def free_symbols(draft: Draft) -> list[Symbol]:
    """The sizes that are to be chosen, in the order in which the values have them."""
    found = [s for place in range(len(draft.items)) for dim in draft.shape(place) for s in symbols(dim)]
    return list(dict.fromkeys(found))


def probe_sizes(draft: Draft, factor: int = 1) -> dict[Symbol, int] | None:
    """Small sizes, the same for the same draft; None where there are none. `factor` makes features wider."""
    roles = draft.solver.roles

    def pick(symbol: Symbol) -> int:
        role = roles[symbol]
        return PROBE[role] * (factor if "features" in role or role == "length" else 1)

    return _solve(draft.solver, free_symbols(draft), pick)


def draw_sizes(draft: Draft, rng: random.Random) -> dict[Symbol, int] | None:
    """Sizes of a task, from tiny to those of real networks, within MAX_ELEMENTS; None where none are found."""
    free, roles = free_symbols(draft), draft.solver.roles
    scales = rng.choices((("small",), ("medium",), ("large", "medium", "small")), (1, 3, 2))[0]
    scales = (*scales, "medium", "small")
    side = rng.random() < 0.7
    for attempt in range(24):
        table = _SCALES[scales[min(attempt // 8, len(scales) - 1)]]
        image = rng.choice(table["image"])

        def pick(symbol: Symbol, table: dict[str, tuple[int, ...]] = table, image: int = image) -> int:
            column = _COLUMN.get(roles[symbol], roles[symbol])
            return image if column == "image" and side else rng.choice(table[column])

        sizes = _solve(draft.solver, free, pick)
        if sizes and elements(draft, sizes) <= MAX_ELEMENTS:
            return sizes
    return None


def elements(draft: Draft, sizes: Sizes) -> int:
    """Elements of all values together, modules' weights left out."""
    return sum(
        math.prod(evaluate(dim, sizes) for dim in draft.shape(place)) for place in range(len(draft.items))
    )
