"""Copies of models and inputs are those of deepcopy."""

import copy

import torch
from torch import nn

from tritonsmith.tasks.copied import inputs_copied, model_copied


class _Keeps(nn.Module):
    """A model with a state besides its weights, which it changes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("rows", torch.arange(12.0).view(3, 4).t())
        self.seen: list[int] = []
        self.known = {"tied": self.inner[0].weight}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Its answer hangs on how often it was asked."""
        self.calls += 1
        self.seen.append(len(x))
        return self.inner(x) * self.calls


def test_what_a_copy_does_leaves_the_model_as_it_was() -> None:
    model, x = _Keeps(), torch.randn(3, 4)
    before = copy.deepcopy(model.state_dict())
    model_copied(model)(x)
    assert model.seen == [] and all(torch.equal(before[name], held) for name, held in model.state_dict().items())


def test_a_copy_of_a_model_is_what_deepcopy_makes() -> None:
    model = _Keeps().double()
    one, other = model_copied(model), copy.deepcopy(model)
    assert list(one.state_dict()) == list(other.state_dict())
    for held, same in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(held, same) and (held.dtype, held.stride()) == (same.dtype, same.stride())
    assert one.known["tied"] is one.inner[0].weight and one.known["tied"] is not model.known["tied"]
    assert all(type(vars(one)[name]) is type(value) for name, value in vars(model).items())


def test_containers_of_a_copy_are_its_own() -> None:
    model = nn.Linear(2, 2)
    copied = model_copied(model)
    copied.register_forward_hook(lambda *_: None)
    assert not model._forward_hooks and model_copied(copied)._forward_hooks


def test_inputs_that_share_memory_share_it_in_their_copies() -> None:
    whole, alone = torch.arange(6.0), torch.ones(2, 3)
    one, view, again, other, number = inputs_copied([whole, whole[2:], whole, alone, 3])
    assert again is one and number == 3 and torch.equal(other, alone) and other.data_ptr() != alone.data_ptr()
    one[2] = 9.0  # type: ignore[index]
    assert float(view[0]) == 9.0 and float(whole[2]) == 2.0  # type: ignore[index]


def test_an_input_of_overlapping_memory_keeps_its_strides() -> None:
    (copied,) = inputs_copied([torch.arange(3.0).expand(2, 3)])
    assert copied.stride() == (0, 1) and copied.shape == (2, 3)  # type: ignore[attr-defined]
