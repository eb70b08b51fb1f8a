"""Other people's data sets as tasks: small local copies in their column layouts."""

import json
from collections.abc import Sequence
from pathlib import Path

import datasets
import pytest
import torch
from judging import DOUBLE

from tritonsmith.tasks import kernelbench, kernelbook
from tritonsmith.tasks.format import TaskError, TaskModule, forward, load_spec
from tritonsmith.tasks.hub import Skipped
from tritonsmith.types import Task

BENCH = [
    {"code": DOUBLE.source, "level": level, "name": f"{number}_op{number}", "problem_id": number}
    for level, number in ((1, 10), (1, 9), (2, 1))
]
BENCH_IDS = ["level1/9_op9", "level1/10_op10", "level2/1_op1"]


def jsonl(path: Path, rows: Sequence[object]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def parquet(path: Path, rows: list[dict[str, object]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    datasets.Dataset.from_list(rows).to_parquet(path)
    return str(path)


def book(
    code: str, entry: str, init: str = "[[], {}]", inputs: str = "[torch.rand([4, 4])]", uuid: int = 7
) -> dict[str, object]:
    head = "from _paritybench_helpers import _mock_config\nimport torch\nimport torch.nn as nn\n\n\n"
    tail = f"\n\ndef get_inputs():\n    return {inputs}\n\n\ndef get_init_inputs():\n    return {init}\n"
    return {
        "entry_point": entry, "python_code": head + code + tail, "triton_code": "import triton\n", "module_name": entry,
        "repo_name": "someone/something", "uuid": uuid, "licenses": ["MIT"], "stars": 3, "synthetic": False,
    }  # fmt: skip


SCALE = (
    "class Scale(nn.Module):\n\n    def __init__(self, dim, factor=2.0, bias=True):\n"
    "        super(Scale, self).__init__()\n        self.factor = factor\n"
    "        self.linear = nn.Linear(dim, dim, bias=bias)\n\n"
    "    def forward(self, x):\n        return self.linear(x) * self.factor\n"
)
CONFIGURED = (
    'class Net(nn.Module):\n\n    def __init__(self, config, dropout=0.0):\n        """A net."""\n'
    "        super().__init__()\n        self.linear = nn.Linear(config.hidden, config.out)\n"
    "        self.dropout = dropout\n\n    def forward(self, x):\n        return self.linear(x)\n"
)


def output(task: Task) -> object:
    module = TaskModule.of(task)
    return forward(module.model(0), module.inputs(0))


@pytest.mark.parametrize("layout", ["clone", "parquet", "jsonl", "folder of jsonl", "saved"])
def test_kernelbench_is_read_from_every_local_form(tmp_path: Path, layout: str) -> None:
    if layout == "clone":
        for level in (1, 2):
            rows = [row for row in BENCH if row["level"] == level]
            parquet(tmp_path / "data" / f"level_{level}-00000-of-00001.parquet", rows)
        where = str(tmp_path)
    elif layout == "parquet":
        where = parquet(tmp_path / "all.parquet", BENCH)
    elif layout == "jsonl":
        where = jsonl(tmp_path / "all.jsonl", BENCH)
    elif layout == "folder of jsonl":
        jsonl(tmp_path / "level_1.jsonl", BENCH[:2])
        jsonl(tmp_path / "level_2.jsonl", BENCH[2:])
        where = str(tmp_path)
    else:
        parts = {"level_1": datasets.Dataset.from_list(BENCH[:2]), "level_2": datasets.Dataset.from_list(BENCH[2:])}
        datasets.DatasetDict(**parts).save_to_disk(tmp_path / "saved")
        where = str(tmp_path / "saved")
    tasks = kernelbench.load(where)
    assert [task.id for task in tasks] == BENCH_IDS
    assert {task.source for task in tasks} == {DOUBLE.source}
    assert [task.id for task in kernelbench.load(f"{where}:level2")] == BENCH_IDS[2:]


def test_kernelbench_names_without_numbers_get_them(tmp_path: Path) -> None:
    where = jsonl(tmp_path / "all.jsonl", [BENCH[0] | {"name": "ReLU"}])
    assert [task.id for task in kernelbench.load(where)] == ["level1/10_ReLU"]


def test_bad_rows_are_skipped_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bad = [{"code": None, "level": 1, "name": "x", "problem_id": 3}, {"code": "x = 1", "level": 1, "name": "y"}]
    path = tmp_path / "all.jsonl"
    jsonl(path, [*BENCH, *bad])
    path.write_text(path.read_text() + '{"code": "torn')
    assert [task.id for task in kernelbench.load(str(path))] == BENCH_IDS
    assert "3 tasks, 3 rows skipped" in caplog.text and "no text in column code" in caplog.text
    skipped = [one for one in kernelbench.convert(str(path)) if isinstance(one, Skipped)]
    assert [one.reason for one in skipped] == [
        "no text in column code",
        "no class Model in column code",
        "no JSON object",
    ]


@pytest.mark.parametrize("load", [kernelbench.load, kernelbook.load])
def test_what_cannot_be_read_is_one_line(tmp_path: Path, load: object) -> None:
    junk, empty, odd = tmp_path / "a.parquet", tmp_path / "b.jsonl", tmp_path / "c.xyz"
    junk.write_bytes(b"PAR1junk")
    empty.write_text("")
    odd.write_text("x")
    latin = tmp_path / "d.jsonl"
    latin.write_bytes(b"\xff\xfe")
    for where in (str(junk), str(empty), str(odd), str(latin), "", "no where", str(tmp_path / "none.jsonl")):
        with pytest.raises(TaskError) as caught:
            load(where)  # type: ignore[operator]
        assert "\n" not in str(caught.value)


def test_data_sets_are_specs(tmp_path: Path) -> None:
    bench = jsonl(tmp_path / "bench.jsonl", BENCH)
    books = jsonl(tmp_path / "book.jsonl", [book(SCALE, "Scale", "[[4], {}]")])
    ids = [task.id for task in load_spec(f"kernelbench:{bench}:level2,kernelbook:{books}:1")]
    assert ids == ["level2/1_op1", "kernelbook/7_Scale"]
    with pytest.raises(TaskError):
        load_spec(f"tritonbench:{tmp_path}")


def test_other_columns_are_said(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no text in column python_code"):
        kernelbook.load(jsonl(tmp_path / "bench.jsonl", BENCH))


def test_a_kernelbook_module_becomes_model_with_positional_arguments(tmp_path: Path) -> None:
    where = jsonl(tmp_path / "book.jsonl", [book(SCALE, "Scale", "[[], {'bias': False, 'dim': 4}]")])
    (task,) = kernelbook.load(where)
    assert task.id == "kernelbook/7_Scale" and task.level == 2
    module = TaskModule.of(task)
    assert module.init_inputs() == [4, 2.0, False]
    assert isinstance(output(task), torch.Tensor)
    assert "_paritybench_helpers" not in task.source and "Scale" not in task.source


def test_kernelbook_arguments_at_their_defaults_stay_there(tmp_path: Path) -> None:
    where = jsonl(tmp_path / "book.jsonl", [book(SCALE, "Scale", "[[4], {}]")])
    assert TaskModule.of(kernelbook.load(where)[0]).init_inputs() == [4]


def test_a_mocked_configuration_becomes_arguments_that_can_be_scaled(tmp_path: Path) -> None:
    init = "[[], {'config': _mock_config(hidden=4, out=6)}]"
    (task,) = kernelbook.load(jsonl(tmp_path / "book.jsonl", [book(CONFIGURED, "Net", init)]))
    module = TaskModule.of(task)
    assert module.init_inputs() == [4, 6]
    result = output(task)
    assert isinstance(result, torch.Tensor) and result.shape == (4, 6)
    assert module.model(0).dropout == 0.0


def test_a_class_that_is_called_model_already_makes_room(tmp_path: Path) -> None:
    code = (
        "class Model(nn.Module):\n\n    def forward(self, x):\n        return x + 1\n\n\n"
        "class Outer(nn.Module):\n\n    def __init__(self):\n        super().__init__()\n"
        "        self.inner = Model()\n\n"
        "    def forward(self, x):\n        return self.inner(x)\n"
    )
    (task,) = kernelbook.load(jsonl(tmp_path / "book.jsonl", [book(code, "Outer")]))
    assert type(TaskModule.of(task).model(0)).__name__ == "Model" and "class InnerModel" in task.source
    assert isinstance(output(task), torch.Tensor)


def test_an_inherited_constructor_is_found(tmp_path: Path) -> None:
    code = SCALE + "\n\nclass Twice(Scale):\n\n    def forward(self, x):\n        return 2 * super().forward(x)\n"
    (task,) = kernelbook.load(jsonl(tmp_path / "book.jsonl", [book(code, "Twice", "[[], {'dim': 4}]")]))
    assert TaskModule.of(task).init_inputs() == [4] and isinstance(output(task), torch.Tensor)


def test_the_first_n_of_kernelbook(tmp_path: Path) -> None:
    rows = [book(SCALE, "Scale", "[[4], {}]", uuid=i) for i in range(5)]
    where = parquet(tmp_path / "book.parquet", [rows[4] | {"python_code": None}, *rows])
    assert [task.id for task in kernelbook.load(f"{where}:2")] == ["kernelbook/0_Scale", "kernelbook/1_Scale"]
    with pytest.raises(TaskError, match="no number of tasks"):
        kernelbook.load(f"{where}:many")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (book("class A(:", "A"), "python_code is no Python"),
        (book(SCALE, "Other"), "no class of the entry point's name"),
        (book(SCALE, "Scale"), "a constructor's argument is missing"),
        (book(SCALE, "Scale", "[[], {'dim': 4, 'colour': 1}]"), "an argument that the constructor does not name"),
        (book(SCALE, "Scale", "[[4, 2.0, True, 5], {}]"), "more arguments than the constructor names"),
        (
            book(SCALE, "Scale", "[[], {'dim': _mock_config(a=_mock_config(b=1))}]"),
            "a configuration object that is no plain argument",
        ),
        (book(CONFIGURED, "Net", "[[_mock_config(1)], {}]"), "a configuration object that is no plain argument"),
        (book(SCALE, "Scale", "[[4], {}]", "[_mock_config(a=4)]"), "a configuration object that is no plain argument"),
        (
            book("class A(nn.Relu):\n    pass\n", "A", "[[3], {}]"),
            "arguments for a constructor that is not in the class",
        ),
        ({"entry_point": "A", "python_code": 7}, "no text in column python_code"),
        ({"entry_point": "A", "python_code": "class A:\n    pass\n"}, "no get_inputs"),
    ],
)
def test_kernelbook_rows_that_are_no_tasks_say_why(row: dict[str, object], reason: str) -> None:
    with pytest.raises(TaskError) as caught:
        kernelbook.task_of(row, 0)
    assert str(caught.value) == reason
