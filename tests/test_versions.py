"""Sizes are halved until they are small enough, and stand to each other as before."""

import pytest
from linear import LINEAR

from tritonsmith.tasks.versions import FULL_CAPS, TINY_CAPS, shrink, smaller, versions, windows
from tritonsmith.types import Task


@pytest.mark.parametrize(
    ("value", "cap", "wanted"),
    [
        (512, 64, 64),
        (512, 100, 64),
        (100, 64, 50),
        (7, 64, 7),
        (0, 4, 0),
        (-1, 4, -1),
        (4097, 64, 33),
        (3, 3, 3),
        (1, 1, 1),
    ],
)
def test_shrink_divides_by_powers_of_two(value: int, cap: int, wanted: int) -> None:
    assert shrink(value, cap) == wanted


@pytest.mark.parametrize("cap", FULL_CAPS)
def test_shrink_keeps_order_and_the_cap(cap: int) -> None:
    shrunk = [shrink(value, cap) for value in (1, 2, 3, 8, 64, 512, 4096)]
    assert max(shrunk) <= cap and min(shrunk) >= 1


@pytest.mark.parametrize("caps", [FULL_CAPS, TINY_CAPS])
def test_versions_come_in_the_order_of_the_caps(caps: tuple[int, ...]) -> None:
    task = Task(id="t", level=1, source=LINEAR)
    found = [*versions(task, caps, batch_first=False)]
    assert [cap for _, cap in found[: len(caps)]] == [*caps]
    assert all(f"batch, n = ({shrink(4096, cap)}, {shrink(2048, cap)})" in source for source, cap in found[: len(caps)])


def test_a_task_that_names_its_sizes_in_a_helper_has_none_to_turn_down() -> None:
    source = """import torch
from torch import nn

class Model(nn.Module):

    def forward(self, x):
        return x.relu()

def shape():
    return (4096, 2048)

def get_inputs():
    return [torch.randn(shape())]

def get_init_inputs():
    return []"""
    task = Task(id="t", level=1, source=source)
    assert {one for one, _ in versions(task, FULL_CAPS, batch_first=False)} == {source}


def test_the_batch_alone_is_smaller_first_where_that_is_asked() -> None:
    task = Task(id="t", level=1, source=LINEAR)
    source, _ = next(versions(task, TINY_CAPS, batch_first=True))
    assert "batch, n = (4, 2048)" in source


SAME = """import torch
from torch import nn

class Model(nn.Module):

    def __init__(self, channels, kernel):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel, padding=kernel // 2)

    def forward(self, x):
        return self.conv(x)

def get_inputs():
    return [torch.randn(7, 9, 500)]

def get_init_inputs():
    return [9, 11]"""


def test_an_odd_window_stays_odd() -> None:
    """Half of it is what its convolution is padded by; the channels, an input's size, are no window."""
    assert windows(SAME) == {11}
    assert [smaller(value, 4, (5, 7, 9, 11, 13)) for value in (5, 7, 9, 11, 13, 12)] == [3, 3, 3, 3, 3, 3]
    assert [smaller(value, 2, (5, 7, 11)) for value in (5, 7, 11, 8)] == [3, 3, 3, 2]
    task = Task(id="t", level=1, source=SAME)
    found = [source for source, _ in versions(task, TINY_CAPS[:3], batch_first=False)]
    assert found and all(int(source.rpartition(", ")[2].rstrip("]")) % 2 for source in found)
