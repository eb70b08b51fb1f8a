"""Which constants of a task are sizes, and what becomes of them; the model's code, indices and axes stay."""

import pytest
from linear import LINEAR

from tritonsmith.tasks.rescaling import rescale
from tritonsmith.tasks.scaling import tiny
from tritonsmith.tasks.versions import TINY_CAPS, shrink
from tritonsmith.types import Task


def test_constants_scale_and_the_model_stays() -> None:
    small = rescale(LINEAR, lambda value: shrink(value, 64))
    assert "batch, n = (64, 64)" in small and "m: int = 2 * n" in small
    assert "self.eps = 4096" in small and "1000.0" in small


@pytest.mark.parametrize(
    ("written", "grown"),
    [
        ("1 << 14", "32768"),
        ("2 ** 14", "32768"),
        ("10 ** 4", "20000"),
        ("1 << bits", "32768"),
        ("side ** 10", "side ** 10"),
        ("side << 12", "side << 12"),
        ("4096 >> 10", "8192 >> 10"),
        ("16 ** 2", "32 ** 2"),
    ],
)
def test_a_power_is_one_size_and_an_exponent_none(written: str, grown: str) -> None:
    given = f"bits = 14\nside = 16\ndef get_inputs():\n    return [torch.randn({written})]"
    larger = rescale(given, lambda value: 2 * value if value > 8 else value)
    assert larger.endswith(f"torch.randn({grown})]") and "side = 32" in larger


def test_indices_and_axes_stay() -> None:
    small = rescale(LINEAR, lambda value: shrink(value, 64))
    assert "dim=1024 - 1023" in small and "[:4096]" in small


LOOKUP = """import torch
from torch import nn

rows = 4096

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table = nn.Embedding(1000, width)

    def forward(self, at):
        return self.table(at)

def get_inputs():
    return [torch.randint({bounds}, (rows,))]

def get_init_inputs():
    return [512]
"""


@pytest.mark.parametrize("bounds", ["0, 1000", "1000", "high=1000, low=0, size=(rows,)) + torch.zeros(1, dtype=int"])
def test_a_range_that_the_model_names_too_stays(bounds: str) -> None:
    task = Task(id="t", level=1, source=LOOKUP.replace("{bounds}, (rows,)" if "size" in bounds else "{bounds}", bounds))
    source = rescale(task.source, lambda value: 2 * value)
    assert "rows = 8192" in source and "return [1024]" in source
    assert "2000" not in source
    assert tiny(task).cap == TINY_CAPS[0]


def test_a_range_that_sizes_the_model_is_scaled_with_it() -> None:
    source = LOOKUP.format(bounds="0, 700").replace("1000", "width").replace("[512]", "[700]")
    assert "torch.randint(0, 1400, " in rescale(source, lambda value: 2 * value)


def test_a_size_within_an_index_is_scaled_and_the_index_is_not() -> None:
    source = rescale("def get_inputs():\n    return [torch.arange(512)[None, :], TABLE[3]]\n", lambda value: value // 2)
    assert "torch.arange(256)[None, :]" in source and "TABLE[3]" in source


def test_offsets_and_lengths_keep_their_proportions() -> None:
    source = rescale(
        "TOTAL = 512\nOFFSETS = [0, 100, 356, 512]\nLENGTHS = torch.tensor([100, 256, 156])\n",
        lambda value: shrink(value, 32),
    )
    assert "OFFSETS = [0, 6, 22, 32]" in source and "torch.tensor([6, 16, 10])" in source and "TOTAL = 32" in source


def test_lengths_of_which_the_longest_is_a_size_stay_within_it() -> None:
    source = "def get_inputs():\n    return [torch.randn(4, 160), torch.tensor([160, 33, 7, 101])]"
    assert "torch.randn(4, 3), torch.tensor([3, 1, 1, 2])" in rescale(source, lambda value: shrink(value, 4))
