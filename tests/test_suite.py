"""Every task of the built-in suite loads, scales down, runs in two precisions, and no null output passes for it.

Hand-written kernels and planted bugs are tested elsewhere; nothing here runs Triton.
"""

import ast
from collections.abc import Callable, Iterator
from functools import cache

import pytest
import torch

from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import NAMES, TaskModule, forward, load_spec
from tritonsmith.types import Task
from tritonsmith.verify.numerics import TOLERANCE

TASKS = load_spec("suite")
WEIGHTS, INPUTS, OTHER_INPUTS = 7, 8, 9

every_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)


@cache
def _scaled(id: str) -> Task:
    return scaling.full(next(task for task in TASKS if task.id == id)).task


@cache
def _run(id: str, dtype: torch.dtype, seed: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Inputs and outputs of a scaled task, in a precision."""
    module = TaskModule.of(_scaled(id))
    inputs = list(_tensors(module.inputs(seed)))
    cast = [x.to(dtype) if x.is_floating_point() else x for x in inputs]
    return inputs, list(_tensors(forward(module.model(WEIGHTS).to(dtype), cast)))


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _distance(candidate: torch.Tensor, truth: torch.Tensor) -> float:
    """Root mean square of the difference, relative to the truth's own."""
    truth = truth.double()
    return float((candidate.double() - truth).square().mean().sqrt() / truth.square().mean().sqrt())


@pytest.mark.parametrize("level", [1, 2])
def test_has_thirty_tasks_a_level(level: int) -> None:
    assert len([task for task in TASKS if task.level == level]) >= 30


@every_task
def test_follows_kernelbench_format(task: Task) -> None:
    tree = ast.parse(task.source)
    defined = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(NAMES) <= set(defined)
    docstring = ast.get_docstring(defined["Model"])
    assert docstring is not None and "\n" not in docstring


@every_task
def test_runs_at_the_tiny_size(task: Task) -> None:
    module = TaskModule.of(scaling.tiny(task).task)
    outputs = list(_tensors(forward(module.model(WEIGHTS), module.inputs(INPUTS))))
    assert outputs
    assert all(output.numel() > 0 and bool(torch.isfinite(output).all()) for output in outputs)


@every_task
def test_float32_agrees_with_float64(task: Task) -> None:
    _, low = _run(task.id, torch.float32, INPUTS)
    _, high = _run(task.id, torch.float64, INPUTS)
    for single, double in zip(low, high, strict=True):
        assert bool(torch.isfinite(single).all())
        if single.is_floating_point():
            assert double.dtype == torch.float64
            torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)
        else:
            assert torch.equal(single, double)


@every_task
def test_is_deterministic_under_a_seed(task: Task) -> None:
    first = _run(task.id, torch.float32, INPUTS)
    again = _run.__wrapped__(task.id, torch.float32, INPUTS)
    for one, two in zip(_tensors(first), _tensors(again), strict=True):
        assert torch.equal(one, two)


Null = Callable[[list[torch.Tensor], torch.Tensor, torch.Tensor], list[torch.Tensor]]
"""What a candidate without the computation could give: from inputs, truth and the truth for other inputs."""


def _zeros(inputs: list[torch.Tensor], truth: torch.Tensor, other: torch.Tensor) -> list[torch.Tensor]:
    return [torch.zeros_like(truth)]


def _mean(inputs: list[torch.Tensor], truth: torch.Tensor, other: torch.Tensor) -> list[torch.Tensor]:
    return [truth.double().mean().expand_as(truth)] if truth.numel() > 1 else []


def _copy_of_input(inputs: list[torch.Tensor], truth: torch.Tensor, other: torch.Tensor) -> list[torch.Tensor]:
    return [x for x in inputs if x.shape == truth.shape]


def _yesterdays(inputs: list[torch.Tensor], truth: torch.Tensor, other: torch.Tensor) -> list[torch.Tensor]:
    return [other]


@every_task
@pytest.mark.parametrize("null", [_zeros, _mean, _copy_of_input, _yesterdays])
def test_null_output_is_far_from_truth(task: Task, null: Null) -> None:
    inputs, outputs = _run(task.id, torch.float32, INPUTS)
    _, others = _run(task.id, torch.float32, OTHER_INPUTS)
    for truth, other in zip(outputs, others, strict=True):
        for candidate in null(inputs, truth, other):
            assert _distance(candidate, truth) > 20 * TOLERANCE[torch.float32]


@every_task
def test_parameters_are_not_trivial(task: Task) -> None:
    """A candidate that forgets a factor of ones or a bias of zeros must be found out."""
    for name, value in TaskModule.of(_scaled(task.id)).model(WEIGHTS).named_parameters():
        assert value.numel() == 1 or value.std() > 0, name
