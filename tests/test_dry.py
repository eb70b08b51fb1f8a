"""What is seen of a task on tensors that have shapes alone."""

from judging import DOUBLE
from linear import LINEAR

from tritonsmith.tasks.dry import runs_without_data
from tritonsmith.types import Task


def _task(source: str) -> Task:
    return Task(id="t", level=1, source=source)


def test_knows_whether_the_reference_runs_without_data() -> None:
    assert runs_without_data(DOUBLE) and runs_without_data(_task(LINEAR))
    assert not runs_without_data(_task(LINEAR.replace("self.linear(x)", "self.linear(x) * float(x.max())")))
    assert not runs_without_data(_task("def broken(:"))
