"""Small sizes are drawn and answered on the host where candidates run on a GPU; nothing here needs one."""

from dataclasses import replace

import pytest
import torch

from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import TaskModule, load_spec
from tritonsmith.tasks.variants import Variant, variants
from tritonsmith.types import Task
from tritonsmith.verify.reference.given import Material
from tritonsmith.verify.reference.hosting import Hosting, may_run_elsewhere, on_host, small
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


def _supply() -> Supply:
    """A GPU's judge's, whose candidates are constructed on this processor: nothing else of it needs the GPU."""
    supply = Supply(cuda=True, budget=1 << 20)
    supply.hosting.device = "cpu"
    return supply


def test_a_small_size_of_a_task_is_answered_on_the_host() -> None:
    draws = _supply().join(RELU)
    material = draws.material(TINY)
    assert draws.hosted(TINY) and isinstance(material, Material) and on_host(material.truth)


WEIGHTED = [task for task in load_spec("suite:level2") if "nn.Linear(" in task.source]


@pytest.mark.parametrize("task", WEIGHTED, ids=lambda task: task.id)
def test_material_on_the_host_is_what_a_judge_without_a_gpu_has(task: Task) -> None:
    """Weights included, whatever stands in for them; all models are what the seed gives where candidates are."""
    here, there = Supply(cuda=False, budget=1 << 20).join(task), _supply().join(task)
    there.weights, there._others = here.weights, here._others
    tiny, compared = scaling.tiny(task).task, 0
    for variant in variants(tiny, True, None, light=tiny):
        one, other = here.material(variant), there.material(variant)
        assert there.hosted(variant), variant.label
        if isinstance(one, Material) and isinstance(other, Material):  # some exist for what most seeds draw alone
            rows = [made.model.state_dict() for made in (one, other)]
            assert rows[0]
            assert all(torch.equal(rows[0][name], rows[1][name]) for name in rows[0]), variant.label
            compared += 1
    assert compared > 3


def test_a_model_is_constructed_once_and_each_has_a_copy() -> None:
    task = next(task for task in load_spec("suite") if task.id == "level2/mlp_block")
    draws, variant = _supply().join(task), Variant("as given", scaling.tiny(task).task)
    one, other = draws.model(variant), draws.model(variant)
    pairs = list(zip(one.parameters(), other.parameters(), strict=True))
    assert pairs and all(torch.equal(*pair) and pair[0] is not pair[1] for pair in pairs)


def test_what_draws_in_its_forward_is_answered_where_candidates_draw() -> None:
    """The same seed gives other numbers there."""
    task = _task("torch.nn.functional.dropout(x)", 1 << 20)
    small_one = Variant("as given", _task("torch.nn.functional.dropout(x)"))
    draws = _supply().join(task)
    assert draws.hosted(small_one)
    draws.material(small_one)
    assert not draws.hosted(small_one)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="a GPU draws other weights than a processor")
def test_weights_on_the_host_are_those_of_the_gpus_seed() -> None:
    """A candidate that has them by other names, and draws them itself, was refused."""
    task = next(task for task in load_spec("suite") if task.id == "level2/mlp_block")
    draws, variant = Supply(cuda=True, budget=1 << 20).join(task), Variant("as given", scaling.tiny(task).task)
    there = TaskModule.of(variant.task).model(draws.weights, "cuda").state_dict()
    here = draws.model(variant).state_dict()
    assert all(torch.equal(here[name], there[name].cpu()) for name in there)


def test_a_tasks_own_size_is_answered_where_it_is_timed_however_small_it_is() -> None:
    task = _task("x + 1")
    assert not Hosting(cuda=True).hosted(Variant("as given", task), task)


def test_a_large_size_is_answered_on_the_gpu() -> None:
    assert not Hosting(cuda=True).hosted(Variant("as given", _task("x + 1", 1 << 20)), RELU)


@pytest.mark.parametrize(
    "body",
    [
        "(300 * x).to(torch.int8)",
        "(300 * x).int()",
        "x.type(torch.uint8)",
        "x.to(torch.arange(3).dtype)",
        "torch.zeros(8, dtype=torch.int32, device=x.device).copy_(x)",
    ],
)
def test_what_makes_whole_numbers_of_fractions_is_answered_on_the_gpu(body: str) -> None:
    """A processor wraps what does not fit into an integer, and a GPU takes the nearest that does."""
    assert not small(_task(body))


@pytest.mark.parametrize(
    "body", ["x[torch.arange(4, dtype=torch.int64)]", "x.argmax()", "(x > 0).float()", "x.to(torch.float16)"]
)
def test_whole_numbers_that_are_no_fractions_are_no_matter(body: str) -> None:
    assert small(_task(body))


def test_a_variant_whose_reference_fails_on_the_host_is_tried_on_the_gpu_from_then_on() -> None:
    hosting, half = Hosting(cuda=True), replace(TINY, label="float16", dtype=torch.float16)
    assert may_run_elsewhere(NotImplementedError("not implemented for 'Half'")) and hosting.hosted(half, RELU)
    hosting.leave(half)
    assert not hosting.hosted(half, RELU) and hosting.hosted(TINY, RELU)


def test_where_a_variant_is_does_not_change_while_candidates_are_tried_on_it() -> None:
    """What stands in for its weights was found in several steps."""
    supply = _supply()
    draws, scaled = supply.join(RELU), replace(TINY, label="values x2", factor=2.0)
    assert draws.hosted(scaled)
    supply.hosting.leave(TINY)
    assert draws.hosted(scaled) and not supply.hosting.hosted(scaled, RELU)


def test_all_variants_follow_a_reference_that_does_not_run_on_the_host_as_given() -> None:
    hosting = Hosting(cuda=True)
    hosting.leave(TINY)
    assert not hosting.hosted(replace(TINY, label="small values", values="small"), RELU)


def test_a_variant_that_does_not_exist_is_not_looked_for_on_the_gpu() -> None:
    assert not may_run_elsewhere(ValueError("there are no such values"))


def test_without_a_gpu_all_is_answered_on_the_host() -> None:
    draws = Supply(cuda=False, budget=1 << 20).join(RELU)
    assert draws.device(TINY) == draws.device(Variant("as given", RELU)) == "cpu" and not draws.hosted(TINY)
