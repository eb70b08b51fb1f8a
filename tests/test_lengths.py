"""Versions of a task in which one size is its own."""

from judging import DOUBLE, SUITE, small

from tritonsmith.tasks import rescaling, scaling
from tritonsmith.tasks.lengths import BOUND, DESCRIBED, lengths, parts, recurrent, with_a_rest
from tritonsmith.verify.launches.descriptors import ALIGNMENT


def test_each_large_size_is_kept_once() -> None:
    task = SUITE["level1/matmul"]
    found = lengths(task, scaling.full(task))
    assert [one.cap for one in found] == [2560, 2048, 1536]
    for one in found:
        assert max(rescaling.sizes(one.task)) == one.cap and sorted(rescaling.sizes(one.task))[0] == 2


def test_a_task_that_is_tried_as_it_is_needs_none() -> None:
    assert lengths(DOUBLE, scaling.full(DOUBLE)) == []


def test_a_size_that_is_too_large_for_the_interpreter_is_left_out() -> None:
    task = SUITE["level1/matmul_lower_triangular"]  # one constant for both sides
    assert lengths(task, scaling.full(task)) == []
    wide = small("return 2.0 * x", "torch.randn(4, 3000000)")
    assert BOUND.elements < 3000000 and lengths(wide, scaling.full(wide)) == []


def test_a_dimension_that_a_task_is_given_is_no_size() -> None:
    one = small("return x.sum(dim=(1, 3))", "torch.randn(16, 64, 1600, 200)")
    source = one.source.replace("(1, 3)", "DIMS").replace("class Model", "DIMS = (1, 3)\n\n\nclass Model", 1)
    one = one.model_copy(update={"source": source})
    assert (found := lengths(one, scaling.full(one))) and all("DIMS = (1, 3)" in each.task.source for each in found)


def test_a_small_window_stays_what_it_is() -> None:
    for name in ("avg_pool1d", "max_pool2d"):
        task = SUITE[f"level1/{name}"]
        found = lengths(task, scaling.full(task))
        assert found and all("kernel_size = 3" in one.task.source for one in found)


def test_channels_that_the_constructor_is_given_are_sizes_like_others() -> None:
    init = "    def __init__(self, c):\n        super().__init__()\n        self.w = nn.Conv1d(c, 8, 1)\n"
    task = small("return self.w(x)", "torch.randn(32, 6, 4096)", init, "[6]")
    found = lengths(task, scaling.full(task))
    assert found and all("2, 2, 4096" in one.task.source and "[2]" in one.task.source for one in found)


def test_three_of_something_stay_three() -> None:
    """A kernel may be for three colours, and the smallest version has as many."""
    task = small("return x.sum(dim=-1)", "torch.randn(512, 256, 3)")
    found = lengths(task, scaling.full(task))
    assert found and all(", 3)" in one.task.source for one in found)


def test_a_size_with_a_rest_is_odd_and_nearly_as_long() -> None:
    task = SUITE["level1/softmax"]
    full = scaling.full(task)
    long = lengths(task, full)[0]
    rest = with_a_rest(task, full, long.task)
    assert rest is not None and long.cap is not None
    longest = max(rescaling.sizes(rest))
    assert longest % 2 == 1 and 0.7 < longest / long.cap < 0.8


STEPS = """state = torch.zeros_like(x[:, 0])
        for step in range(x.shape[1]):
            state = 0.9 * state + x[:, step]
        return state"""


def test_a_reference_that_goes_step_by_step_has_all_its_steps_in_one() -> None:
    task = small(STEPS, "torch.randn(8, 96, 64)")
    full = scaling.full(task)
    assert full.cap is not None and full.cap < 96 < 2 * full.cap
    assert [one.cap for one in lengths(task, full)] == [96]
    assert lengths(small("return x.cumsum(1)", "torch.randn(8, 96, 64)"), full) == []


def test_a_constructor_that_makes_layers_in_a_loop_is_no_recurrence() -> None:
    model = "class Model:\n    def {}(self, n):\n        for each in range(n):\n            self.x = each\n"
    assert recurrent(model.format("forward")) and not recurrent(model.format("__init__"))


def test_the_hardware_describes_rows_of_versions_made_for_that() -> None:
    task = SUITE["level1/add"]
    full = scaling.full(task)
    found = [one.task for one in lengths(task, full, DESCRIBED)]
    rests = [with_a_rest(task, full, one, DESCRIBED) for one in found]
    every = [*found, *parts(task, full, DESCRIBED), *(one for one in rests if one is not None)]
    assert len(found) == len(rests) == 2 and None not in rests
    assert all(4 * size % ALIGNMENT == 0 for one in every for size in rescaling.sizes(one))
