"""Synthetic operator graphs: canonical text, reproducible tasks, safe values, many writings of one meaning."""

import random
from collections import Counter
from pathlib import Path

import pytest
import torch

from tritonsmith.tasks import dry, graphs, scaling
from tritonsmith.tasks.format import TaskModule
from tritonsmith.tasks.graphs.draft import replay
from tritonsmith.tasks.graphs.evaluation import Evaluation
from tritonsmith.tasks.graphs.generator import LEVEL_2_DEPTH, draw_graphs
from tritonsmith.tasks.graphs.graph import Graph
from tritonsmith.tasks.graphs.safety import is_safe
from tritonsmith.tasks.graphs.sizes import probe_sizes
from tritonsmith.tasks.graphs.writing import render
from tritonsmith.types import Task
from tritonsmith.verify import vet

MLP = "x0 = normal('nn'); v0 = linear(x0, bias=True); v1 = relu(v0); v2 = linear(v1, bias=False)"
RESIDUAL = (
    "x0 = normal('nnnn'); v0 = conv2d(x0, kernel_size=3, stride=1, padding=1, dilation=1, groups=1, bias=False); "
    "v1 = batch_norm2d(v0); v2 = relu(v1); "
    "v3 = conv2d(v2, kernel_size=3, stride=1, padding=1, dilation=1, groups=1, bias=True); v4 = add(v3, x0)"
)
GATED = (
    "x0 = normal('nnn'); v0 = linear(x0, bias=True); v1 = chunk(v0, chunks=2, index=0, dim=2); "
    "v2 = chunk(v0, chunks=2, index=1, dim=2); v3 = sigmoid(v2); v4 = mul(v1, v3); v5 = mul_scalar(v4, c=1.5)"
)
BIASED = (
    "x0 = normal('nnn'); p0 = parameter('n'); v0 = gelu(x0); v1 = add(p0, v0); v2 = softmax(v1, dim=2); v3 = neg(v2)"
)


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """Tasks of all depths and splits."""
    return graphs.generate(60, seed=3, depth=(1, 9), split="all")


def output(source: str) -> torch.Tensor:
    """What a task gives when every tensor of its model is filled by its shape alone."""
    module = TaskModule.of(Task(id="written", level=1, source=source))
    model = module.model(0)
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.copy_(torch.linspace(0.2, 0.7, tensor.numel()).view(tensor.shape))
    drawn = sorted(filter(torch.is_tensor, module.inputs(0)), key=lambda one: -one.dim())
    return model.double()(*[tensor.double() for tensor in drawn]).detach()


def test_graph_text_parses_back(tasks: list[Task]) -> None:
    for task in tasks:
        graph = Graph.parse(str(task.graph))
        assert str(graph) == task.graph
        assert Graph.parse(str(graph)) == graph


def test_canonical_form_is_its_own_canonical_form(tasks: list[Task]) -> None:
    for task in tasks:
        draft = replay(Graph.parse(str(task.graph)))
        assert str(draft.canonical(len(draft.items) - 1)) == task.graph


def test_order_of_commuting_operands_does_not_matter() -> None:
    texts = [
        "x0 = normal('nn'); x1 = normal('nn'); v0 = relu(x0); v1 = add(v0, x1)",
        "x0 = normal('nn'); x1 = normal('nn'); v0 = relu(x1); v1 = add(x0, v0)",
    ]
    drafts = [replay(Graph.parse(text)) for text in texts]
    assert len({str(draft.canonical(3)) for draft in drafts}) == 1


