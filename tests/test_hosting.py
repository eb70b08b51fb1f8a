"""Small sizes are drawn and answered on the host where candidates run on a GPU; nothing here needs one."""

from dataclasses import replace

import pytest
import torch

from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import load_spec
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Task
from tritonsmith.verify.reference.given import Material
from tritonsmith.verify.reference.hosting import Hosting, on_host, small
from tritonsmith.verify.reference.material import Supply

RELU = next(task for task in load_spec("suite") if task.id == "level1/relu")
TINY = Variant("as given", scaling.tiny(RELU).task)
PARTIAL = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return {body}

def get_inputs():
    return [torch.rand({size})]

def get_init_inputs():
    return []
"""


def _task(body: str, size: int = 8) -> Task:
    return Task(id="partial", level=1, source=PARTIAL.format(body=body, size=size))


def test_a_small_size_of_a_task_is_answered_on_the_host() -> None:
    material = Supply(cuda=True, budget=1 << 20).join(RELU).material(TINY)
    assert isinstance(material, Material) and on_host(material.truth)


def test_a_tasks_own_size_is_answered_where_it_is_timed_however_small_it_is() -> None:
    task = _task("x + 1")
    assert Hosting(cuda=True).device(Variant("as given", task), task) == "cuda"


def test_a_large_size_is_answered_on_the_gpu() -> None:
    assert Hosting(cuda=True).device(Variant("as given", _task("x + 1", 1 << 20)), RELU) == "cuda"


@pytest.mark.parametrize("body", ["(300 * x).to(torch.int8)", "(300 * x).int()", "x.type(torch.uint8)"])
def test_what_makes_whole_numbers_of_fractions_is_answered_on_the_gpu(body: str) -> None:
    """A processor wraps what does not fit into an integer, and a GPU takes the nearest that does."""
    assert not small(_task(body))


def test_numbers_that_are_drawn_as_whole_ones_are_no_matter() -> None:
    assert small(_task("x[torch.arange(4, dtype=torch.int64)]"))


def test_a_variant_whose_reference_fails_on_the_host_is_tried_on_the_gpu_from_then_on() -> None:
    hosting, half = Hosting(cuda=True), replace(TINY, label="float16", dtype=torch.float16)
    assert hosting.device(half, RELU) == "cpu"
    assert hosting.may_run_elsewhere(half, NotImplementedError("not implemented for 'Half'"))
    assert hosting.device(half, RELU) == "cuda"
    assert hosting.device(TINY, RELU) == "cpu"


def test_all_variants_follow_a_reference_that_does_not_run_on_the_host_as_given() -> None:
    hosting = Hosting(cuda=True)
    hosting.may_run_elsewhere(TINY, AssertionError("x.is_cuda"))
    assert hosting.device(replace(TINY, label="small values", values="small"), RELU) == "cuda"


def test_a_variant_that_does_not_exist_is_not_looked_for_on_the_gpu() -> None:
    assert not Hosting(cuda=True).may_run_elsewhere(TINY, ValueError("there are no such values"))


def test_without_a_gpu_all_is_answered_on_the_host() -> None:
    hosting = Hosting(cuda=False)
    assert hosting.device(Variant("as given", RELU), RELU) == "cpu"
    assert not hosting.may_run_elsewhere(TINY, RuntimeError("no"))
