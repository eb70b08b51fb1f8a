"""Versions of a task in which one size is its own."""

from judging import DOUBLE, SUITE, small

from tritonsmith.tasks import scaling
from tritonsmith.tasks.lengths import BOUND, lengths


def test_each_large_size_is_kept_once() -> None:
    task = SUITE["level1/matmul"]
    found = lengths(task, scaling.full(task))
    assert [one.cap for one in found] == [2560, 2048, 1536]
    for one in found:
        assert max(scaling.sizes(one.task)) == one.cap and sorted(scaling.sizes(one.task))[0] == 2


def test_a_task_that_is_tried_as_it_is_needs_none() -> None:
    assert lengths(DOUBLE, scaling.full(DOUBLE)) == []


def test_a_size_that_is_too_large_for_the_interpreter_is_left_out() -> None:
    task = SUITE["level1/matmul_lower_triangular"]  # one constant for both sides
    assert lengths(task, scaling.full(task)) == []
    wide = small("return 2.0 * x", "torch.randn(4, 1000000)")
    assert BOUND.elements < 1000000 and lengths(wide, scaling.full(wide)) == []
