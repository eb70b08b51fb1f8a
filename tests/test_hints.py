"""What of a promise to the compiler is false: of values alone; whole kernels are in the corpus."""

import numpy as np
import pytest

from tritonsmith.verify.interpreter.hints import fault

UP = np.arange(8)


@pytest.mark.parametrize(
    ("values", "size", "holds"),
    [(UP + 16, 8, True), (UP + 12, 8, False), (UP[::-1].copy(), 8, False), (UP * 8, 8, True), ((UP + 24) % 28, 8, True),
     ((UP + 24) % 29, 8, True), ((UP + 4) % 8, 8, False), (np.minimum(UP + 16, 20), 8, True), (np.array(16), 16, True),
     (np.array(17), 16, False)],
)  # fmt: skip
def test_a_multiple_is_the_first_of_each_run(values: np.ndarray, size: int, holds: bool) -> None:
    assert (fault("multiple_of", values, [size]) is None) is holds


@pytest.mark.parametrize(
    ("values", "size", "holds"),
    [(UP + 5, 8, True), (UP // 4 * 10 + UP % 4, 4, True), (UP // 4 * 10 + UP % 4, 8, False), ((UP + 24) % 29, 8, True),
     (np.where(UP < 5, UP, 0), 8, True), (np.minimum(UP, 5), 8, True), (UP // 2, 8, False), (UP * 2, 2, False),
     (np.where(UP % 2 == 0, UP, 0), 8, False)],
)  # fmt: skip
def test_a_group_is_contiguous_but_where_it_falls_to_zero_or_stays(values: np.ndarray, size: int, holds: bool) -> None:
    assert (fault("max_contiguous", values, [size]) is None) is holds


@pytest.mark.parametrize(("size", "holds"), [(2, True), (4, False), (1, True)])
def test_a_group_is_constant(size: int, holds: bool) -> None:
    assert (fault("max_constancy", UP // 2 + 1, [size]) is None) is holds


def test_each_dimension_has_a_promise_of_its_own() -> None:
    rows = np.arange(4)[:, None] * 24 + np.arange(8)
    assert fault("max_contiguous", rows, [1, 8]) is None
    assert fault("multiple_of", rows, [1, 8]) is None
    assert fault("multiple_of", rows, [1, 16]) is not None
    assert fault("max_contiguous", rows, [4, 1]) is not None


def test_addresses_follow_each_other_by_the_size_of_an_element() -> None:
    assert fault("max_contiguous", 4096 + 4 * UP, [8], step=4) is None
    assert fault("max_contiguous", 4096 + 4 * UP, [8], step=2) is not None
