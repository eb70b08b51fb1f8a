"""The generator of synthetic tasks: canonical graphs, safe values, many writings of one meaning."""

import ast

import pytest
import torch

from tritonsmith.tasks import operators, synthetic, writing
from tritonsmith.tasks.graph import Graph, Step
from tritonsmith.types import Task

SMALL = {"batch_size": 5, "rows": 5, "M": 5, "channels": 3, "height": 4, "width": 6, "length": 9}


def small(task: Task) -> dict[str, object]:
    """The task's names with its constants made small."""
    tree = ast.parse(task.source)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            node.value = ast.Constant(SMALL.get(node.targets[0].id, 23))
    names: dict[str, object] = {}
    exec(compile(ast.fix_missing_locations(tree), task.id, "exec"), names)
    return names


def output(task: Task) -> torch.Tensor:
    """What the task's model gives for its own small inputs, everything seeded."""
    names = small(task)
    torch.manual_seed(0)
    model = names["Model"](*names["get_init_inputs"]())
    torch.manual_seed(1)
    return model(*names["get_inputs"]())


@pytest.mark.parametrize("depth", [(1, 1), (1, 3), (4, 6)])
def test_graph_text_parses_back(depth: tuple[int, int]) -> None:
    for task in synthetic.generate(40, seed=3, depth=depth, split="all"):
        assert str(Graph.parse(str(task.graph))) == task.graph


@pytest.mark.parametrize("text", ["", "relu", "pointwise:", "rows: relu", "row: relu 0.5", "row: nothing", "row: add"])
def test_refuses_text_that_is_no_graph(text: str) -> None:
    with pytest.raises(ValueError):
        Graph.parse(text)


def test_same_arguments_give_same_tasks() -> None:
    assert synthetic.generate(20, seed=4) == synthetic.generate(20, seed=4)


def test_graphs_of_one_call_are_distinct() -> None:
    tasks = synthetic.generate(300, seed=1)
    assert len({task.graph for task in tasks}) == len({task.id for task in tasks}) == 300


def test_splits_share_no_graph() -> None:
    train = synthetic.generate(200, seed=0, depth=(1, 2), split="train")
    heldout = synthetic.generate(60, seed=0, depth=(1, 2), split="heldout")
    assert not {task.graph for task in train} & {task.graph for task in heldout}


def test_depth_and_level_follow_the_graph() -> None:
    for task in synthetic.generate(60, depth=(1, 5)):
        depth = Graph.parse(str(task.graph)).depth
        assert 1 <= depth <= 5
        assert task.level == (1 if depth == 1 else 2)


def test_families_are_those_asked_for() -> None:
    tasks = synthetic.generate(20, depth=(2, 3), families=("row", "gemm"))
    assert {Graph.parse(str(task.graph)).family for task in tasks} == {"row", "gemm"}


@pytest.mark.parametrize(
    "arguments", [{"n": -1}, {"n": 1, "depth": (0, 2)}, {"n": 1, "depth": (3, 2)}, {"n": 1, "families": ("conv",)}]
)
def test_refuses_senseless_arguments(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        synthetic.generate(**arguments)


def test_says_so_when_there_are_not_enough_graphs() -> None:
    with pytest.raises(ValueError, match="found"):
        synthetic.generate(50, depth=(1, 1), families=("gemm",))


@pytest.mark.parametrize(
    "text",
    [
        "pointwise: sigmoid | relu",  # changes nothing
        "pointwise: log",  # of negative numbers
        "pointwise: exp | exp",  # overflows
        "pointwise: square | neg | relu",  # nothing but zeros
        "row: softmax | sigmoid",  # nearly constant
        "row: softmax | row_sum",  # always one
    ],
)
def test_unsafe_graphs_are_found(text: str) -> None:
    assert not synthetic.is_safe(Graph.parse(text))


def test_a_common_fusion_is_safe() -> None:
    assert synthetic.is_safe(Graph.parse("gemm: linear | relu | mul 0.5"))


@pytest.mark.parametrize("operator", operators.POINTWISE + operators.BINARY + operators.ROW, ids=lambda o: o.name)
def test_spellings_and_module_mean_the_same(operator: operators.Operator) -> None:
    if operator.member:
        pytest.skip("has parameters; its one spelling is a module")
    step = Step(operator.name, tuple(values[0] for values in operator.constants))
    names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn}
    names |= {"x": torch.rand(6, 33, dtype=torch.float64) + 0.1, "y": torch.randn(6, 33, dtype=torch.float64)}
    spellings = [writing.spell(one, step, "x", "y") for one in operator.spellings]
    if operator.module:
        spellings.append(writing.spell(operator.module, step, "") + "(x)")
    first, *others = [eval(text, names) for text in spellings]
    for other in others:
        torch.testing.assert_close(other, first)


def test_every_writing_of_a_graph_computes_the_same() -> None:
    for text in ("gemm: matmul | add y | sub 0.35 | gelu", "row: rsub 0.65 | softmax | clamp -0.5 0.9 | neg"):
        tasks = [synthetic.task(Graph.parse(text), style) for style in range(24)]
        assert len({task.source for task in tasks}) > 12
        first, *others = [output(task) for task in tasks]
        for other in others:
            torch.testing.assert_close(other, first)


def test_generated_sources_run_and_stay_finite() -> None:
    for task in synthetic.generate(80, seed=5, depth=(1, 6), split="all"):
        assert torch.isfinite(output(task)).all(), task.graph
