"""What is seen of a task on tensors that have shapes alone."""

from judging import DOUBLE
from linear import LINEAR

from tritonsmith.tasks.dry import picks, runs_without_data
from tritonsmith.types import Task


def _task(source: str) -> Task:
    return Task(id="t", level=1, source=source)


def test_knows_whether_the_reference_runs_without_data() -> None:
    assert runs_without_data(DOUBLE) and runs_without_data(_task(LINEAR))
    assert not runs_without_data(_task(LINEAR.replace("self.linear(x)", "self.linear(x) * float(x.max())")))
    assert not runs_without_data(_task("def broken(:"))


LENGTHS = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, lengths):
        places = torch.arange(x.shape[1], device=x.device)
        return (x * (PLACES < lengths[:, None])).sum(1)


def get_inputs():
    return [torch.randn(4, 9), torch.randint(1, 10, (4,))]


def get_init_inputs():
    return []
"""


def test_numbers_that_are_compared_with_all_places_of_a_dimension_are_lengths() -> None:
    assert picks(LENGTHS.replace("PLACES", "places"))
    assert picks(LENGTHS.replace("PLACES", "places[None, :]"))
    assert not picks(LENGTHS.replace("PLACES", "x"))
