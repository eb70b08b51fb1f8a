"""What kernels are given at sizes that are never run is as precise as what they are run on."""

import pytest
import torch
import triton.language as tl

from tritonsmith.verify.dynamic.conduct import less_precise
from tritonsmith.verify.launches.arguments import precise


def test_precision_is_that_of_tensors_types_and_words() -> None:
    named = {"x": torch.zeros(1), "i": torch.zeros(1, dtype=torch.int64), "n": 3, "how": "tf32", "kind": tl.float16}
    assert precise(named) == {"x": "32", "how": "tf32", "kind": "16"}


@pytest.mark.parametrize(
    ("own", "run", "found"),
    [
        ({"x": "16"}, {"x": "32"}, True),
        ({"x": "32"}, {"x": "16"}, False),
        ({"x": "16"}, {"x": "16"}, False),
        ({"how": "tf32"}, {"how": "ieee"}, True),
        ({"how": "relu"}, {"how": "gelu"}, False),
        ({"y": "16"}, {"x": "32"}, False),
    ],
)
def test_only_what_is_lower_than_in_every_run_is_found(own: dict[str, str], run: dict[str, str], found: bool) -> None:
    assert bool(less_precise([{"name": "k", "precise": own}], [{"name": "k", "precise": run}])) is found


def test_a_kernel_that_was_not_run_is_not_judged_by_it() -> None:
    assert not less_precise([{"name": "k", "precise": {"x": "16"}}], [{"name": "other", "precise": {"x": "32"}}])
