"""The Triton answers to synthetic tasks: right for every operator, and correct in the verifier's eyes."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tritonsmith.config import VerifyConfig
from tritonsmith.data import pairs, templates
from tritonsmith.tasks import operators, synthetic
from tritonsmith.tasks.graph import Graph, Step
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier

SWEEP = """
import importlib.util, json, sys
import torch
from tritonsmith.verify import observe, shadow
shadow.install(observe.Launches())  # mends triton 3.6's interpreter under numpy >= 2.4
names = json.load(open(sys.argv[1]))
for i, (graph, reference, answer) in enumerate(names):
    def load(kind, source):
        path = f"{sys.argv[2]}/{kind}{i}.py"
        open(path, "w").write(source)
        spec = importlib.util.spec_from_file_location(f"{kind}{i}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    task = load("task", reference)
    torch.manual_seed(0)
    old = task.Model(*task.get_init_inputs())
    torch.manual_seed(0)
    new = load("answer", answer).ModelNew(*task.get_init_inputs())
    inputs = [(x.abs() + 0.1 if "positive" in graph else x) for x in task.get_inputs()]
    torch.testing.assert_close(new(*inputs), old(*inputs), rtol=1e-4, atol=2e-6, msg=lambda m: f"{graph}: {m}")
"""


def every_operator() -> list[tuple[str, Task]]:
    """One small task for each operator, alone, and after a reduction where it takes a single number."""
    steps = [Step(o.name, tuple(values[0] for values in o.constants)) for o in operators.POINTWISE]
    graphs = [Graph("pointwise", (step,)) for step in steps]
    graphs += [Graph("row", (Step("row_norm"), step)) for step in steps]
    graphs += [Graph("pointwise", (Step(o.name, extra="y"),)) for o in operators.BINARY]
    graphs += [Graph("row", (Step(o.name),)) for o in operators.ROW]
    graphs += [Graph("gemm", (Step(o.name), Step("mul", extra="y"), Step("relu"))) for o in operators.GEMM]
    marks = ["positive" if any(step.operator.positive for step in graph.steps) else "" for graph in graphs]
    return [(mark, synthetic.task(graph)) for mark, graph in zip(marks, graphs, strict=True)]


def shrunk(source: str) -> str:
    """The source with its constants made small, and odd."""
    lines = source.splitlines()
    return "\n".join(
        f"{line.split(' = ')[0]} = {7 if i % 2 else 37}" if line[:1].isalpha() and " = " in line else line
        for i, line in enumerate(lines)
    )


def test_every_operator_computes_what_pytorch_computes(tmp_path: Path) -> None:
    jobs = [
        (f"{mark} {task.graph}", shrunk(task.source), templates.pair(task).source) for mark, task in every_operator()
    ]
    listing = tmp_path / "jobs.json"
    listing.write_text(json.dumps(jobs))
    environment = os.environ | {"TRITON_INTERPRET": "1"}  # read when triton is imported, so a process of its own
    done = subprocess.run(
        [sys.executable, "-c", SWEEP, str(listing), str(tmp_path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_verifier_accepts_pairs_of_every_family_and_depth(tmp_path: Path) -> None:
    texts = (
        "pointwise: relu | mul y | softplus | add z",
        "row: mul 1.5 | softmax | sqrt",
        "row: tanh | row_max | sigmoid",
        "row: affine_layernorm | gelu",
        "gemm: linear | add y | mish",
        "gemm: matmul | leaky_relu 0.1",
    )
    tasks = [synthetic.task(Graph.parse(text), 3) for text in texts]
    path = tmp_path / "pairs.jsonl"
    with Verifier(VerifyConfig(device="cpu", timing=False)) as verifier:
        rows = pairs.write_pairs(tasks, verifier, path)
    assert [row.graph for row in rows] == list(texts)
    assert pairs.read_pairs(path) and {row.task for row in pairs.read_pairs(path)} == {task.id for task in tasks}


class NeverAsked:
    """A verifier whose use would mean that a verdict on file is not trusted."""

    def verify_many(self, jobs: Sequence[tuple[Task, Candidate]], on_verdict: object = None) -> list[Verdict]:
        assert not jobs
        return []


def test_pairs_on_file_are_not_judged_again(tmp_path: Path) -> None:
    tasks = synthetic.generate(5)
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(pairs.row(task).model_dump_json() + "\n" for task in tasks))
    assert len(pairs.write_pairs(tasks, NeverAsked(), path)) == 5


def test_plan_names_every_operator_in_order() -> None:
    for task in synthetic.generate(30, depth=(2, 5)):
        plan = templates.pair(task).plan
        places = [plan.index(str(step)) for step in Graph.parse(str(task.graph)).steps]
        assert places[0] < places[-1] or len(set(places)) < len(places)


def test_one_operator_changes_one_line_of_a_chain() -> None:
    short = templates.pair(synthetic.task(Graph.parse("pointwise: relu | tanh"))).source.splitlines()
    long = templates.pair(synthetic.task(Graph.parse("pointwise: relu | tanh | abs"))).source.splitlines()
    assert [line for line in long if line not in short] == ["    x = tl.abs(x)"]


def test_a_task_without_graph_has_no_template() -> None:
    with pytest.raises(ValueError, match="graph"):
        templates.pair(Task(id="a", level=1, source=""))
