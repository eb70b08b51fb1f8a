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
        ("import os; os.getcwd()", "import"),
        ("import torch.utils.cpp_extension", "import"),
        ("from os import system; system('ls')", "import"),
        ("import numpy as np; np.zeros(3)", "import"),
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
        ("torch.os", "torch-attribute"),
        ("torch.ctypes", "torch-attribute"),
        ("getattr(torch, 'os')", "torch-attribute"),
        ("torch.nn.functional.torch.ops", "torch-attribute"),
        ("nn.functional._VF", "torch-attribute"),
        ("triton.runtime.interpreter.np", "torch-attribute"),
        ("triton.knobs", "torch-attribute"),
        ("t = torch; t.os", "torch-attribute"),
        ("torch.autograd.grad", "torch-attribute"),
        ("import typing; typing.get_type_hints(f)", "torch-attribute"),
        ("import functools; functools.update_wrapper(f, g, ('x',))", "torch-attribute"),
        ("import functools; functools.wraps(f, ('x',))", "torch-attribute"),
        ("from enum import bltns", "import"),
        ("from contextlib import sys; sys.exit()", "import"),
        ("import warnings; warnings.sys", "torch-attribute"),
        ("from triton.runtime import jit; jit.JITFunction", "import"),
        ("from typing import sys", "import"),
        ("x = [torch]", "module-value"),
        ("f(nn.functional)", "module-value"),
        ("def f(m=torch): pass", "module-value"),
        ("g = getattr", "getattr"),
        ("type('M', (), {})", "builtin"),
        ("def __class_getitem__(): pass", "dunder"),
        ("torch.mm = None", "patch"),
        ("torch.Tensor.relu = None", "patch"),
        ("tl.load = None", "patch"),
        ("for torch.relu in [f]: pass", "patch"),
        ("with f as torch.relu: pass", "patch"),
        ("torch.inf += 1", "patch"),
        ("x.__class__ = f", "dunder"),
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
        "from triton.tools.tensor_descriptor import TensorDescriptor",
        "from torch.autograd import Function",
        "class Tanh(torch.autograd.Function):\n    pass",
        "import torch.nn.functional as F\ndef f(x):\n    B, F = x.shape\n    return [B, F]",
        "F = torch.nn.functional",
        "libdevice = tl.extra.cuda.libdevice",
        "import functools\ndef f(g):\n    @functools.wraps(g)\n    def h(x): return g(x)\n    return h",
        "DEVICE = triton.runtime.driver.active.get_active_torch_device()",
        "x = isinstance(3, int) and len([1]) == max(1, 0)",
        "from triton.runtime import driver\nP = driver.active.utils.get_device_properties(0)",
        "from contextlib import nullcontext\nwith nullcontext():\n    pass",
        "from torch.nn.parameter import Parameter",
        "import torch.nn.init as init\ninit.zeros_(torch.empty(3))",
        "from triton.language.math import rsqrt",
        "VERSION = torch.__version__ + triton.__version__",
        "name = (3).__class__.__name__",
        "REFERENCE = torch.relu(torch.ones(3)).tolist()",
        "sms = torch.cuda.get_device_properties(0).multi_processor_count",
        "class Base(nn.Module):\n    def __init__(self):\n        nn.Module.__init__(self)",
        "class Items:\n    __slots__ = ('a',)\n    def __next__(self):\n        return 1",
        "@torch.amp.custom_fwd(device_type='cuda')\ndef f(ctx): return ctx",
    ],
)
def test_honest_line_passes(line: str) -> None:
    assert _rules(double(head=HEAD + line + "\n\n")) == set()


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


def test_special_name_in_a_pattern_is_found() -> None:
    pattern = "        match x:\n            case object(__class__=c):\n                pass\n"
    assert _rules(double(pattern + FORWARD)) == {"dunder"}


@pytest.mark.parametrize("name", ["numpy", "apply_", "untyped_storage"])
def test_values_may_not_leave_for_python(name: str) -> None:
    source = double(f"        y = x.{name}()\n{FORWARD}")
    assert _rules(source) == {"host-compute"}
    assert _rules(source, "lenient") == set()


def test_expression_that_is_too_deep_is_a_finding() -> None:
    assert _rules(double(head=HEAD + "x = " + "+".join(["1"] * 2500) + "\n")) == {"syntax"}


@pytest.mark.parametrize(("count", "rules"), [(16, set()), (17, {"host-compute"})])
def test_few_single_values_may_be_read(count: int, rules: set[str]) -> None:
    seen = {"launches": [{}], "touched": True, "operators": {"aten._local_scalar_dense.default": count}}
    assert {finding.rule for finding in policy.check_run(seen, "strict")} == rules


@pytest.mark.parametrize(
    "model",
    [
        "class ModelNew(nn.Module):\n    k = double_kernel\n    def forward(self, x):\n        return self.k(x)\n",
        "class ModelNew(nn.Module):\n    def __init__(self):\n        self.kernel = double_kernel\n"
        "    def forward(self, x):\n        return self.kernel(x)\n",
        "class Inner(nn.Module):\n    def forward(self, x):\n        return double_kernel(x)\n"
        "class ModelNew(nn.Module):\n    def __init__(self):\n        self.inner = Inner()\n"
        "    def forward(self, x):\n        return self.inner(x)\n",
    ],
    ids=["class attribute", "instance attribute", "inner module"],
)
def test_kernel_may_be_reached_through_the_model(model: str) -> None:
    assert _rules(HEAD + KERNEL + model) == set()


