"""TritonBench-T's files as tasks: small files in its form, and the reasons why some calls are none."""

from pathlib import Path

import pytest
import torch
from judging import judge

from tritonsmith.tasks import tritonbench
from tritonsmith.tasks.format import TaskError, TaskModule, forward
from tritonsmith.tasks.hub import Skipped
from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier

LINE = "#" * 146


def folder(root: Path, **files: tuple[str, str]) -> str:
    """A checkout with these operators: a reference, and the body of its test."""
    data = root / "data" / "TritonBench_T_v1"
    data.mkdir(parents=True, exist_ok=True)
    for name, (reference, test) in files.items():
        lines = "".join(f"    {line}\n" for line in test.strip().splitlines())
        (data / f"{name}.py").write_text(
            f"import torch\nimport torch.nn.functional as F\n\n{reference}\n\n{LINE}\n\n\nimport torch\n"
            f"torch.manual_seed(42)\n\ndef test_{name}():\n    results = {{}}\n{lines}    return results\n\n"
            f"test_results = test_{name}()\nprint(test_results)\n"
        )
    return str(root)


SCALED = "def scaled_add(input, other, *, alpha=1.0, mode=None, out=None):\n    return input + alpha * other"


def tasks(root: Path, reference: str, test: str) -> list[Task]:
    return tritonbench.load(folder(root, op=(reference, test)))


def reason(root: Path, reference: str, test: str) -> str:
    (found,) = tritonbench.convert(folder(root, op=(reference, test)))
    assert isinstance(found, Skipped)
    return found.reason


def test_each_call_is_a_task_of_its_own_inputs(tmp_path: Path) -> None:
    found = tasks(
        tmp_path,
        SCALED,
        """
x = torch.randn(4, 6, device='cuda')
y = torch.randn(6, device='cuda')
results["test_case_1"] = scaled_add(x, y)
# with constants
factor = 2.5
x = torch.randn(3, 5).cuda()
results["test_case_2"] = scaled_add(x, other=torch.randn(3, 5, device=torch.device('cuda')), alpha=factor).cpu()
""",
    )
    assert [task.id for task in found] == ["tritonbench/op_1", "tritonbench/op_2"]
    shapes = [[tuple(one.shape) for one in TaskModule.of(task).inputs(0)] for task in found]  # type: ignore[attr-defined]
    assert shapes == [[(4, 6), (6,)], [(3, 5), (3, 5)]]
    module = TaskModule.of(found[1])
    x, y = module.inputs(1)
    assert torch.equal(forward(module.model(0), [x, y]), x + 2.5 * y)  # type: ignore[arg-type, operator]
    assert "factor" not in found[1].source and "cuda" not in found[1].source and "device" not in found[1].source
    assert [task.level for task in found] == [2, 2]  # a product and a sum


def test_numbers_written_out_become_random_ones_of_their_range(tmp_path: Path) -> None:
    (task,) = tasks(
        tmp_path,
        "def pick(table, index, keep):\n    return torch.where(keep, torch.log(table)[index], 0.0)",
        """
table = torch.tensor([0.5, 2.0, 4.0], device='cuda', dtype=torch.float64)
index = torch.tensor([[0, 2], [1, 1]], device='cuda')
results["1"] = pick(table, index, torch.tensor([[True, False], [True, True]]))
""",
    )
    module = TaskModule.of(task)
    table, index, keep = module.inputs(3)
    assert isinstance(table, torch.Tensor) and isinstance(index, torch.Tensor) and isinstance(keep, torch.Tensor)
    assert table.dtype == torch.float64 and table.shape == (3,) and table.min() >= 0.5 and table.max() <= 4.0
    assert index.dtype == torch.int64 and index.shape == (2, 2) and set(index.unique().tolist()) <= {0, 1, 2}
    assert keep.dtype == torch.bool
    assert not torch.equal(table, module.inputs(4)[0])  # type: ignore[arg-type]
    assert task.level == 2


def test_numbers_stay_where_the_function_does_not_bear_others(tmp_path: Path) -> None:
    (task,) = tasks(
        tmp_path,
        "def root(a):\n    if not torch.allclose(a, a.T):\n        raise RuntimeError('not symmetric')\n"
        "    return torch.linalg.cholesky(a)",
        "results['1'] = root(torch.tensor([[2.0, 0.5], [0.5, 3.0]]))",
    )
    assert "[[2.0, 0.5], [0.5, 3.0]]" in task.source


def test_what_the_inputs_depend_on_comes_along_and_nothing_else(tmp_path: Path) -> None:
    (task,) = tasks(
        tmp_path,
        SCALED,
        """
n = 7
unused = torch.randn(1000)
x = torch.randn(n, n)
x = x @ x.T
x.add_(torch.eye(n))
results["1"] = scaled_add(x, x[0])
""",
    )
    assert "unused" not in task.source and "x = x @ x.T" in task.source and "add_" in task.source
    assert torch.linalg.eigvalsh(TaskModule.of(task).inputs(0)[0]).min() > 0.9  # type: ignore[arg-type]


