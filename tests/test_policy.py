"""The policy's static rules find what they are named for, and let honest code through."""

import pytest
from judging import FORWARD, HEAD, KERNEL, KERNEL_IDS, double, kernel

from tritonsmith.verify import policy


def _rules(source: str, mode: policy.Policy = "strict") -> set[str]:
    return {finding.rule for finding in policy.check_source(source, mode)}


@pytest.mark.parametrize("id", KERNEL_IDS)
def test_hand_written_kernel_breaks_no_rule(id: str) -> None:
    assert policy.check_source(kernel(id), "strict") == []


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("import os", "import"),
        ("import torch.utils.cpp_extension", "import"),
        ("from os import system", "import"),
        ("import numpy as np", "import"),
        ("from . import secrets", "import"),
        ("from torch import compile", "import"),
        ("import ctypes, math", "import"),
        ("eval('1')", "builtin"),
        ("x = open", "builtin"),
        ("e = exec", "builtin"),
        ("__import__('os')", "builtin"),
        ("torch.__dict__", "dunder"),
        ("().__class__.__base__.__subclasses__()", "dunder"),
        ("f = (lambda: 0).__globals__", "dunder"),
        ("__builtins__", "dunder"),
        ("e.tb_frame.f_back", "frame"),
        ("getattr(torch, name)", "getattr"),
        ("getattr(torch, 'm' + 'm')", "getattr"),
        ("getattr(torch, '_C')", "getattr"),
        ("torch.ops.aten.mm", "torch-attribute"),
        ("torch._C", "torch-attribute"),
        ("torch.utils.data", "torch-attribute"),
        ("torch.cuda.graphs", "torch-attribute"),
        ("torch.compile(f)", "torch-attribute"),
        ("torch.load('x')", "torch-attribute"),
        ("torch.mm = None", "patch"),
        ("torch.Tensor.relu = None", "patch"),
        ("tl.load = None", "patch"),
    ],
)
def test_rule_finds_its_line(line: str, rule: str) -> None:
    findings = policy.check_source(double(head=HEAD + line + "\n\n"), "strict")
    assert rule in {finding.rule for finding in findings}
    number = (HEAD + line).count("\n") + 1
    assert all(finding.line == number for finding in findings)


@pytest.mark.parametrize(
    "line",
    [
        "import math",
        "from typing import Optional",
        "from functools import partial",
        "import torch.nn.functional as F",
        "from triton.language.extra import libdevice",
        "from triton.language.extra.cuda import libdevice",
        "from __future__ import annotations",
        "size = getattr(triton, 'next_power_of_2')(5)",
        "count = torch.cuda.device_count()",
        "x = hasattr(tl, 'dot')",
        "if __name__ == '__main__':\n    pass",
        "def __call__():\n    pass",
        "print('hello')",
        "x = isinstance(3, int) and len([1]) == max(1, 0)",
    ],
)
def test_honest_line_passes(line: str) -> None:
    assert _rules(double(head=line + "\n" + HEAD)) == set()


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("", "empty"),
        ("  \n\t\n", "empty"),
        ("def broken(:", "syntax"),
        ("x = '\x00'", "syntax"),
        ("\udcff\udcfe", "syntax"),
        ("(" * 500 + ")" * 500, "syntax"),
        ("x = 1", "no-modelnew"),
        ("class ModelNew:\n    pass", "no-forward"),
        ("class ModelNew:\n    def forward(self): pass", "no-kernel"),
        (
            HEAD + KERNEL + "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x",
            "kernel-unreachable",
        ),
        ("x = 1\n" * 100_001, "size"),
    ],
)
def test_structure_rule(source: str, rule: str) -> None:
    assert rule in _rules(source)


@pytest.mark.parametrize("line", ["torch.relu(x)", "F.relu(x)", "x @ x", "torch.mm(x, x)", "torch.sum(x)"])
def test_torch_arithmetic_is_for_lenient_only(line: str) -> None:
    source = double(f"        y = {line}\n{FORWARD}", head="import torch.nn.functional as F\n" + HEAD)
    assert _rules(source) == {"torch-compute"}
    assert _rules(source, "lenient") == set()


def test_torch_arithmetic_in_a_helper_is_found() -> None:
    helper = "def helper(x):\n    return torch.softmax(x, -1)\n\n\n"
    assert _rules(double(f"        x = helper(x)\n{FORWARD}", kernel=KERNEL + helper)) == {"torch-compute"}


def test_weight_preparation_in_the_constructor_is_free() -> None:
    source = double().replace(
        "    def forward",
        "    def __init__(self):\n        super().__init__()\n        self.w = torch.ones(3).exp()\n\n    def forward",
    )
    assert _rules(source) == set()


def test_kernel_reached_through_a_helper_counts() -> None:
    helper = "def run(x):\n" + FORWARD.replace("        ", "    ") + "\n\n"
    assert _rules(double("        return run(x)\n", kernel=KERNEL + helper)) == set()


def test_kernel_wrapped_by_a_call_counts() -> None:
    wrapped = KERNEL + "fast = triton.autotune(configs=[triton.Config({'BLOCK': 64})], key=['n'])(double_kernel)\n\n\n"
    assert _rules(double(FORWARD.replace("double_kernel", "fast"), kernel=wrapped)) == set()


@pytest.mark.parametrize(
    ("seen", "rules"),
    [
        ({}, {"never-launched"}),
        ({"launches": "many"}, {"never-launched"}),
        ({"launches": [{}], "touched": False}, {"decoy"}),
        (
            {"launches": [{}], "touched": True, "operators": {"aten.empty.memory_format": 1, "aten.view.default": 2}},
            set(),
        ),
        ({"launches": [{}], "touched": True, "operators": {"aten.mm.default": 1}}, {"torch-compute"}),
        ({"launches": [{}], "touched": True, "operators": {"mine.view.default": 1}}, {"torch-compute"}),
    ],
)
def test_judgement_of_a_run(seen: dict[str, object], rules: set[str]) -> None:
    assert {finding.rule for finding in policy.check_run(seen, "strict")} == rules


def test_lenient_lets_torch_compute_in_a_run() -> None:
    seen = {"launches": [{}], "touched": True, "operators": {"aten.mm.default": 1}}
    assert policy.check_run(seen, "lenient") == []
