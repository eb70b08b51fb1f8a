"""Other contents for weights that begin as a constant: which tensors get them, and where a candidate keeps them."""

from threading import Thread

import torch
from torch import nn

from tritonsmith.verify.reference.stand_ins import outlying, put_in, put_in_rest, signed, stand_ins, standing_in


class _Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(8), nn.Linear(8, 8)
        self.gate = nn.Parameter(torch.full((8,), 1e-6))


class _Renamed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, 8))
        self.shift = torch.zeros(8)
        self.doubled = 2 * self.gamma.detach()


def test_constants_alone_are_replaced() -> None:
    model = _Norm()
    linear = model.linear.weight.detach().clone()
    put_in(list(model.state_dict().values()), stand_ins(model, 0))
    norm = model.norm
    assert norm.weight.std() > 0 and norm.running_mean.std() > 0 and (norm.running_var > 0).all()  # type: ignore[union-attr,operator]
    assert torch.equal(model.linear.weight, linear)


def test_what_hides_a_branch_is_replaced_by_what_does_not() -> None:
    model = _Norm()
    put_in([model.gate], stand_ins(model, 0))
    assert model.gate.abs().min() > 0.1


def test_equal_constants_of_equal_size_get_equal_contents() -> None:
    model = _Norm()
    put_in(list(model.state_dict().values()), stand_ins(model, 0))
    assert torch.equal(model.norm.bias, model.norm.running_mean)  # type: ignore[arg-type]


def test_a_model_without_constants_has_none() -> None:
    assert stand_ins(nn.Linear(8, 8), 0) == []


def test_other_names_get_them_while_the_model_is_built() -> None:
    known = stand_ins(_Norm(), 0)
    with standing_in(known):
        model = _Renamed()
    assert model.gamma.std() > 0 and torch.equal(model.doubled, 2 * model.gamma)
    put_in_rest(model, known, ["norm.weight"], [])
    assert model.shift.std() > 0


def test_scratch_is_left_alone_where_all_weights_were_found() -> None:
    model = _Renamed()
    put_in_rest(model, stand_ins(_Norm(), 0), ["norm.weight"], ["norm.weight"])
    assert not model.shift.any()


def test_a_scale_of_ones_may_become_of_either_sign_and_larger() -> None:
    contents = next(one for value, one in stand_ins(_Norm(), 0, free=True) if value == 1.0)
    assert contents.min() < 0 < contents.max() and contents.abs().max() > 1.5


def test_a_single_number_is_large_and_positive_or_negative() -> None:
    one = torch.ones(1)
    assert signed(one, 1.0, 0, opposite=False) > 1.5
    assert signed(one, 1.0, 0, opposite=True) < 0


def test_of_each_four_zeros_two_become_large_one_of_either_sign() -> None:
    contents = next(one for value, one in stand_ins(_Norm(), 0, free=True) if value == 0.0)
    assert bool((contents[0::4] >= 2.0).all()) and bool((contents[1::4] <= -2.0).all())
    assert bool((contents.view(2, 4)[:, 2:].abs() <= 1.5).all())
    assert torch.equal(outlying(torch.ones(1)), torch.ones(1))


def test_a_model_that_another_thread_constructs_meanwhile_is_left_alone() -> None:
    """Torch's hooks are of the whole process: a reference had what stood in for another one's weights."""
    found: list[_Norm] = []
    with standing_in(stand_ins(_Norm(), 0)):
        thread = Thread(target=lambda: found.append(_Norm()))
        thread.start()
        thread.join()
        assert _Norm().norm.weight.std() > 0
    assert torch.equal(found[0].norm.weight, torch.ones(8)) and torch.equal(found[0].norm.bias, torch.zeros(8))
