"""Tasks scale through their own constants, related dimensions stay related, and a task that cannot is said to be so."""

from collections.abc import Callable

import pytest
import torch
from judging import DOUBLE

from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import TaskError, TaskModule
from tritonsmith.tasks.variants import odd_sizes
from tritonsmith.types import Task


def _task(source: str) -> Task:
    return Task(id="t", level=1, source=source)


def _shapes(task: Task) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for tensor in TaskModule.of(task).inputs(0) if isinstance(tensor, torch.Tensor)]


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
    assert scaling.shrink(value, cap) == wanted


@pytest.mark.parametrize("cap", scaling.FULL_CAPS)
def test_shrink_keeps_order_and_the_cap(cap: int) -> None:
    shrunk = [scaling.shrink(value, cap) for value in (1, 2, 3, 8, 64, 512, 4096)]
    assert max(shrunk) <= cap and min(shrunk) >= 1


LINEAR = """import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.linear = nn.Linear(n, m)
        self.eps = 4096

    def forward(self, x):
        return self.linear(x) + 1000.0 * self.eps

batch, n = 4096, 2048
m: int = 2 * n

def get_inputs():
    x = torch.randn(batch, n)
    return [x.sum(dim=1024 - 1023, keepdim=True).expand(batch, n)[:4096]]

def get_init_inputs():
    return [n, m]
"""


def test_constants_scale_and_the_model_stays() -> None:
    small = scaling.rescale(LINEAR, lambda value: scaling.shrink(value, 64))
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
    larger = scaling.rescale(given, lambda value: 2 * value if value > 8 else value)
    assert larger.endswith(f"torch.randn({grown})]") and "side = 32" in larger


def test_indices_and_axes_stay() -> None:
    small = scaling.rescale(LINEAR, lambda value: scaling.shrink(value, 64))
    assert "dim=1024 - 1023" in small and "[:4096]" in small


def test_tiny_is_the_smallest_on_which_the_reference_runs() -> None:
    source = LINEAR.replace("return self.linear(x)", "assert x.shape[0] >= 16\n        return self.linear(x)")
    assert _shapes(scaling.tiny(_task(LINEAR)).task)[0] == (4, 4)
    assert _shapes(scaling.tiny(_task(source)).task)[0] == (16, 16)


def test_a_task_that_is_small_enough_stays_as_it_is() -> None:
    full = scaling.full(DOUBLE)
    assert full.cap is None and full.task.source == DOUBLE.source and full.shapes == "64x48"


def test_full_keeps_within_what_the_interpreter_bears() -> None:
    full = scaling.full(_task(LINEAR))
    assert full.cap is not None
    assert sum(rows * columns for rows, columns in _shapes(full.task)) <= scaling.FULL.elements


def test_divisibility_is_kept() -> None:
    source = LINEAR.replace("return self.linear(x)", "return self.linear(x).view(x.shape[0], groups, -1)").replace(
        "batch, n", "groups = 8\nbatch, n", 1
    )
    small = scaling.full(_task(source)).task
    assert _shapes(small)[0][1] % 8 == 0


@pytest.mark.parametrize(
    "source",
    [
        LINEAR.replace("return self.linear(x)", "raise RuntimeError('never')"),
        LINEAR.replace("torch.randn(batch, n)", "undefined"),
        LINEAR.replace("return self.linear(x)", "assert min(x.shape) > 2000\n        return self.linear(x)"),
    ],
)
def test_a_task_without_a_smaller_size_is_said_to_be_so(source: str) -> None:
    with pytest.raises(TaskError, match="cannot be scaled"):
        scaling.full(_task(source))


def test_a_task_that_does_not_parse_is_said_to_be_so() -> None:
    with pytest.raises(TaskError, match="does not parse"):
        scaling.tiny(_task("def broken(:"))


def test_huge_inputs_are_never_allocated() -> None:
    source = (
        LINEAR.replace("batch, n = 4096, 2048", "batch, n = 1 << 40, 1 << 30")
        .replace("1 << 40", str(1 << 40))
        .replace("1 << 30", str(1 << 30))
    )
    assert scaling.full(_task(source)).cap is not None


