"""The inputs of extension 1: labels, factors, sizes and precisions."""

import pytest
import torch
from judging import DOUBLE

from tritonsmith.tasks.format import TaskModule
from tritonsmith.tasks.variants import Variant, adapt, map_tensors, variants


def test_off_means_the_task_as_given() -> None:
    assert [variant.label for variant in variants(DOUBLE, multi_input=False)] == ["as given"]


def test_on_means_five() -> None:
    labels = [variant.label for variant in variants(DOUBLE, multi_input=True)]
    assert labels == ["as given", "values x2", "another seed", "larger dimensions", "float16"]


@pytest.mark.parametrize(("growth", "shape"), [(2.0, (128, 96)), (1.25, (80, 60))])
def test_dimensions_grow_together(growth: float, shape: tuple[int, ...]) -> None:
    larger = next(v for v in variants(DOUBLE, True, growth) if v.label == "larger dimensions")
    drawn = TaskModule.of(larger.task).inputs(0)[0]
    assert isinstance(drawn, torch.Tensor) and tuple(drawn.shape) == shape


def test_small_constants_do_not_grow() -> None:
    task = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("64, 48", "64, 3")})
    larger = next(v for v in variants(task, True) if v.label == "larger dimensions")
    assert "torch.randn(128, 3)" in larger.task.source


def test_values_are_scaled_and_integers_left() -> None:
    floats, integers = torch.ones(3), torch.ones(3, dtype=torch.int64)
    scaled = adapt([floats, [integers]], Variant("v", DOUBLE, factor=2.0))
    assert torch.equal(scaled[0], 2 * floats)  # type: ignore[arg-type]
    assert torch.equal(scaled[1][0], integers)  # type: ignore[index]
    assert torch.equal(floats, torch.ones(3))


def test_precision_changes_floats_alone() -> None:
    cast = adapt([torch.ones(3), torch.ones(3, dtype=torch.int64), 2.5], Variant("v", DOUBLE, dtype=torch.float16))
    assert cast[0].dtype == torch.float16 and cast[1].dtype == torch.int64 and cast[2] == 2.5  # type: ignore[attr-defined]


def test_map_reaches_every_tensor_and_keeps_the_form() -> None:
    tree = {"a": [torch.ones(1), (torch.ones(1), None)], "b": "text"}
    mapped = map_tensors(tree, lambda tensor: tensor + 1)
    assert mapped == {"a": [torch.tensor([2.0]), (torch.tensor([2.0]), None)], "b": "text"}
