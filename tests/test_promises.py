"""Parts of what the interpreter gives no more of than Triton promises; whole kernels are in the corpus."""

import numpy as np
import pytest
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from tritonsmith.verify.interpreter.bfloat16 import in_two_parts
from tritonsmith.verify.interpreter.combining import mixed


@pytest.mark.parametrize("size", [4, 8, 64, 1024])
def test_elements_are_combined_in_another_order(size: int) -> None:
    order = mixed(size)
    assert sorted(order) == list(range(size))
    assert order[0] not in (0, size - 1)
    assert order[-1] not in (0, size - 1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_elements_are_turned_round(size: int) -> None:
    assert mixed(size).tolist() == list(range(size))[::-1]


def test_two_parts_keep_sixteen_bits() -> None:
    values = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    values[:3] = np.inf, -np.inf, np.nan
    found = in_two_parts(TensorHandle(values, tl.float32)).data
    np.testing.assert_array_equal(found[:3], values[:3])
    np.testing.assert_allclose(found[3:], values[3:], rtol=2**-16)
    assert (found[3:] != values[3:]).any()