def test_kernel_may_be_a_static_method() -> None:
    method = KERNEL.strip().replace("\n", "\n    ")
    source = f"{HEAD}class ModelNew(nn.Module):\n    @staticmethod\n    {method}\n\n    def forward(self, x):\n"
    assert _rules(source + FORWARD.replace("double_kernel", "self.double_kernel")) == set()


@pytest.mark.parametrize(
    "guarded",
    [
        "        if not x.is_cuda:\n            return torch.relu(x)\n",
        "        if x.device.type == 'cpu':\n            x = x @ x\n",
        "        y = x if x.is_cuda else F.relu(x)\n",
        "        if x.is_cuda:\n            return double_kernel\n        return torch.relu(x)\n",
    ],
)
def test_fallback_for_another_device_is_left_to_the_dynamic_net(guarded: str) -> None:
    assert _rules(double(guarded + FORWARD, head="import torch.nn.functional as F\n" + HEAD)) == set()


@pytest.mark.parametrize(
    "line",
    [
        "        if not x.is_cuda:\n            raise ValueError\n        x = torch.relu(x)\n",
        "        if x.shape[0] > 3:\n            x = torch.relu(x)\n",
    ],
)
def test_only_a_fallback_is_left_out(line: str) -> None:
    assert _rules(double(line + FORWARD)) == {"torch-compute"}


def test_lambda_of_the_module_is_read_where_forward_names_it() -> None:
    source = double("        x = prepare(x)\n" + FORWARD, head=HEAD + "prepare = lambda t: torch.relu(t)\n\n")
    assert _rules(source) == {"torch-compute"}


@pytest.mark.parametrize(
    "model",
    [
        "run = Function.apply\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return run(x)\n",
        "class Other(nn.Module):\n    def forward(self, x):\n        return launch(x)\n\n\nModelNew = Other\n",
        "class Other(nn.Module):\n    def forward(self, x):\n        return launch(x)\n\n\n"
        "class ModelNew(Other):\n    pass\n",
        "class ModelNew(nn.Module):\n    forward = lambda self, x: launch(x)\n",
        "if True:\n    def g(x): return launch(x)\n\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        return g(x)\n",
    ],
    ids=["function of autograd", "alias of a class", "inherited forward", "assigned forward", "conditional helper"],
)
def test_kernel_may_be_reached_through_names_of_the_module(model: str) -> None:
    helpers = (
        "def launch(x):\n    return double_kernel[(1,)](x)\n\n\n"
        "class Function(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x):\n        return launch(x)\n\n\n"
    )
    assert _rules(HEAD + KERNEL + helpers + model) == set()


def test_host_methods_in_the_constructor_are_free() -> None:
    source = double().replace(
        "    def forward",
        "    def __init__(self):\n        super().__init__()\n"
        "        self.n = torch.ones(3).numpy()\n\n    def forward",
    )
    assert _rules(source) == set()


@pytest.mark.parametrize(("count", "rules"), [(16, set()), (17, {"host-compute"})])
def test_values_handed_to_python_are_counted(count: int, rules: set[str]) -> None:
    seen = {"launches": [{}], "touched": True, "operators": {}, "work": {"values": count}}
    assert {finding.rule for finding in policy.check_run(seen, "strict")} == rules


MAIN = """

def bench():
    import time
    torch.manual_seed(0)
    start = torch.cuda.Event(enable_timing=True)
    return triton.testing.do_bench(start), open("log")


if __name__ == "__main__":
    torch.testing.assert_close(bench(), torch.load("x"))
"""


def test_main_block_and_what_only_it_names_are_not_read() -> None:
    assert _rules(double() + MAIN) == set()


@pytest.mark.parametrize(
    "change",
    [
        ("if __name__ ==", "if __name__ !="),
        ("if __name__ ==", "__name__ = '__main__'\nif __name__ =="),
        ("if __name__ ==", "import math as __name__\nif __name__ =="),
        ("def bench():", "@print\ndef bench():"),
        ("def bench():", "x = [bench]\n\n\ndef bench():"),
        ("def bench():", "def bench(x=torch.load('x')):"),
        ("def bench():", "def bench() -> open('x'):"),
    ],
)
def test_what_may_run_is_read(change: tuple[str, str]) -> None:
    assert _rules(double() + MAIN.replace(*change)) != set()


@pytest.mark.parametrize(
    "line", ["import numpy as np", "import os, sys", "from contextlib import nullcontext", "import time"]
)
def test_import_of_a_common_module_that_nothing_uses_passes(line: str) -> None:
    assert _rules(double(head=HEAD + line + "\n\n")) == set()


@pytest.mark.parametrize(
    "line",
    [
        "import os\nos.getcwd()",
        "class A:\n    import os\nA.os",
        "import task",
        "from os import *",
        "import os as torch2\nx = torch2",
        "from . import os",
    ],
)
def test_import_that_is_used_or_unknown_is_found(line: str) -> None:
    assert "import" in _rules(double(head=HEAD + line + "\n\n"))
