"""Tasks become as small as a device bears, related dimensions stay related, and one that cannot is said to be so."""

from collections.abc import Callable

import pytest
import torch
from judging import DOUBLE
from linear import LINEAR

from tritonsmith.tasks import rescaling, scaling
from tritonsmith.tasks.format import TaskError, TaskModule
from tritonsmith.tasks.variants import odd_sizes
from tritonsmith.tasks.versions import PAIR
from tritonsmith.types import Task


def _task(source: str) -> Task:
    return Task(id="t", level=1, source=source)


def _shapes(task: Task) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for tensor in TaskModule.of(task).inputs(0) if isinstance(tensor, torch.Tensor)]


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


@pytest.mark.parametrize("version", [scaling.full, scaling.tiny])
def test_a_reference_that_fails_everywhere_is_run_at_each_size_once(
    version: Callable[[Task], scaling.Scaled], monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[tuple[str, scaling.Bound | None]] = []

    def shapes_within(task: Task, bound: scaling.Bound | None) -> str:
        run.append((task.source, bound))
        raise scaling.Unfit("never")

    monkeypatch.setattr(scaling, "shapes_within", shapes_within)
    with pytest.raises(TaskError, match="never"):
        version(_task(LINEAR))
    assert len(run) > 3 and len(set(run)) == len(run)


def test_what_calls_other_operators_at_every_smaller_size_is_taken_all_the_same() -> None:
    other = "y = self.linear(x) * (x[:1, :1] if x.numel() < 4096 * 2048 else x[:, :1])\n        return y"
    (found, *_), (larger, *_) = (
        _shapes(scaling.tiny(_task(LINEAR.replace("return self.linear(x)", f"{refusal}{other}"))).task)
        for refusal in ("", "assert x.shape[0] >= 16\n        ")
    )
    assert (found, larger) == ((4, 4), (16, 16))


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


def test_where_nothing_else_runs_what_the_model_names_stays() -> None:
    fixed = LINEAR.replace("nn.Linear(n, m)", "nn.Linear(2048, 96)").replace("self.eps = 4096", "self.eps = 1")
    small = scaling.tiny(_task(fixed))
    assert (small.cap, _shapes(small.task)[0]) == (PAIR, (2, 2048))


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
    assert _shapes(scaling.full(task).task)[0] == (4, 3, 32, 32)
    assert _shapes(scaling.tiny(task).task)[0] == (2, 3, 32, 32)


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
    larger = rescaling.resized(scaling.full(task).task.source, lambda value: 2 * value)
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


STEP_BY_STEP = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.rnn = nn.GRU(features, hidden)

    def forward(self, x):
        {forward}


def get_inputs():
    return [torch.randn({steps}, 6, 24)]


def get_init_inputs():
    return [24, 32]
"""


@pytest.mark.parametrize("steps", [40, 400])
def test_a_recurrent_network_is_tried_at_fewer_steps(steps: int) -> None:
    """Its operators are called for each of them, and the reference may be too long to be looked on."""
    source = STEP_BY_STEP.format(forward="return self.rnn(x)[0]", steps=steps)
    found = scaling.tiny(Task(id="gru", level=1, source=source))
    assert int(found.shapes.split("x")[0]) <= 4


def test_a_count_that_the_model_names_is_no_length_to_be_cut() -> None:
    """A kernel has it written in, too, where it is the number of rounds of something else."""
    forward = "y = self.rnn(x[:1])[0]\n        for _ in range(40):\n            y = y / y.norm()\n        return x + y"
    found = scaling.tiny(Task(id="rounds", level=1, source=STEP_BY_STEP.format(forward=forward, steps=40)))
    assert "range(40)" in found.task.source
