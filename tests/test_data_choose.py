from dataclasses import asdict

from tritonsmith.data import choose, survey
from tritonsmith.data.rows import Split
from tritonsmith.data.split import by_hash, split_of
from tritonsmith.data.store import Answer, Item, Made
from tritonsmith.tasks import graphs
from tritonsmith.tasks.format import load_spec
from tritonsmith.tasks.graphs import Graph
from tritonsmith.types import Finding, Task, Verdict
from tritonsmith.verify import form

HELDOUT = graphs.generate(1, split="heldout", depth=(3, 3))[0]
TRAIN = [task for task in graphs.generate(30, depth=(3, 3)) if split_of(task) == "train"]


def answer(code: str, correct: bool = True, planted: str = "") -> Answer:
    findings = [] if correct else [Finding(rule="out-of-bounds", message="reads behind\nthe end")]
    verdict = Verdict(task="t", device="cpu", target="sm_90", policy="strict", correct=correct, findings=findings)
    program = form.program(code)
    return Answer(
        source="templates", kind="candidate", plan="p", code=code, program=program, planted=planted, verdict=verdict
    )


def made(task: Task, *answers: Answer, style: int = 0) -> Made:
    item = Item(chunk=0, place=0, style=style, task=task)
    return Made(item=item, survey=survey.survey(task), answers=list(answers))


def test_a_graph_is_in_one_split_in_every_writing() -> None:
    graph = Graph.parse(str(HELDOUT.graph))
    assert {split_of(graphs.task(graph, style)) for style in range(8)} == {"heldout"}


def test_a_tenth_is_held_out_and_a_fiftieth_of_the_rest_validates() -> None:
    found = [by_hash(str(number)) for number in range(5000)]
    shares: dict[Split, float] = {split: found.count(split) / 5000 for split in ("train", "validation", "heldout")}
    assert 0.08 < shares["heldout"] < 0.12 and 0.01 < shares["validation"] < 0.03


def test_right_answers_become_rows_and_wrong_ones_do_not() -> None:
    chooser = choose.Chooser()
    chosen = chooser.chosen(made(TRAIN[0], answer("a = 1"), answer("b = 1", correct=False), answer("c = 1")))
    assert [one.code for one in chosen] == ["a = 1", "c = 1"]


def test_a_planted_bug_that_nobody_sees_is_no_row() -> None:
    assert choose.Chooser().chosen(made(TRAIN[0], answer("a = 1", planted="wrong axis"))) == []


def test_a_kernel_answers_one_graph() -> None:
    chooser = choose.Chooser()
    assert chooser.chosen(made(TRAIN[0], answer("a = 1")))
    assert not chooser.chosen(made(TRAIN[1], answer("a  =  1  # in another form")))
    assert chooser.dropped == {"the kernel answers another graph": 1}


def test_a_kernel_may_answer_a_graph_in_several_writings_but_each_once() -> None:
    graph = Graph.parse(str(TRAIN[0].graph))
    first, second = graphs.task(graph, 0), graphs.task(graph, 1)
    chooser = choose.Chooser()
    assert chooser.chosen(made(first, answer("a = 1"))) and chooser.chosen(made(second, answer("a = 1"), style=1))
    assert not chooser.chosen(made(second, answer("a = 1"), style=1))


def test_equal_computations_are_not_in_two_splits() -> None:
    chooser = choose.Chooser()
    one, other = made(TRAIN[0], answer("a = 1")), made(HELDOUT, answer("b = 1"))
    other.survey.form = one.survey.form
    assert chooser.chosen(one) and not chooser.chosen(other)


def test_no_task_of_the_suite_becomes_a_row_however_it_is_written() -> None:
    suite = frozenset(survey.forms([task for task in load_spec("suite") if task.id in ("level1/relu", "level1/elu")]))
    relu = graphs.task(Graph.parse("x0 = normal('nn'); v0 = relu(x0)"), 5)
    chooser = choose.Chooser(suite)
    assert not chooser.chosen(made(relu, answer("a = 1")))
    assert chooser.chosen(
        made(graphs.task(Graph.parse("x0 = normal('nn'); v0 = relu(x0); v1 = tanh(v0)")), answer("b = 1"))
    )


def test_wrong_candidates_of_a_task_that_is_elsewhere_are_known_to_be() -> None:
    chooser = choose.Chooser()
    one, other = made(TRAIN[0], answer("a = 1")), made(HELDOUT, answer("b = 1"))
    other.survey.form = one.survey.form
    assert chooser.chosen(one) and chooser.elsewhere(other) and not chooser.elsewhere(one)


def test_a_row_holds_prompt_plan_and_kernel() -> None:
    task = TRAIN[0]
    row = choose.row(made(task, answer("a = 1")), answer("a = 1"))
    assert row.prompt == [{"role": "user", "content": task.source.strip()}]
    assert row.completion == [{"role": "assistant", "content": "p\n\n```python\na = 1\n```"}]
    assert (row.graph, row.split, row.depth, row.source) == (task.graph, "train", 3, "templates")
    assert row.operators and row.family and row.verdict.correct


def test_wrong_candidates_say_why() -> None:
    rows = choose.contrastive_rows(made(TRAIN[0], answer("a = 1"), answer("b = 1", False, planted="dropped mask")))
    assert [(row.kernel, row.planted, row.verdict.reason) for row in rows] == [
        ("b = 1", "dropped mask", "out-of-bounds")
    ]
    assert rows[0].verdict.message == "reads behind the end"


def test_leaks_are_counted_over_the_rows_themselves() -> None:
    clean = choose.leaks([("train", "g1", "k1", "m1", False), ("heldout", "g2", "k2", "m2", False)])
    assert set(asdict(clean).values()) == {0}
    dirty = choose.leaks([("train", "g", "k", "m", False), ("heldout", "g", "k", "m", True)])
    assert asdict(dirty) == {"graphs": 1, "kernels": 1, "modules": 1, "suite": 1}


def test_family_is_that_of_the_costliest_operator() -> None:
    suite = {task.id: task for task in load_spec("suite")}
    wanted = {
        "level1/relu": "pointwise", "level1/softmax": "softmax", "level1/layer_norm": "norm", "level1/cumsum":
        "cumulative", "level1/max_pool2d": "pooling", "level1/mse_loss": "loss", "level2/gemm_bias_relu": "matmul",
        "level2/conv2d_bn_relu": "conv", "level1/embedding": "indexing", "level1/sum_dim": "reduction",
    }  # fmt: skip
    assert {id: survey.survey(suite[id]).family for id in wanted} == wanted
