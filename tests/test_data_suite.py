"""Tasks of the suite are known as such in every writing."""

import pytest

from tritonsmith.data.suite import of_suite, suite_forms
from tritonsmith.data.survey import forms
from tritonsmith.tasks import graphs
from tritonsmith.tasks.graphs.graph import Graph

HINGE = "x0 = normal('nn'); x1 = signs('nn'); v0 = hinge_loss(x0, x1)"


@pytest.fixture(scope="module")
def suite() -> frozenset[str]:
    return suite_forms()


@pytest.mark.parametrize(
    "text",
    [
        HINGE,
        "x0 = normal('nn'); v0 = silu(x0)",
        "x0 = normal('nn'); x1 = normal('n'); v0 = matvec(x0, x1)",
        "x0 = normal('nnn'); x1 = normal('nnn'); v0 = bmm(x0, x1)",
        "x0 = normal('nn'); p0 = parameter('nn'); v0 = matmul(x0, p0)",
    ],
)
def test_a_graph_of_the_suite_is_known_in_all_its_writings(suite: frozenset[str], text: str) -> None:
    """Of which some have another form, and were trained on."""
    written = [graphs.task(Graph.parse(text), style) for style in range(6)]
    own = forms(written)
    assert not suite.issuperset(own)
    assert all(of_suite(task, form, suite) for task, form in zip(written, own, strict=True))


def test_other_graphs_are_not_of_the_suite(suite: frozenset[str]) -> None:
    for text in (
        "x0 = normal('nn'); v0 = softsign(x0); v1 = tanh(v0)",
        "x0 = normal('nnn'); v0 = l1_normalize(x0, dim=1)",
    ):
        task = graphs.task(Graph.parse(text))
        assert not of_suite(task, forms([task])[0], suite)


def test_without_a_suite_nothing_is_of_it() -> None:
    assert not of_suite(graphs.task(Graph.parse(HINGE)), "", frozenset())