def test_what_the_output_does_not_need_is_left_out() -> None:
    draft = replay(Graph.parse("x0 = normal('nn'); v0 = relu(x0); v1 = sigmoid(x0)"))
    assert str(draft.canonical(1)) == "x0 = normal('nn'); v0 = relu(x0)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "relu",
        "x0 = normal('nn'); v0 = relu(x1)",
        "x0 = normal('nn'); v0 = nothing(x0)",
        "x0 = normal('nn'); v0 = conv2d(x0, kernel_size=3)",
        "x0 = normal('nn'); v0 = softmax(x0, dim='a')",
        "x0 = normal('nn'); v0 = sum(x0, dim=5, keepdim=False)",
        "x0 = normal('nn'); v0 = add(x0)",
        "x0 = normal('ab'); v0 = relu(x0, 3)",
        "import torch",
        "x0 = normal('nn'); x1 = normal('nnn'); v0 = matmul(x0, x1)",
    ],
)
def test_refuses_text_that_is_no_graph(text: str) -> None:
    with pytest.raises(ValueError):
        replay(Graph.parse(text))


def test_same_arguments_give_same_tasks() -> None:
    assert graphs.generate(15, seed=4) == graphs.generate(15, seed=4)


def test_graphs_of_one_call_are_distinct(tasks: list[Task]) -> None:
    assert len({task.graph for task in tasks}) == len({task.id for task in tasks}) == len(tasks)


def test_a_graph_is_in_one_split() -> None:
    drawn = {split: graphs.generate(12, depth=(1, 2), split=split) for split in ("train", "validation", "heldout")}
    for split, found in drawn.items():
        assert {Graph.parse(str(task.graph)).split for task in found} == {split}


def test_depth_and_level_follow_the_graph(tasks: list[Task]) -> None:
    for task in tasks:
        graph = Graph.parse(str(task.graph))
        assert 1 <= graph.depth <= 9
        assert task.level == (1 if graph.depth == 1 else task.level)
        assert task.level == 3 or graph.depth <= LEVEL_2_DEPTH


def test_operators_may_be_asked_for_by_name() -> None:
    """What is drawn seldom among its family: asymmetric convolutions, of which a model sees too few."""
    named = graphs.from_spec("8:seed=3:depth=1-2:families=conv2d+relu")
    assert {node.name for one in named for node in Graph.parse(str(one.graph)).nodes} == {"conv2d", "relu"}


def test_operators_that_are_named_are_drawn_alike() -> None:
    drawn = draw_graphs(60, 1, (2, 2), "all", ("any", "mul", "sum"))
    first = Counter(graph.nodes[0].name for graph in drawn)
    assert first["any_float"] > 6 and first["mul"] + first["sum"] > 6


def test_something_follows_truths_as_floats() -> None:
    for graph in draw_graphs(20, 2, (2, 3), "all", ("any", "mul", "add", "compare_scalar")):
        assert "any" not in [node.name for node in graph.nodes[:-1]]
        again = replay(graph)
        assert all(value.is_floating_point() for value in Evaluation(again, probe_sizes(again) or {}).run()[-1:])


def test_families_are_those_asked_for() -> None:
    for task in graphs.generate(12, depth=(1, 3), families=("conv", "pointwise")):
        assert set(graphs.families_of(Graph.parse(str(task.graph)))) <= {"conv", "pointwise"}


def test_spec_says_the_same_as_arguments() -> None:
    assert graphs.from_spec("5:2:depth=2-3:split=heldout:families=norm+pointwise") == graphs.generate(
        5, 2, (2, 3), "heldout", ("norm", "pointwise")
    )
    assert {task.level for task in graphs.from_spec("5:level=1")} == {1}


def test_small_tasks_are_bearable_as_they_are_and_their_graphs_are_the_same() -> None:
    small, other = (graphs.from_spec(f"12:3:depth=1-6:sizes={sizes}") for sizes in ("small", "any"))
    assert [task.graph for task in small] == [task.graph for task in other]
    assert all(scaling.full(task).cap is None for task in small)
    assert not all(scaling.full(task).cap is None for task in other)


def test_drawing_leaves_torchs_threads_as_they_are() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        graphs.generate(1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    "text", ["x", "3:sizes=tiny", "3:depth=3-2", "3:families=none", "3:split=test", "3:color=red", "3:depth=a-b"]
)
def test_refuses_a_senseless_spec(text: str) -> None:
    with pytest.raises(ValueError):
        graphs.from_spec(text)


