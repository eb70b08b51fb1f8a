"""Repair of stored rows: what comes out runs, is correct, and names nothing that PyTorch no longer has."""

import pytest
from judging import judge
from kernelbook_rows import CONVOLUTION, LINEAR, POINTWISE, REDUCTION, ROWS

from tritonsmith.data.kernelbook import repair
from tritonsmith.data.pair import Miss
from tritonsmith.verify.pool import Verifier


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["entry_point"])
def test_a_repaired_row_is_correct(verifier: Verifier, row: dict[str, object]):
    task, pair = _repaired(row)
    verdict = judge(verifier, task, pair.source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["entry_point"])
def test_nothing_of_inductor_is_left(row: dict[str, object]):
    _, pair = _repaired(row)
    for word in ("_inductor", "triton_helpers", "libdevice", "_C", "grid(", "extern_kernels", "num_warps"):
        assert word not in pair.source


def test_constructor_arguments_go_by_place():
    task, pair = _repaired(LINEAR)
    assert "return [4, 4]" in task.source
    assert "def __init__(self, in_features, out_features, bias=True)" in pair.source


def test_the_row_s_class_is_called_model():
    task, _ = _repaired(CONVOLUTION)
    assert "class Model(nn.Module)" in task.source
    assert "Stem" not in task.source


def test_only_what_the_row_returns_is_returned():
    _, pair = _repaired(LINEAR)
    assert pair.source.rstrip().endswith("return buf0.view((4, 4, 4, 4))")


def test_several_outputs_keep_their_order():
    _, pair = _repaired(REDUCTION)
    assert pair.source.rstrip().splitlines()[-1].strip().startswith("return (")


@pytest.mark.parametrize(
    "change",
    [
        {"triton_code": None},
        {"triton_code": ""},
        {"triton_code": POINTWISE["triton_code"].replace("def call(args)", "def call(args")},
        {"python_code": POINTWISE["python_code"].replace("class Squash", "class Other")},
        {"python_code": POINTWISE["python_code"].replace("import torch\n", "import torch\nimport no_such_module\n", 1)},
        {"triton_code": POINTWISE["triton_code"].replace("return output[0]", "return output[7]")},
        {"triton_code": POINTWISE["triton_code"].replace("triton_helpers.maximum", "triton_helpers.rand4x")},
        {"triton_code": POINTWISE["triton_code"].replace("def call(args)", "def run(args)")},
        {"python_code": POINTWISE["python_code"].replace("[[], {}]", "[[], {'scale': 2}]")},
    ],
)
def test_a_row_that_cannot_be_repaired_is_a_miss_with_a_reason(change: dict[str, object]):
    missed = repair(POINTWISE | change)
    assert isinstance(missed, Miss)
    assert 0 < len(missed.reason) < 80


def _repaired(row: dict[str, object]):
    result = repair(row)
    assert not isinstance(result, Miss), result
    return result
