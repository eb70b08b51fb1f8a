"""Descriptors that the hardware takes pass; of others it is said what is wrong."""

import pytest

from tritonsmith.verify.descriptors import fault


@pytest.mark.parametrize(
    ("base", "strides", "itemsize"),
    [(0, [4, 1], 4), (4096, [64, 8, 1], 2), (16, [1], 4), (32, [0, 1], 4), (0, [16, 1], 1)],
)
def test_multiples_of_16_bytes_fit(base: int, strides: list[int], itemsize: int) -> None:
    assert fault(base, strides, itemsize) is None


@pytest.mark.parametrize(
    ("base", "strides", "itemsize", "message"),
    [
        (4, [4, 1], 4, "the base of a tensor descriptor lies 4 bytes"),
        (0, [4, 1], 2, "stride 0 of a tensor descriptor is 8 bytes"),
        (0, [16, 3, 1], 4, "stride 1 of a tensor descriptor is 12 bytes"),
        (0, [4, 2], 4, "the last stride of a tensor descriptor is 2 elements"),
    ],
)
def test_what_does_not_fit_is_named(base: int, strides: list[int], itemsize: int, message: str) -> None:
    assert str(fault(base, strides, itemsize)).startswith(message)