def test_knows_whether_the_reference_runs_without_data() -> None:
    assert scaling.runs_without_data(DOUBLE) and scaling.runs_without_data(_task(LINEAR))
    assert not scaling.runs_without_data(_task(LINEAR.replace("self.linear(x)", "self.linear(x) * float(x.max())")))
    assert not scaling.runs_without_data(_task("def broken(:"))


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
    task = _task(LOOKUP.replace("{bounds}, (rows,)" if "size" in bounds else "{bounds}", bounds))
    source = scaling.rescale(task.source, lambda value: 2 * value)
    assert "rows = 8192" in source and "return [1024]" in source
    assert "2000" not in source
    assert scaling.tiny(task).cap == scaling.TINY_CAPS[0]


def test_a_range_that_sizes_the_model_is_scaled_with_it() -> None:
    source = LOOKUP.format(bounds="0, 700").replace("1000", "width").replace("[512]", "[700]")
    assert "torch.randint(0, 1400, " in scaling.rescale(source, lambda value: 2 * value)


def test_where_nothing_else_runs_what_the_model_names_stays() -> None:
    fixed = LINEAR.replace("nn.Linear(n, m)", "nn.Linear(2048, 96)").replace("self.eps = 4096", "self.eps = 1")
    small = scaling.tiny(_task(fixed))
    assert (small.cap, _shapes(small.task)[0]) == (scaling.TINY_CAPS[0], (4, 2048))


HALVES = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = nn.Linear(8, size)

    def forward(self, x, mask):
        first, second = self.inner(x).chunk(2, dim=1)
        return first * torch.relu(second) * mask


