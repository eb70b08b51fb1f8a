"""Trees of a candidate's own function give what one call after the other gives."""

import numpy as np
import pytest

from tritonsmith.verify.interpreter.combining import Arrays, reduced, scanned


def _affine(left: Arrays, right: Arrays) -> Arrays:
    """x -> a x + b, one map after the other: associative, and the order counts."""
    return [left[0] * right[0], left[1] * right[0] + right[1]]


def _one_by_one(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = a.copy(), b.copy()
    for i in range(1, a.shape[-1]):
        b[..., i] += b[..., i - 1] * a[..., i]
        a[..., i] *= a[..., i - 1]
    return a, b


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_order_is_kept(size: int) -> None:
    a, b = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3, size))
    slow = _one_by_one(a, b)
    for fast, wanted in zip(scanned([a, b], _affine), slow, strict=True):
        np.testing.assert_allclose(fast, wanted)
    for fast, wanted in zip(reduced([a, b], _affine), slow, strict=True):
        np.testing.assert_allclose(fast[..., 0], wanted[..., -1])


@pytest.mark.parametrize("size", [2, 16, 128])
def test_blocks_keep_the_sizes_that_triton_takes(size: int) -> None:
    """A combining function is given blocks, and those have powers of two of elements."""
    sizes: set[int] = set()

    def noted(left: Arrays, right: Arrays) -> Arrays:
        sizes.update(side.shape[-1] for side in (*left, *right))
        return _affine(left, right)

    ones = [np.ones((3, size)), np.ones((3, size))]
    scanned(ones, noted)
    reduced(ones, noted)
    assert sizes and all(one & (one - 1) == 0 for one in sizes)
