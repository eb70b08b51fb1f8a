"""What a runner does with tensors that come from the host's memory; needs a GPU, but for what it refuses."""

import pytest
import torch

from tritonsmith.verify.process.carrying import check_answer

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="tensors are taken to a GPU")
TREE = {
    "plain": torch.arange(12.0).reshape(3, 4),
    "turned": [torch.arange(12.0).reshape(3, 4).t(), torch.zeros(0, 3)],
    "kinds": (torch.tensor(7), torch.tensor([True, False]), torch.ones(3, dtype=torch.bfloat16)),
    "none": torch.empty(3, device="meta"),
    "word": "as it is",
}


@pytest.mark.gpu
@needs_gpu
def test_tensors_arrive_with_their_values_and_strides() -> None:
    from tritonsmith.tasks.trees import leaves
    from tritonsmith.verify.dynamic.cuda import Guards
    from tritonsmith.verify.process.carrying import Carrier

    found = Carrier(guards := Guards()).carried(TREE)  # type: ignore[arg-type]
    assert isinstance(found, dict) and found["word"] == "as it is"
    for one, other in zip(leaves(TREE), leaves(found), strict=True):
        assert (other.dtype, other.stride()) == (one.dtype, one.stride())
        assert other.is_meta if one.is_meta else torch.equal(one, other.cpu()) and other.is_cuda
    assert guards.broken() == 0


@pytest.mark.gpu
@needs_gpu
def test_what_follows_does_not_change_what_has_been_carried() -> None:
    """All go through the same locked memory."""
    from tritonsmith.verify.dynamic.cuda import Guards
    from tritonsmith.verify.process.carrying import Carrier

    carrier = Carrier(Guards())
    first = [carrier.carried(torch.full((1 << 14,), float(number))) for number in range(8)]
    carrier.carried(torch.zeros(1 << 20))
    assert all(bool((one == number).all()) for number, one in enumerate(first))  # type: ignore[union-attr]


@pytest.mark.gpu
@needs_gpu
def test_constructor_arguments_stay_on_the_host() -> None:
    from tritonsmith.verify.dynamic.cuda import Guards
    from tritonsmith.verify.process.carrying import Carrier

    found = Carrier(Guards()).carried({"init": [torch.ones(2)], "state": {"weight": torch.ones(2)}})
    assert isinstance(found, dict)
    assert not found["init"][0].is_cuda and found["state"]["weight"].is_cuda  # type: ignore[index,union-attr,call-overload]


@pytest.mark.gpu
@needs_gpu
def test_a_guard_that_was_written_to_is_found_on_the_host() -> None:
    from tritonsmith.verify.dynamic.cuda import Guards

    guards = Guards()
    inner = guards.empty((100,), (1,), torch.float32)
    assert guards.broken() == 0
    torch.as_strided(inner, (101,), (1,))[100] = 0.0
    assert guards.broken() == 1


def test_an_output_on_the_host_is_no_answer_of_a_candidate_on_a_gpu() -> None:
    with pytest.raises(TypeError, match="a tensor on cpu"):
        check_answer([torch.ones(1)])
