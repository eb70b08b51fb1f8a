"""How much memory a variant is given, and how far dimensions grow; no GPU is needed to plan."""

import pytest
from judging import small

from tritonsmith.tasks import scaling
from tritonsmith.tasks.variants import Variant, larger, variants
from tritonsmith.types import Task
from tritonsmith.verify.process.gpu import Gpu
from tritonsmith.verify.reference.peak import peak
from tritonsmith.verify.room import Room
from tritonsmith.verify.sizing import Large, Sizes

GIB = 1 << 30


def _task(shape: str, forward: str = "return torch.relu(x)") -> Task:
    return small(forward, f"torch.rand({shape})")


def _room(memory: int = 140 * GIB) -> Room:
    return Room(Gpu(0, memory=memory))


def _needs(shape: str, forward: str = "return torch.relu(x)") -> float:
    """In multiples of what is given."""
    task = _task(shape, forward)
    found = peak(task)
    assert found is not None
    return _room().needs(Variant("as given", task)) / found.given


def _growth(shape: str, forward: str = "return torch.relu(x)", memory: int = 140 * GIB) -> float | None:
    task = _task(shape, forward)
    whole = scaling.Scaled(task, None, shape)
    return _room(memory).growth(Sizes(whole, lambda: Large(whole, lambda: whole, frozenset())))


def test_a_cpu_plans_with_nothing() -> None:
    task = _task("4096, 393216")
    assert Room(None).needs(Variant("as given", task)) == 0


def test_intermediates_are_planned_with() -> None:
    assert _needs("64, 4096", "return (x[:, :, None] * x[:, None, :]).sum(-1)") > 3 * 4096
    assert _needs("4096, 4096") == 3 + 2 + 2 * 2 + 2


def test_a_task_of_six_gigabytes_fits_beside_the_contexts() -> None:
    task = _task("4096, 393216")
    room = _room()
    assert room.needs(Variant("as given", task)) < 0.6 * 140 * GIB


def test_recorded_calls_are_planned_with_where_a_variant_leaves_memory_for_them() -> None:
    few, many = _task("4096, 4096"), _task("4096, 393216")
    room, variant = _room(), Variant("as given", few)
    found = peak(few)
    assert found is not None
    assert room.needs(variant, recorded=True) - room.needs(variant) == 2 * (found.made + found.most)
    assert room.spare(room.needs(variant)) and not room.spare(room.needs(Variant("as given", many)))


@pytest.mark.parametrize(
    ("shape", "growth"), [("1024, 1024", 2.0), ("1 << 14, 1 << 15", 1.1), ("1 << 15, 65535", None)]
)
def test_dimensions_grow_as_far_as_32_bits_and_memory_go(shape: str, growth: float | None) -> None:
    assert _growth(shape) == growth


def test_what_lies_between_may_not_outgrow_32_bits() -> None:
    forward = "return (x[:, None] * x[None]).sum(-1)"
    growth = _growth("4096, 100", forward)
    assert growth is not None and growth < 2
    found = peak(larger(_task("4096, 100", forward), growth))
    assert found is not None and found.largest < 1 << 31


def test_products_grow_less_than_their_operations() -> None:
    forward = "return torch.nn.functional.conv2d(x, x[:, :, :15, :15])"
    growth = _growth("64, 64, 256, 256", forward)
    assert growth is not None and growth < 1.5
    assert _growth("4096, 4096", "return x @ x.T") == 2.0


def test_no_growth_is_no_variant() -> None:
    task = _task("64, 48")
    assert "larger dimensions" not in {one.label for one in variants(task, True, None)}
    assert "larger dimensions" in {one.label for one in variants(task, True, 1.05)}
