"""Changes to the process a candidate runs in, and effects of a forward: each found, and nothing else."""

import importlib
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

from tritonsmith.verify.dynamic import integrity, replay


@pytest.fixture(scope="module")
def before() -> integrity.Snapshot:
    integrity._remembered.clear()
    return integrity.snapshot()


@pytest.fixture(autouse=True)
def as_it_was(before: integrity.Snapshot) -> Iterator[None]:
    """Each test undoes what it did."""
    assert integrity.changes(before) == []
    yield
    assert integrity.changes(before) == []


def _always(*_: object, **__: object) -> bool:
    return True


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (torch, "allclose"),
        (torch, "matmul"),
        (torch.cuda, "synchronize"),
        (torch.cuda.Event, "elapsed_time"),
        (torch.nn.functional, "relu"),
        (nn.Module, "__call__"),
        (torch.Tensor, "__add__"),
        (time, "perf_counter"),
        (random, "random"),
        (threading.Thread, "start"),
        (integrity, "changes"),
    ],
)
def test_a_replaced_function_is_named(
    before: integrity.Snapshot, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    changes = integrity.changes
    monkeypatch.setattr(owner, name, _always)
    assert any(name in change for change in changes(before))
    monkeypatch.undo()


def test_a_method_put_in_front_of_an_inherited_one_is_named(before: integrity.Snapshot) -> None:
    torch.Tensor.mul = _always  # type: ignore[method-assign]
    found = integrity.changes(before)
    del torch.Tensor.mul  # type: ignore[misc]
    assert found == ["torch.Tensor.mul was added"]


def test_other_code_in_the_same_function_is_named(before: integrity.Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.functional.softmax, "__code__", _always.__code__)
    found = integrity.changes(before)
    monkeypatch.undo()
    assert any("softmax" in change for change in found)


def test_other_defaults_are_named(before: integrity.Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.functional.softmax, "__defaults__", (0, 3, None))
    found = integrity.changes(before)
    monkeypatch.undo()
    assert found == ["the code or defaults of torch.nn.functional.softmax were changed"]


def test_a_replaced_module_is_named(before: integrity.Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", sys.modules["random"])
    found = integrity.changes(before)
    monkeypatch.undo()
    assert found == ["the module json was replaced"]


@pytest.mark.parametrize(
    ("change", "undo", "word"),
    [
        (lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True), "grad mode"),
        (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32), "dtype"),
        (lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None), "default device"),
        (
            lambda: torch.use_deterministic_algorithms(True),
            lambda: torch.use_deterministic_algorithms(False),
            "deterministic",
        ),
        (lambda: torch.set_flush_denormal(True), lambda: torch.set_flush_denormal(False), "denormal"),
        (
            lambda: torch.set_float32_matmul_precision("high"),
            lambda: torch.set_float32_matmul_precision("highest"),
            "precision",
        ),
        (lambda: sys.setprofile(_always), lambda: sys.setprofile(None), "profile"),
    ],
    ids=["grad", "dtype", "device", "deterministic", "denormals", "precision", "profile"],
)
def test_a_changed_flag_is_named(
    before: integrity.Snapshot, change: Callable[[], object], undo: Callable[[], object], word: str
) -> None:
    change()
    try:
        found = integrity.changes(before)
    finally:
        undo()
    assert found and any(word in each for each in found)


def test_a_thread_that_still_runs_is_named(before: integrity.Snapshot) -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    found = integrity.changes(before)
    end.set()
    thread.join()
    assert found == ["a thread was started and still runs"]


def test_honest_work_changes_nothing(before: integrity.Snapshot) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
    with torch.no_grad(), torch.inference_mode(), torch.device("cpu"):
        model(torch.randn(4, 8))
    torch.manual_seed(3)
    assert integrity.changes(before) == []


def test_a_check_takes_milliseconds(before: integrity.Snapshot) -> None:
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        integrity.changes(before)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.02


def test_watched_names_exist() -> None:
    """A library's new version must not make the net smaller in silence; the runner's own load only in a runner."""
    for module in ("triton.runtime.interpreter", "triton.compiler.code_generator", "triton.language.semantic"):
        importlib.import_module(module)
    importlib.import_module("triton.testing")
    lost = [name for name in integrity._NAMESPACES if integrity._find(name) is None]
    assert [name for name in lost if not name.startswith(("tritonsmith.", "safetensors", "statistics"))] == []


