"""The footprint counts what a reference moves and computes, without running it."""

import pytest
import torch
from judging import DOUBLE, SUITE

from tritonsmith.types import Task
from tritonsmith.verify.reference import footprint
from tritonsmith.verify.reference.footprint import Footprint


def _sized(shape: str) -> Task:
    return DOUBLE.model_copy(update={"source": DOUBLE.source.replace("64, 48", shape)})


def _footprint(task: Task) -> Footprint:
    found = footprint.footprint(task)
    assert found is not None
    return found


def test_an_elementwise_reference_reads_and_writes_once() -> None:
    found = _footprint(DOUBLE)
    assert found.floor_bytes == 2 * 4 * 64 * 48
    assert len(found.costs) == 1 and found.costs[0].bytes == found.floor_bytes and found.flops == 0


@pytest.mark.parametrize("moved", ["torch.flip(x, dims=[1])", "torch.roll(x, 1)"])
def test_a_reference_that_only_moves_values_reads_and_writes_them(moved: str) -> None:
    """They are glue where a candidate leaves them to torch: as references they cost nothing, and RL died of it."""
    found = _footprint(DOUBLE.model_copy(update={"source": DOUBLE.source.replace("2.0 * x", moved)}))
    assert sum(cost.bytes for cost in found.costs) == found.floor_bytes == 2 * 4 * 64 * 48


def test_a_matmul_has_its_operations() -> None:
    found = _footprint(SUITE["level1/linear"])
    assert found.flops == 2 * 2048 * 1536 * 2560


def test_sizes_without_memory_for_them_are_counted() -> None:
    assert _footprint(_sized("1 << 20, 1 << 20")).floor_bytes == 8.0 * (1 << 40)


def test_a_reference_that_needs_data_has_no_footprint() -> None:
    source = DOUBLE.source.replace("return 2.0 * x", "return 2.0 * x if x.sum() > 0 else x")
    assert footprint.footprint(DOUBLE.model_copy(update={"source": source})) is None


def test_a_lookup_reads_what_it_looks_up() -> None:
    found = _footprint(SUITE["level1/embedding"])
    assert found.floor_bytes < found.memory


def test_an_expanded_tensor_counts_once() -> None:
    assert footprint.size(torch.ones(8, 1).expand(8, 100)) == 8 * 4


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("level1/cumsum", "scan"),
        ("level1/matmul", "matmul"),
        ("level1/conv2d", "convolution"),
        ("level1/conv2d_depthwise", "depthwise"),
        ("level1/relu", "stream"),
        ("level1/max_pool2d", "window"),
        ("level1/mean_dim", "reduce"),
    ],
)
def test_library_kernels_have_kinds(task: str, kind: str) -> None:
    assert _footprint(SUITE[task]).costs[0].kind == kind


def test_an_operator_of_several_passes_costs_them() -> None:
    one, many = _footprint(SUITE["level1/min_dim"]), _footprint(SUITE["level1/logsumexp"])
    assert many.costs[0].bytes / many.floor_bytes > 5 * one.costs[0].bytes / one.floor_bytes


def test_what_was_just_written_is_read_from_the_cache_if_it_fits() -> None:
    twice = DOUBLE.source.replace("2.0 * x", "(2.0 * x) + 1.0")
    for shape, fits in (("64, 48", True), ("8192, 8192", False)):
        task = DOUBLE.model_copy(update={"source": twice.replace("64, 48", shape)})
        first, second = _footprint(task).costs
        assert first.cached == 0 and (second.cached > 0) == fits