def test_lists_of_tensors_are_inputs(tmp_path: Path) -> None:
    (task,) = tasks(
        tmp_path,
        "def stacked(tensors, by):\n    return torch.hstack(tensors) / by",
        "results['1'] = stacked([torch.randn(2), torch.randn(3)], 4)",
    )
    module = TaskModule.of(task)
    output = forward(module.model(0), module.inputs(0))
    assert isinstance(output, torch.Tensor) and output.shape == (5,)


def test_a_kernel_for_such_a_task_is_judged(verifier: Verifier, tmp_path: Path) -> None:
    (task,) = tasks(
        tmp_path,
        "def relu(x, inplace=False):\n    return F.relu(x, inplace=inplace)",
        "results['1'] = relu(torch.tensor([[-3.0, 2.0, 5.0], [0.0, -1.0, 4.0]], device='cuda'), inplace=True)",
    )
    kernel = (
        "import torch\nimport triton\nimport triton.language as tl\nfrom torch import nn\n\n\n@triton.jit\n"
        "def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    mask = offsets < n\n"
        "    x = tl.load(x_ptr + offsets, mask=mask)\n"
        "    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)\n\n\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        out = torch.empty_like(x)\n"
        "        relu_kernel[(triton.cdiv(out.numel(), 64),)](x.contiguous(), out, out.numel(), BLOCK=64)\n"
        "        return out\n"
    )
    assert task.level == 1
    assert judge(verifier, task, kernel).correct
    assert not judge(verifier, task, kernel.replace("maximum", "minimum")).correct


@pytest.mark.parametrize(
    ("reference", "test", "why"),
    [
        (
            SCALED,
            "for n in (1, 2):\n    results[n] = scaled_add(torch.randn(n), 1)",
            "a call inside of a block",
        ),
        (SCALED, "with torch.no_grad():\n    results[1] = scaled_add(torch.randn(3), 1)", "a call inside of a block"),
        (SCALED, "results['1'] = scaled_add(torch.randn(3), 1, out=torch.empty(3))", "a call that writes into out"),
        (SCALED, "results['1'] = scaled_add(1.0, 2.0)", "a call without tensors"),
        (SCALED, "results['1'] = scaled_add(torch.randn(3), 1, colour=3)", "a call that does not fit the function"),
        (SCALED, "results['1'] = scaled_add(*[torch.randn(3), 1])", "a call with * or **"),
        (
            SCALED,
            "results['1'] = scaled_add(torch.randn(3), 1, mode=print)",
            "an argument that is neither tensor nor constant",
        ),
        (SCALED, "results['1'] = scaled_add(torch.randn(3), 1j)", "an argument that is neither tensor nor constant"),
        ("def f(*x):\n    return x[0]", "results['1'] = f(torch.randn(3))", "a function of any number of arguments"),
        (
            "def f(x):\n    return F.dropout(x)",
            "results['1'] = f(torch.randn(99))",
            "a function that draws random numbers",
        ),
        (
            "def f(x):\n    return x * 1j",
            "results['1'] = f(torch.randn(3))",
            "numbers that are complex, sparse or quantised",
        ),
        ("def f(x):\n    return torch.log(x)", "results['1'] = f(-torch.ones(3))", "values that are not finite"),
        ("def f(x):\n    return x.shape", "results['1'] = f(torch.randn(3))", "an output that is no tensor"),
        ("def f(x):\n    return x + y", "results['1'] = f(torch.randn(3))", "does not run on the CPU: NameError"),
        ("def f(x):\n    return x", "results['1'] = f(undefined)", "does not run on the CPU: NameError"),
        (
            "import triton\ndef f(x):\n    return x",
            "pass",
            "a Triton reference, as TritonBench-G has them, and no PyTorch one",
        ),
        ("def f(:", "pass", "no Python"),
    ],
)
def test_what_is_no_task_says_why(tmp_path: Path, reference: str, test: str, why: str) -> None:
    assert reason(tmp_path, reference, test) == why


def test_the_folder_and_one_file_are_specs_too(tmp_path: Path) -> None:
    root = folder(tmp_path, a=(SCALED, "results['1'] = scaled_add(torch.randn(3), 1)"))
    data = Path(root) / "data" / "TritonBench_T_v1"
    for where in (root, str(data.parent), str(data), str(data / "a.py")):
        assert [task.id for task in tritonbench.load(where)] == ["tritonbench/a_1"]


@pytest.mark.parametrize("where", ["", "/nowhere", "/nowhere/a.py", "/nowhere/a.json"])
def test_a_place_without_tasks_is_one_line(where: str) -> None:
    with pytest.raises(TaskError) as caught:
        tritonbench.load(where)
    assert "\n" not in str(caught.value)