def get_inputs():
    return [torch.randn(8, 8), torch.randn(8, 768 // 2)]


def get_init_inputs():
    return [768]
"""


def test_a_size_at_which_equals_are_broadcast_is_passed_over() -> None:
    """At 3 features the halves have 2 and 1 and the mask has 1: right answers to the task fail there."""
    small = scaling.tiny(Task(id="halves", level=2, source=HALVES))
    model, inputs = TaskModule.of(small.task).model(0), TaskModule.of(small.task).inputs(0)
    assert [half.shape for half in model.inner(inputs[0]).chunk(2, dim=1)] == [inputs[1].shape] * 2


def _network(layers: str, shape: str, sizes: str, given: str = "", arguments: str = "") -> Task:
    return _task(f"""import torch
from torch import nn

class Model(nn.Module):
    def __init__(self{arguments}):
        super().__init__()
        self.layers = nn.Sequential({layers})

    def forward(self, x):
        return self.layers(x)

{sizes}

def get_inputs():
    return [torch.rand({shape})]

def get_init_inputs():
    return [{given}]
""")


def test_sizes_that_are_bound_to_each_other_are_divided_alike() -> None:
    upsampled = "nn.ConvTranspose2d(filters, filters, 2, stride=2), nn.LayerNorm(filters)"
    task = _network(upsampled, "64, filters, 32, width", "filters, width = 256, 128", "filters", ", filters")
    for small in (scaling.tiny(task), scaling.full(task)):
        _, filters, _, width = _shapes(small.task)[0]
        assert filters == 2 * width < 128


def test_a_network_of_fixed_width_is_tried_with_a_smaller_batch() -> None:
    task = _network("nn.Conv2d(3, 8, 5), nn.Flatten(), nn.Linear(8 * 28 * 28, 10)", "batch, 3, 32, 32", "batch = 512")
    assert _shapes(scaling.full(task).task)[0] == _shapes(scaling.tiny(task).task)[0] == (4, 3, 32, 32)


def test_what_the_constructor_is_given_stays_where_nothing_else_runs() -> None:
    layers = "nn.Conv2d(3, filters, 3), nn.GroupNorm(groups, filters)"
    task = _network(layers, "128, 3, 64, 64", "filters, groups = 24, 8", "filters, groups", ", filters, groups")
    batch, channels, height, _ = _shapes(scaling.full(task).task)[0]
    assert channels == 3 and batch < 128 and height < 64


def test_a_count_of_layers_stays() -> None:
    layers = "*(nn.Linear(one, one) for one in widths)"
    task = _network(layers, "64, width", "width = 1024\nwidths = [width] * 12", "widths", ", widths")
    for small in (scaling.tiny(task), scaling.full(task)):
        assert "] * 12" in small.task.source
    larger = scaling.resized(scaling.full(task).task.source, lambda value: 2 * value)
    assert "] * 12" in larger and _shapes(_task(larger))[0] > _shapes(scaling.full(task).task)[0]


RECURRENT = """import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.net = nn.GRU(width, width, layers)

    def forward(self, x, h):
        return self.net(x, h)[0]

width, layers = 128, 6

def get_inputs():
    return [torch.rand(512, 10, width), torch.rand(layers, 10, width)]

def get_init_inputs():
    return [width, layers]
"""


@pytest.mark.parametrize("version", [scaling.full, scaling.tiny])
def test_a_count_of_recurrent_layers_stays(version: Callable[[Task], scaling.Scaled]) -> None:
    width, layers = TaskModule.of(version(_task(RECURRENT)).task).init_inputs()
    assert layers == 6 and width != 128


def test_a_network_that_nothing_scales_is_told_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    task = _network("nn.Flatten(), nn.Linear(3 * 512 * 512, 4096)", "64, 3, 512, 512", "")
    built: list[object] = []
    monkeypatch.setattr(scaling, "forward", lambda *given: built.append(given))
    with pytest.raises(TaskError, match="cannot be scaled"):
        scaling.full(task)
    assert not built


GROUPS = """import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, inputs, channels, groups):
        super().__init__()
        self.fc = nn.Linear(inputs, channels)
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.norm(self.fc(x))

def get_inputs():
    return [torch.rand(1024, 8192)]

def get_init_inputs():
    return [8192, 8192, 512]
"""


@pytest.mark.parametrize("version", [scaling.full, scaling.tiny])
def test_groups_keep_several_channels(version: Callable[[Task], scaling.Scaled]) -> None:
    """What is normalised alone is zero, whatever a candidate makes of the inputs."""
    _, channels, groups = TaskModule.of(version(_task(GROUPS)).task).init_inputs()
    assert isinstance(channels, int) and isinstance(groups, int) and channels >= 2 * groups


SQUEEZE = """import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, channels, reduction=16):
        super().__init__()
        self.squeeze = nn.Linear(channels, channels // reduction)
        self.excite = nn.Linear(channels // reduction, channels)

    def forward(self, x):
        return x * torch.sigmoid(self.excite(self.squeeze(x.mean((2, 3)))))[:, :, None, None]

def get_inputs():
    return [torch.rand(64, 256, 112, 112)]

def get_init_inputs():
    return [256]
"""


@pytest.mark.parametrize("version", [scaling.full, scaling.tiny])
def test_no_layer_is_emptied(version: Callable[[Task], scaling.Scaled]) -> None:
    """256 channels over 16 are a hidden layer; of 4 channels nothing is left, and the answer would be a constant."""
    (batch, channels, height, _), *_ = _shapes(version(_task(SQUEEZE)).task)
    assert channels >= 32 and batch <= 8 and 1 < height <= 16


def test_odd_sizes_empty_no_layer() -> None:
    source = SQUEEZE.replace("64, 256, 112, 112", "8, 16, 12, 12").replace("[256]", "[16]")
    odd = odd_sizes(_task(source))
    assert odd is None or _shapes(odd)[0][1] >= 16


def test_a_size_within_an_index_is_scaled_and_the_index_is_not() -> None:
    source = scaling.rescale(
        "def get_inputs():\n    return [torch.arange(512)[None, :], TABLE[3]]\n", lambda value: value // 2
    )
    assert "torch.arange(256)[None, :]" in source and "TABLE[3]" in source


def test_offsets_and_lengths_keep_their_proportions() -> None:
    source = scaling.rescale(
        "TOTAL = 512\nOFFSETS = [0, 100, 356, 512]\nLENGTHS = torch.tensor([100, 256, 156])\n",
        lambda value: scaling.shrink(value, 32),
    )
    assert "OFFSETS = [0, 6, 22, 32]" in source and "torch.tensor([6, 16, 10])" in source and "TOTAL = 32" in source
