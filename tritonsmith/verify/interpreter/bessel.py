"""Bessel functions of the orders 0 and 1 and the normal distribution's quantiles in float64, for libdevice's in the
interpreter: in numpy alone, for torch is watched there.

Power series where they converge without loss, Hankel's expansions beyond (Abramowitz and Stegun 1964, 9.1.10-13,
9.2.5-10, 9.6.10 and 9.7.1), to about 1e-11; CUDA's own are allowed 2e-6 in float32 (CUDA Math API).
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_SERIES, _GROWING = 12.0, 20.0
"""Up to where the series are used, of those that swing and of those that grow."""
_TERMS, _EXPANDED = 80, 20


def j(order: int, x: Array) -> Array:
    """Of the first kind."""
    size = np.abs(x)
    found = np.where(size <= _SERIES, _series(order, np.minimum(size, _SERIES), -1.0), _swinging(order, size)[0])
    return np.where(np.isinf(x), 0.0, found * np.where((x < 0) & (order == 1), -1.0, 1.0))


def y(order: int, x: Array) -> Array:
    """Of the second kind: none below zero, and no number at it."""
    small = np.clip(x, np.finfo(np.float64).tiny, _SERIES)
    quarter, total, term, sums = small * small / 4, np.zeros_like(small), np.ones_like(small), -2 * np.euler_gamma
    for k in range(_TERMS):
        total += term * (sums + (1 / (k + 1) if order == 1 else 0.0))
        term, sums = term * -quarter / ((k + 1) * (k + 1 + order)), sums + 2 / (k + 1)
    near = 2 * np.log(small / 2) * _series(order, small, -1.0) - (small / 2) ** order * total
    near = (near - (2 / small if order == 1 else 0.0)) / math.pi
    found = np.where(x <= _SERIES, near, np.where(np.isinf(x), 0.0, _swinging(order, x)[1]))
    return np.where(x < 0, np.nan, np.where(x == 0, -np.inf, np.where(np.isnan(x), x, found)))


def i(order: int, x: Array) -> Array:
    """Of the first kind, modified."""
    size = np.abs(x)
    large = np.maximum(size, _GROWING)
    expanded = sum((-1) ** k * _hankel(order, k) / large**k for k in range(2 * _EXPANDED))
    # Half of the power twice: the whole one is too large before the value is.
    beyond = np.exp(large / 2) * (expanded / np.sqrt(2 * math.pi * large)) * np.exp(large / 2)
    found = np.where(size <= _GROWING, _series(order, np.minimum(size, _GROWING), 1.0), beyond)
    return np.where(np.isinf(x), np.inf, found) * np.where((x < 0) & (order == 1), -1.0, 1.0)


def quantile(p: Array, tail: Callable[[Array], Array]) -> Array:
    """Where the normal distribution reaches `p`, given the complementary error function: Abramowitz and Stegun 26.2.23,
    made exact by Halley's method."""
    least = np.minimum(p, 1 - p)
    t = np.sqrt(-2 * np.log(least))
    top, bottom = 2.515517 + t * (0.802853 + t * 0.010328), 1 + t * (1.432788 + t * (0.189269 + t * 0.001308))
    x = top / bottom - t
    for _ in range(3):
        off = (tail(-x / math.sqrt(2)) / 2 - least) * math.sqrt(2 * math.pi) * np.exp(x * x / 2)
        x = x - off / (1 + x * off / 2)
    found = np.where(p < 0.5, x, -x)
    return np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.where((p < 0) | (p > 1), np.nan, found)))


def _series(order: int, x: Array, sign: float) -> Array:
    quarter, total, term = sign * x * x / 4, np.zeros_like(x), (x / 2) ** order
    for k in range(_TERMS):
        total += term
        term = term * quarter / ((k + 1) * (k + 1 + order))
    return total


def _swinging(order: int, x: Array) -> tuple[Array, Array]:
    """Of both kinds, beyond the series."""
    large = np.maximum(x, _SERIES)
    even = sum((-1) ** k * _hankel(order, 2 * k) / large ** (2 * k) for k in range(_EXPANDED // 2))
    odd = sum((-1) ** k * _hankel(order, 2 * k + 1) / large ** (2 * k + 1) for k in range(_EXPANDED // 2))
    angle, size = large - (order / 2 + 1 / 4) * math.pi, np.sqrt(2 / (math.pi * large))
    sine, cosine = np.sin(angle), np.cos(angle)
    return size * (even * cosine - odd * sine), size * (even * sine + odd * cosine)


def _hankel(order: int, k: int) -> float:
    """The k-th number of Hankel's expansions."""
    return math.prod(4 * order**2 - (2 * n - 1) ** 2 for n in range(1, k + 1)) / (math.factorial(k) * 8**k)
