"""Minima and maxima in the interpreter order zeros as a GPU does."""

import numpy as np
import pytest

from tritonsmith.verify.interpreter.extremes import along, maximum, minimum

ZEROS = np.array([0.0, 0.0, -0.0, -0.0], np.float32), np.array([0.0, -0.0, 0.0, -0.0], np.float32)


def test_the_smaller_one_of_two_zeros_has_a_sign() -> None:
    assert np.signbit(minimum(*ZEROS)).tolist() == [False, True, True, True]


def test_the_larger_one_of_two_zeros_has_none() -> None:
    assert np.signbit(maximum(*ZEROS)).tolist() == [False, False, False, True]


def test_equal_numbers_and_nan_are_as_numpy_has_them() -> None:
    one, other = np.array([-2.0, 3.0, np.nan, 1.0, np.nan]), np.array([-2.0, -3.0, -1.0, np.nan, np.nan])
    np.testing.assert_array_equal(maximum(one, other), np.fmax(one, other))
    np.testing.assert_array_equal(minimum(one, other, np.minimum), np.minimum(one, other))


@pytest.mark.parametrize("lowest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_reductions_order_zeros_whatever_their_order(axis: int | None, lowest: bool) -> None:
    values = np.array([[0.0, -0.0], [-0.0, 0.0]], np.float32)
    for given in (values, values[::-1]):
        found = np.atleast_1d(along(given, axis, False, lowest))
        assert (np.signbit(found) == lowest).all() and found.dtype == np.float32


def test_a_reduction_of_numbers_is_numpys() -> None:
    values = np.array([[1.0, np.nan, -3.0], [np.nan, np.nan, -0.0]], np.float32)
    assert along(values, 1, True, False).tolist() == [[1.0], [-0.0]]
    assert along(np.array([3, -4]), None, False, True) == -4
