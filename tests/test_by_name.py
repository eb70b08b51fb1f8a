"""Contents of its own for each weight that begins alike under every seed, also for what is prepared of it."""

from threading import Thread

import torch
from torch import nn

from tritonsmith.verify.reference import by_name
from tritonsmith.verify.reference.by_name import How, Weights, built, put_in, weights


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(8), nn.Linear(8, 8)
        self.same = nn.Linear(8, 8, bias=False)
        nn.init.eye_(self.same.weight)
        self.gate = nn.Parameter(torch.zeros(8))
        with torch.no_grad():
            self.gate[:4] = 1.0
        self.register_buffer("temperature", torch.tensor(2.0))
        self.register_buffer("table", torch.arange(8.0).cos())
        self.register_buffer("mask", torch.ones(8, 8).tril().bool())
        self.turned = self.same.weight.detach().t().contiguous()
        self.folded = self.norm.weight.detach() / self.norm.running_var.sqrt()  # type: ignore[union-attr,operator]
        self.doubled = 2 * self.gate.detach()
        self.number = float(self.temperature)


def _known(how: How = "turned") -> Weights:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first = _Model()
        torch.manual_seed(1)
        return weights(first, _Model(), 0, how)


def test_what_begins_alike_is_replaced_but_for_tables_and_masks() -> None:
    norms = {f"norm.{name}" for name in ("weight", "bias", "running_mean", "running_var")}
    assert _known("left").keys() == norms | {"same.weight", "gate", "temperature"}


def test_what_is_drawn_becomes_what_training_might_make_of_it() -> None:
    """Rows of one length, one sign or a symmetry that weights begin with: what relied on them was accepted."""
    for how in ("turned", "scaled"):
        begins, contents = _known(how)["linear.weight"]
        share = contents / begins
        assert bool((share.abs() >= 0.5).all()) and bool((share.abs() <= 1.5).all())
        assert bool((share < 0).any()) == (how == "turned")


def test_equal_constants_get_contents_of_their_own() -> None:
    """Two norms begin alike: a kernel that gave both the first one's weight was accepted."""
    model = _Model()
    put_in(model, _known())
    norm = model.norm
    assert not torch.equal(norm.bias, norm.running_mean) and not torch.equal(norm.weight, norm.running_var)  # type: ignore[arg-type]
    assert bool((norm.running_var > 0).all()) and float(model.temperature) > 0  # type: ignore[arg-type,operator]


def test_what_is_prepared_of_them_is_prepared_of_the_contents() -> None:
    known = _known()
    model = built(_Model, known)
    assert isinstance(model, _Model)
    assert torch.equal(model.turned, known["same.weight"][1].t())
    assert torch.equal(model.folded, known["norm.weight"][1] / known["norm.running_var"][1].sqrt())
    assert torch.equal(model.doubled, 2 * known["gate"][1])
    assert model.number == float(known["temperature"][1])


def test_two_names_of_one_weight_share_its_contents() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Parameter(torch.ones(8))
            self.two = self.one

    known = weights(Tied(), Tied(), 0)
    assert all(row[1] is known["one"][1] for row in known.values())


def test_what_is_no_model_is_handed_on() -> None:
    assert built(lambda: 3, _known()) == 3


def test_vectors_that_begin_as_long_as_one_another_do_not_stay_so() -> None:
    """Who leaves their lengths out was right by chance in 3 of 100 verdicts: each number was moved by itself alone."""
    begins = torch.nn.functional.normalize(torch.randn(128, 32), dim=-1)
    lengths = by_name._moved(begins, 7, turned=True).norm(dim=-1)
    assert lengths.max() > 1.5 * lengths.min() and 0.7 < lengths.mean() < 1.4


def test_a_model_that_another_thread_constructs_meanwhile_is_left_alone() -> None:
    """Torch's hooks are of the whole process."""
    others: list[_Model] = []

    def construct() -> _Model:
        thread = Thread(target=lambda: others.append(_Model()))
        thread.start()
        thread.join()
        return _Model()

    model = built(construct, _known("left"))
    assert model.norm.weight.std() > 0
    assert all(torch.equal(other.norm.weight, torch.ones(8)) for other in others) and len(others) == 2
