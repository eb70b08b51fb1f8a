"""What would lie in the host's memory if there were a GPU, told apart where both are the same."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from tritonsmith.verify.launches.device import on_device
from tritonsmith.verify.launches.hosted import is_hosted, refuse


@pytest.fixture
def given() -> Iterator[Tensor]:
    """A tensor of the GPU's, inside a call of a candidate."""
    tensor = torch.ones(4)
    with on_device("cpu", called=True):
        yield tensor


HOST: list[Callable[[Tensor], Tensor]] = [
    lambda x: torch.empty(3),
    lambda x: torch.zeros(3, device="cpu"),
    lambda x: torch.arange(4).view(2, 2)[0],
    lambda x: torch.ones(4).to(torch.float16),
    lambda x: x.cpu(),
    lambda x: x.to("cpu"),
    lambda x: torch.empty_like(x, device="cpu"),
    lambda x: torch.stack([torch.zeros(2), torch.ones(2)]),
    lambda x: x.cpu().contiguous() + 1,
]
GPU: list[Callable[[Tensor], Tensor]] = [
    lambda x: torch.empty_like(x),
    lambda x: x.new_zeros(3),
    lambda x: torch.empty(3, device=x.device),
    lambda x: torch.empty(3, device="cuda"),
    lambda x: torch.arange(4).to(x),
    lambda x: torch.arange(4).to(x.device),
    lambda x: torch.arange(4).type_as(x),
    lambda x: torch.zeros(3).cuda(),
    lambda x: x.cpu().to(x.device),
    lambda x: x.clone().copy_(torch.ones(4)),
    lambda x: torch.cat([x, x]),
]


@pytest.mark.parametrize("make", HOST)
def test_a_tensor_without_a_device_is_the_hosts(make: Callable[[Tensor], Tensor], given: Tensor) -> None:
    made = make(given)
    assert is_hosted(made)
    assert not made.is_cuda
    assert made.device == torch.device("cpu")
    assert not is_hosted(given)


@pytest.mark.parametrize("make", GPU)
def test_a_tensor_on_a_device_is_the_gpus(make: Callable[[Tensor], Tensor], given: Tensor) -> None:
    made = make(given)
    assert not is_hosted(made)
    assert made.is_cuda
    assert made.device == given.device


def test_a_copy_to_the_host_is_another_tensor(given: Tensor) -> None:
    assert given.cpu() is not given
    assert given.cpu().data_ptr() != given.data_ptr()


def test_a_default_device_counts_as_named(given: Tensor) -> None:
    with torch.device("cuda"):
        assert torch.empty(3).is_cuda


def test_what_a_module_is_built_with_lies_on_the_gpu() -> None:
    with on_device("cpu"):
        made = torch.ones(3)
    with on_device("cpu", called=True):
        assert made.is_cuda


def test_a_launch_on_the_hosts_memory_is_refused_as_triton_does(given: Tensor) -> None:
    refuse([given, 3, None])
    with pytest.raises(ValueError, match=r"at 1\) cannot be accessed"):
        refuse([given, torch.zeros(1)])
