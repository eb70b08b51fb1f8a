"""Task files and SPECs: what loads, and the one line that says why something does not."""

from pathlib import Path

import pytest
import torch
from judging import DOUBLE, small

from tritonsmith.tasks.format import TaskError, TaskModule, forward, load_spec, load_task
from tritonsmith.types import Task


def _error(call: object, *arguments: object) -> str:
    with pytest.raises(TaskError) as caught:
        call(*arguments)  # type: ignore[operator]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def _file(folder: Path, source: str = DOUBLE.source, name: str = "task.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


def test_a_file_gives_its_task(tmp_path: Path) -> None:
    task = load_task(_file(tmp_path))
    assert (task.id, task.level, task.source) == ("task", 1, DOUBLE.source)


def test_the_folder_names_the_level(tmp_path: Path) -> None:
    task = load_task(_file(tmp_path, name="level3/net.py"))
    assert (task.id, task.level) == ("level3/net", 3)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    assert "cannot read" in _error(load_task, tmp_path / "none.py")


def test_a_binary_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "junk.py"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not a text file" in _error(load_task, path)


@pytest.mark.parametrize("name", ["Model", "get_inputs", "get_init_inputs"])
def test_a_missing_name_is_named(tmp_path: Path, name: str) -> None:
    path = _file(tmp_path, DOUBLE.source.replace(f" {name}(", " other("))
    assert name in _error(load_task, path).split("missing: ")[1]


@pytest.mark.parametrize("source", ["def broken(:", "import nosuchmodule", "raise ValueError('two\\nlines')", "1/0"])
def test_a_source_that_does_not_run_is_one_line(tmp_path: Path, source: str) -> None:
    assert "does not load" in _error(load_task, _file(tmp_path, source))


def test_inputs_follow_the_seed_and_leave_the_generator() -> None:
    module = TaskModule.of(DOUBLE)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, again, other = (module.inputs(seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)  # type: ignore[arg-type]
    assert torch.equal(torch.get_rng_state(), before)


def test_forward_leaves_inputs_and_state_alone() -> None:
    source = DOUBLE.source.replace("return 2.0 * x", "self.seen = True\n        return x.mul_(2.0)")
    module = TaskModule.of(Task(id="t", level=1, source=source))
    model, inputs = module.model(0), module.inputs(0)
    before = inputs[0].clone()  # type: ignore[attr-defined]
    forward(model, inputs)
    assert torch.equal(inputs[0], before) and not hasattr(model, "seen")  # type: ignore[arg-type]


def test_random_references_give_one_answer() -> None:
    source = DOUBLE.source.replace("2.0 * x", "x * torch.rand_like(x)")
    module = TaskModule.of(Task(id="t", level=1, source=source))
    inputs = module.inputs(0)
    assert torch.equal(forward(module.model(0), inputs), forward(module.model(0), inputs))  # type: ignore[arg-type]


def test_the_suite_has_two_levels_with_stable_ids() -> None:
    tasks = load_spec("suite")
    assert {task.level for task in tasks} == {1, 2}
    assert len({task.id for task in tasks}) == len(tasks)
    assert [task.id for task in load_spec("suite:level1")] == [task.id for task in tasks if task.level == 1]


def test_a_folder_is_a_spec(tmp_path: Path) -> None:
    _file(tmp_path, name="b.py")
    _file(tmp_path, name="deep/a.py")
    _file(tmp_path, "x = 1", name="helper.py")
    assert [task.id for task in load_spec(str(tmp_path))] == ["b", "deep/a"]


def test_a_file_is_a_spec(tmp_path: Path) -> None:
    assert [task.id for task in load_spec(str(_file(tmp_path)))] == ["task"]


def test_a_kernelbench_checkout_is_a_spec_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    for name in ("KernelBench/level1/10_ten.py", "KernelBench/level1/9_nine.py", "KernelBench/level2/1_one.py"):
        _file(tmp_path, name=name)
    ids = ["level1/9_nine", "level1/10_ten", "level2/1_one"]
    assert [task.id for task in load_spec(f"kernelbench:{tmp_path}")] == ids
    assert [task.id for task in load_spec(f"kernelbench:{tmp_path}:level2")] == ids[2:]
    assert [task.id for task in load_spec(f"kernelbench:{tmp_path / 'KernelBench'}")] == ids


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "nowhere",
        "suite:level9",
        "suite:../..",
        "kernelbench:",
        "kernelbench:/nowhere",
        "graphs:",
        "graphs:x",
        "graphs:4:colour=red",
        "synthetic:4",
    ],
)
def test_a_spec_that_names_nothing_is_one_line(spec: str) -> None:
    assert _error(load_spec, spec)


