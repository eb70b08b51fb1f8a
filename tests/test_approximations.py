"""What a GPU's approximations make of numbers below the normal ones, in the interpreter."""

import numpy as np
import pytest
from judging import KERNEL, double, judge, small

from tritonsmith.verify.interpreter.approximations import flushed
from tritonsmith.verify.pool import Verifier


def test_a_subnormal_number_is_flushed_to_a_zero_of_its_sign() -> None:
    tiny = np.finfo(np.float32).tiny
    found = flushed(np.array([1e-40, -1e-40, tiny, -tiny, 0.0, np.nan], np.float32))
    np.testing.assert_array_equal(found, np.array([0.0, -0.0, tiny, -tiny, 0.0, np.nan], np.float32))
    assert np.signbit(found).tolist() == [False, True, False, True, False, False] and found.dtype == np.float32


FLUSHED = "(tl.exp2(y - 140.0) == 0.0) & (tl.sqrt(y) == 0.0) & (tl.rsqrt(y) > 1e38) & (tl.floor(-y) == 0.0)"
KEPT = "(tl.exp(y - 95.0) > 0.0) & (tl.log(y) < -90.0) & (tl.log(y) > -93.0) & (tl.sqrt_rn(y) > 0.0) & (2.0 * y > 0.0)"


@pytest.mark.parametrize("condition", [FLUSHED, KEPT])
def test_what_ptx_flushes_and_nothing_else_is_flushed(verifier: Verifier, condition: str) -> None:
    """`y` is 1e-40 throughout."""
    kernel = KERNEL.replace("2.0 * tl.load(x_ptr + offsets, mask=mask)", f"tl.where({condition}, 2.0 * x, x)").replace(
        "    tl.store", "    x = tl.load(x_ptr + offsets, mask=mask)\n    y = x * 0.0 + 1e-40\n    tl.store"
    )
    verdict = judge(verifier, small("return 2.0 * x", "torch.rand(64, 48)"), double(kernel=kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)