def test_says_so_when_there_are_not_enough_graphs() -> None:
    with pytest.raises(ValueError, match="found"):
        graphs.generate(500, depth=(1, 1), families=("attention",))


@pytest.mark.parametrize(
    "text",
    [
        "x0 = normal('nn'); v0 = sigmoid(x0); v1 = relu(v0)",  # the last one changes nothing
        "x0 = normal('nn'); v0 = log(x0)",  # of negative numbers
        "x0 = normal('nn'); v0 = exp(x0); v1 = exp(v0)",  # overflows
        "x0 = normal('nn'); v0 = square(x0); v1 = neg(v0); v2 = relu(v1)",  # nothing but zeros
        "x0 = normal('nn'); v0 = softmax(x0, dim=1); v1 = sum(v0, dim=1, keepdim=False)",  # always one
        "x0 = normal('nn'); v0 = layer_norm(x0); v1 = mean(v0, dim=1, keepdim=False)",  # always zero
        "x0 = normal('nn'); v0 = mul_scalar(x0, c=2.0); v1 = l2_normalize(v0, dim=1)",  # the factor is lost
        "x0 = normal('nnn'); p0 = parameter('n1'); v0 = add(p0, x0); v1 = softmax(v0, dim=2)",  # as is the bias
        "x0 = normal('nn'); x1 = normal('nn'); v0 = clamp_max(x0, c=-1.9); v1 = maximum(v0, x1)",  # hardly matters
        "x0 = normal('nnn'); v0 = flatten(x0)",  # a copy
        "x0 = normal('nn'); v0 = gelu(x0); v1 = sign(v0)",  # rounding decides
        "x0 = normal('nn'); v0 = glu(x0, dim=1); v1 = sign(v0)",  # likewise: glu moves values and computes
    ],
)
def test_unsafe_graphs_are_found(text: str) -> None:
    assert not is_safe(replay(Graph.parse(text)))


@pytest.mark.parametrize("text", [MLP, RESIDUAL, GATED, BIASED])
def test_common_networks_are_safe(text: str) -> None:
    assert is_safe(replay(Graph.parse(text)))


@pytest.mark.parametrize("text", [MLP, RESIDUAL, GATED, BIASED])
def test_every_writing_of_a_graph_computes_the_same(text: str) -> None:
    draft = replay(Graph.parse(text))
    sizes = probe_sizes(draft)
    assert sizes is not None
    sources = [render(draft, sizes, random.Random(style)) for style in range(24)]
    assert len(set(sources)) > 20
    first, *others = map(output, sources)
    for other in others:
        torch.testing.assert_close(other, first)


def test_generated_tasks_can_be_made_small(tasks: list[Task]) -> None:
    for task in tasks[::3]:
        scaling.tiny(task)
        scaling.full(task)


def test_generated_tasks_survive_vet(tasks: list[Task]) -> None:
    for task in tasks[::3]:
        assert vet.vet(task) == [], task.graph


def test_generated_tasks_show_their_sizes_to_scaling(tasks: list[Task]) -> None:
    assert all(dry.runs_without_data(task) for task in tasks[::2])


def test_sources_are_clean_python(tasks: list[Task], tmp_path: Path) -> None:
    for task in tasks:
        compile(task.source, task.id, "exec")
        assert max(map(len, task.source.splitlines())) < 220
        assert "\t" not in task.source and task.source.endswith("\n")


def test_a_window_of_three_dimensions_is_no_larger_than_what_it_slides_over() -> None:
    graph = Graph.parse(
        "x0 = normal('nnnnn'); v0 = max_pool3d(x0, kernel_size=3, stride=3, padding=0, dilation=1); "
        "v1 = avg_pool3d(v0, kernel_size=5, stride=1, padding=2)"
    )
    module = TaskModule.of(graphs.task(graph))
    module.model(0)(*module.inputs(0))


def test_graphs_that_are_large_at_every_size_are_not_tried() -> None:
    assert len(graphs.from_spec("32:seed=102:level=1:families=pooling+conv:split=all")) == 32