def test_an_empty_folder_is_one_line(tmp_path: Path) -> None:
    assert "no task files" in _error(load_spec, str(tmp_path))


def test_a_task_that_names_a_gpu_runs_where_it_is() -> None:
    source = DOUBLE.source.replace("torch.randn(", "torch.randn(device='cuda', size=").replace("64, 48)", "(64, 48))")
    assert "cuda" in source
    module = TaskModule.of(Task(id="t", level=1, source=source))
    for device in ("cpu", "meta"):
        (given,) = module.inputs(0, device)
        assert isinstance(given, torch.Tensor) and given.device.type == device
    moved = DOUBLE.source.replace("torch.randn(64, 48)", "torch.randn(64, 48).cuda().to('cuda:0')")
    assert moved != DOUBLE.source
    (given,) = TaskModule.of(Task(id="t", level=1, source=moved)).inputs(0)
    assert isinstance(given, torch.Tensor) and given.device.type == "cpu"


def test_a_kernelbench_checkout_needs_not_have_every_level(tmp_path: Path) -> None:
    _file(tmp_path, name="level3/1_Net.py")
    (task,) = load_spec(f"kernelbench:{tmp_path}")
    assert task.level == 3


def test_a_graph_that_two_generators_draw_counts_once() -> None:
    own = "graphs:12:seed={}:depth=1:families=pointwise"
    first, second = (load_spec(own.format(seed)) for seed in (0, 1))
    both = load_spec(f"{own.format(0)},{own.format(1)}")
    assert {task.id for task in first} & {task.id for task in second}
    assert both == [*first, *(task for task in second if task.id not in {one.id for one in first})]


def test_a_file_that_is_named_twice_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(load_spec("suite:level1")[0].source)
    with pytest.raises(TaskError, match="named twice"):
        load_spec(f"{tmp_path / 'task.py'},{tmp_path / 'task.py'}")


def test_a_weight_that_a_constructor_computes_can_be_copied() -> None:
    source = DOUBLE.source.replace(
        "    def forward(self, x):\n        return 2.0 * x",
        "    def __init__(self):\n        super().__init__()\n"
        "        self.layer = nn.utils.weight_norm(nn.Linear(48, 48))\n"
        "    def forward(self, x):\n        return self.layer(x)",
    )
    task = TaskModule.of(Task(id="normed", level=1, source=source))
    model = task.model(0)
    assert forward(model, task.inputs(0)).shape == (64, 48)  # type: ignore[attr-defined]
    assert all(weight.requires_grad and weight.is_leaf for weight in model.parameters())


@pytest.mark.parametrize("function", ["get_inputs", "get_init_inputs"])
def test_what_no_other_process_knows_is_a_line_about_the_task(function: str) -> None:
    task = small("return x", "torch.randn(4)")
    source = task.source.replace(f"def {function}():\n    return [", f"def {function}():\n    return [Size(), ", 1)
    module = TaskModule.of(task.model_copy(update={"source": source + "\nclass Size:\n    pass\n"}))
    with pytest.raises(TaskError, match=f"{function} gives a Size; use tensors"):
        module.inputs(0) if function == "get_inputs" else module.init_inputs()


def test_a_task_that_exits_is_one_that_does_not_load(tmp_path: Path) -> None:
    """`verify` ended with the task's own exit code, 0, which says that a candidate is right."""
    path = tmp_path / "task.py"
    path.write_text("import sys\n\nsys.exit(0)\n")
    with pytest.raises(TaskError, match="does not load: SystemExit"):
        load_task(path)