# Effects of a forward.


class _Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def _effects(act: Callable[[torch.Tensor, _Scale], torch.Tensor], earlier: object = None) -> replay.Effects:
    model, x = _Scale(), torch.randn(2, 3)
    before = replay.Before([x], model)
    with torch.no_grad():
        return before.effects(act(x, model), earlier)


def test_a_plain_forward_has_no_effects() -> None:
    assert _effects(lambda x, model: model(x)) == {"mutation": [], "alias": []}


def test_of_several_inputs_the_one_that_changed_is_named() -> None:
    """No number equals itself: what held one before and does now is unchanged."""
    inputs = [torch.tensor([1.0, float("nan")]), torch.tensor([1, 2]), torch.tensor([3.0])]
    before = replay.Before(inputs, _Scale())
    inputs[1][0] = 5
    assert before.effects(torch.zeros(1))["mutation"] == ["input 1"]


def test_a_list_that_is_emptied_is_an_input_that_is_changed() -> None:
    given = [[torch.ones(1), torch.zeros(1)]]
    before = replay.Before(given, nn.Linear(1, 1))
    assert before.effects(torch.zeros(2))["mutation"] == []
    given[0].pop()
    assert before.effects(torch.zeros(2))["mutation"] == ["which tensors the inputs' lists or dicts hold"]


def test_a_changed_input_is_noted() -> None:
    assert _effects(lambda x, model: model(x.add_(1)).clone())["mutation"] == ["input 0"]


def test_a_changed_weight_is_noted() -> None:
    assert _effects(lambda x, model: x * model.weight.mul_(2))["mutation"] == ["weight"]


def test_an_output_in_an_input_is_noted() -> None:
    assert _effects(lambda x, model: x.view(-1)[2:])["alias"] == ["output 0 lies in input 0"]


def test_an_output_in_an_earlier_output_is_noted() -> None:
    old = torch.zeros(6)
    assert _effects(lambda x, model: old[3:], [old])["alias"] == ["output 0 lies in the output of the call before"]


def test_what_the_reference_does_is_allowed() -> None:
    class InPlace(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.relu_()

    x = torch.linspace(-1, 1, 4)
    kept = x.clone()
    allowed = replay.reference_effects(InPlace(), [x])
    assert torch.equal(x, kept)
    seen = {
        "effects": {"mutation": ["input 0"], "alias": ["output 0 lies in input 0"]},
        "work": {"old": [0]},
    }
    assert replay.findings(seen, allowed) == []
    assert {f.rule for f in replay.findings(seen, {"mutation": [], "alias": []})} == {"mutation", "alias"}


@pytest.mark.parametrize("notes", [None, 3, {"mutation": 7}, {}])
def test_notes_of_another_form_are_no_exception(notes: object) -> None:
    assert replay.findings({"effects": notes, "work": notes}, {"mutation": [], "alias": []}) == []


def test_output_in_memory_older_than_the_call_is_a_finding() -> None:
    seen = {"effects": {"alias": []}, "work": {"old": [1]}}
    assert [found.rule for found in replay.findings(seen, {"mutation": [], "alias": []})] == ["alias"]


def test_refilling_changes_contents_but_no_version() -> None:
    x = torch.zeros(2, 3)
    version = x._version
    replay.refill([x], [torch.ones(2, 3)])
    assert x.eq(1).all() and x._version == version


def test_a_reference_that_remembers_cannot_be_replayed() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x * self.calls

    first, second = [torch.randn(3)], [torch.randn(3)]
    assert replay.has_memory(Counts(), first, second)
    assert not replay.has_memory(_Scale(), [torch.randn(2, 3)], [torch.randn(2, 3)])


def test_stricter_settings_are_no_change_and_are_put_back(before: integrity.Snapshot) -> None:
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    assert integrity.changes(before) == []
    integrity.put_back(before)
    assert torch.backends.cudnn.allow_tf32 == before.flags["cudnn tf32"]


def test_looser_settings_are_named(before: integrity.Snapshot) -> None:
    torch.set_float32_matmul_precision("high")
    assert any("precision" in change for change in integrity.changes(before))
    integrity.put_back(before)
