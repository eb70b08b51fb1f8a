"""No held-out task is learnt from, whatever it came from."""

import logging

import pytest

from tritonsmith.config import ConfigError
from tritonsmith.data import pairs
from tritonsmith.data.rows import Row
from tritonsmith.data.store import Answer
from tritonsmith.data.survey import forms
from tritonsmith.tasks import graphs
from tritonsmith.tasks.traced_form import EDITION
from tritonsmith.train import leakage
from tritonsmith.types import Task

SILU = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, left):
        return torch.nn.functional.silu(left)


def get_inputs():
    return [torch.rand(32, 48)]


def get_init_inputs():
    return []
"""


def own(source: str = SILU) -> Task:
    return Task(id="own", level=1, source=source)


GRAPH = "x0 = normal('nn'); v0 = silu(x0)"


def drawn() -> Task:
    return graphs.task(graphs.Graph.parse(GRAPH))


def row(graph: str) -> Row:
    answer = [{"role": "assistant", "content": "answer"}]
    return Row(prompt=[], completion=answer, task="t", graph=graph)


def test_a_graph_is_found_again_in_a_task_that_was_written_by_hand() -> None:
    """The suite has a SiLU; as texts and as graphs the two were never equal."""
    for train, heldout in (([own()], [drawn()]), ([drawn()], [own()])):
        with pytest.raises(ConfigError, match="1 of its tasks are in"):
            leakage.check(train, heldout, "tasks.train")


def test_a_graph_is_found_again_in_whatever_writing_it_is_trained_on() -> None:
    """Of which some have another form than the task that was written by hand."""
    styles = [graphs.task(graphs.Graph.parse(GRAPH), style) for style in range(6)]
    assert len(set(forms(styles))) > 1
    for task in styles:
        with pytest.raises(ConfigError, match="1 of its tasks are in"):
            leakage.check([task], [own()], "tasks.train")


def test_tasks_that_compute_something_else_are_no_leak() -> None:
    other = own(SILU.replace("silu", "relu"))
    leakage.check([other], [drawn()], "tasks.train")


def test_graphs_are_told_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakage, "forms", lambda tasks: pytest.fail("traced"))
    with pytest.raises(ConfigError, match="--train"):
        leakage.check([drawn()], [drawn()], "--train")
    leakage.check([drawn()], [graphs.task(graphs.Graph.parse(GRAPH.replace("silu", "relu")))], "--train")


def test_what_is_too_much_to_trace_is_said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakage, "MOST_TRACED", 1)
    with caplog.at_level(logging.WARNING):
        leakage.check([own()], [drawn()], "tasks.train")
    assert "only by its text" in caplog.text


def test_a_row_of_a_task_without_a_graph_is_known_by_its_text() -> None:
    """Its `graph` was empty, and empty ones are not looked at."""
    made = pairs.row(own(), Answer(source="s", kind="candidate", plan="p", code="c"))
    with pytest.raises(ConfigError, match="holds 1 of the held-out tasks"):
        leakage.unleaked([made], [own()], "sft.data")


def test_a_row_that_says_no_graph_is_known_by_what_it_asks() -> None:
    asked = row("").model_copy(update={"prompt": [{"role": "user", "content": f"Write it.\n```python\n{SILU}```"}]})
    with pytest.raises(ConfigError, match="asks for 1 of the held-out tasks, such as own"):
        leakage.unleaked([asked], [own()], "sft.data")
    assert leakage.unleaked([asked], [own(SILU.replace("silu", "relu"))], "sft.data") == [asked]


def test_a_row_without_a_graph_is_known_by_its_form() -> None:
    (form,) = forms([own()])
    with pytest.raises(ConfigError, match="holds 1 of the held-out tasks"):
        leakage.unleaked([row(form)], [drawn()], "sft.data")
    rows = [row(GRAPH.replace("silu", "relu")), row(f"{EDITION}-0123456789abcdef")]
    assert leakage.unleaked(rows, [drawn()], "sft.data") == rows


@pytest.mark.parametrize("form", ["0123456789abcdef", "1-0123456789abcdef"])
def test_a_row_that_is_told_by_an_older_form_is_not_taken_for_unleaked(form: str) -> None:
    with pytest.raises(ConfigError, match=r"older edition, such as .*: build it anew"):
        leakage.unleaked([row(form)], [drawn()], "sft.data")
    assert leakage.unleaked([row(form)], [], "sft.data")
