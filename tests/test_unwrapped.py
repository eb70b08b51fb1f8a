"""What is taken out of a candidate's source before it is judged, and what is left for the rules to refuse."""

import ast

import pytest
from judging import double

from tritonsmith.verify.static.unwrapped import unwrapped

BENCHMARK = "torch.backends.cudnn.benchmark = True"


def _with(*top: str, imports: str = "import torch") -> str:
    return "\n".join([imports, *top, double()])


@pytest.mark.parametrize(
    "line",
    [BENCHMARK, "torch.backends.cudnn.benchmark = False  # as ever",
     "x = 1; torch.backends.cudnn.benchmark = True; y = 2", "torch.backends.cudnn.benchmark = (\n    True\n)"],
)  # fmt: skip
def test_settings_that_do_nothing_here_are_left_out(line: str) -> None:
    source = _with(line)
    assert "cudnn" not in unwrapped(source)
    assert len(unwrapped(source).splitlines()) == len(source.splitlines())


@pytest.mark.parametrize(
    "line",
    ["torch.backends.cudnn.benchmark = work()", "torch.backends.cudnn.enabled = True",
     "torch.backends.cudnn.benchmark = x = True", "if True:\n    torch.backends.cudnn.benchmark = True",
     f"{BENCHMARK}\ntorch = 3", f"{BENCHMARK}\ndef f(torch):\n    pass", f"{BENCHMARK}\nclass torch:\n    pass",
     f"{BENCHMARK}\ndef f():\n    global torch", f"{BENCHMARK}\nimport mine as torch",
     f"{BENCHMARK}\nfrom mine import *", f"{BENCHMARK}\ntry:\n    pass\nexcept E as torch:\n    pass",
     f"{BENCHMARK}\ndel torch"],
)  # fmt: skip
def test_other_settings_and_names_that_may_be_others_stay(line: str) -> None:
    source = _with(line)
    assert unwrapped(source) == source


@pytest.mark.parametrize("source", ["", "cudnn (", "cudnn = '\0'", "cudnn = '\ud800'", "(" * 500 + "cudnn"])
def test_what_cannot_be_read_stays(source: str) -> None:
    assert unwrapped(source) == source


def test_letters_of_several_bytes_and_other_ends_of_lines() -> None:
    source = f"import torch\r\nä = 'ü\x0c'; {BENCHMARK}; ö = 1\r\nlast = 'é'\r\n"
    assert ast.dump(ast.parse(unwrapped(source))) == ast.dump(ast.parse(source.replace(BENCHMARK, "pass")))


def test_a_torch_that_comes_later_is_not_there_yet() -> None:
    source = f"{BENCHMARK}\nimport torch\n"
    assert unwrapped(source) == source


MARKS = ["torch.compiler.disable", "torch.compiler.disable()", "torch._dynamo.disable(recursive=False)", "off"]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_for_a_compiler_are_left_out(mark: str) -> None:
    imports = "import torch._dynamo\nfrom torch.compiler import disable as off"
    source = _with(f"@torch.no_grad()\n@{mark}  # as people do\ndef f(x):\n    return x", imports=imports)
    assert "disable" not in unwrapped(source)
    assert unwrapped(source).splitlines().index("def f(x):") == source.splitlines().index("def f(x):")


@pytest.mark.parametrize(
    "line",
    ["@disable\ndef f(x):\n    return x", "f = torch.compiler.disable(g)",
     "@torch.compiler.disable\nclass A:\n    pass", "@torch.compiler.disable\n@triton.jit\ndef f(x):\n    pass",
     "@torch.compiler.disable(g)\ndef f(x):\n    return x",
     "@torch.compiler.disable(recursive=g())\ndef f(x):\n    return x", "@(torch.compiler.disable)\ndef f():\n    pass",
     "@torch.compiler.disable.run\ndef f(x):\n    return x", "@torch.compiler.disable\n@mine\ndef f(x):\n    return x"],
)  # fmt: skip
def test_other_marks_stay(line: str) -> None:
    source = _with(line)
    assert unwrapped(source) == source


@pytest.mark.parametrize(
    "said", ["", "level=logging.INFO", "level='DEBUG', format='%(name)s %(message)s'", "level=10", "level=INFO"]
)
def test_what_a_log_looks_like_is_left_out(said: str) -> None:
    source = _with(f"logging.basicConfig({said})", imports="import logging\nfrom logging import INFO\nimport torch")
    assert "basicConfig" not in unwrapped(source)


@pytest.mark.parametrize(
    "line",
    ["logging.basicConfig(level=work())", "logging.basicConfig(format=f'{work()}')", "logging.basicConfig(stream=out)",
     "logging.basicConfig(handlers=[mine])", "logging.basicConfig(**words)", "logging.basicConfig(filename='log')",
     "logging.basicConfig(level=logging.root)", "x = logging.basicConfig(level=10)", "logging.basicConfig",
     "logging.basicConfig(level=True)", "def f():\n    logging.basicConfig(level=10)"],
)  # fmt: skip
def test_other_settings_of_a_log_stay(line: str) -> None:
    source = _with(line, imports="import logging\nimport torch")
    assert unwrapped(source) == source


def test_a_switch_of_gradients_is_no_grad_under_with() -> None:
    body = "def f(x):\n    with torch.set_grad_enabled(False), g():\n        return x"
    assert unwrapped(_with(body)) == _with(body.replace("set_grad_enabled(False)", "no_grad()"))


@pytest.mark.parametrize(
    "line",
    ["torch.set_grad_enabled(False)", "with torch.set_grad_enabled(True):\n    pass", "f = torch.set_grad_enabled",
     "with torch.set_grad_enabled(False) as f:\n    pass", "with torch.set_grad_enabled(g()):\n    pass",
     "with f(torch.set_grad_enabled(False)):\n    pass", "@torch.set_grad_enabled(False)\ndef f(x):\n    return x"],
)  # fmt: skip
def test_other_switches_of_gradients_stay(line: str) -> None:
    source = _with(line)
    assert unwrapped(source) == source


OP = '@torch.library.{made}("mine::relu_", mutates_args={changed})\n'
RELU = "def relu_(x: torch.Tensor) -> torch.Tensor:\n    wrap_triton(kernel)[grid](x)\n    return x\n"
FAKE = "@relu_.register_fake\ndef _(x):\n    return torch.empty_like(x)\n"
LIBRARY = "import torch\nfrom torch.library import wrap_triton"


def _op(made: str = "custom_op", changed: str = "()", after: str = FAKE, decorator: str = OP, body: str = RELU) -> str:
    return _with(decorator.format(made=made, changed=changed) + body + after, imports=LIBRARY)


@pytest.mark.parametrize("made", ["custom_op", "triton_op"])
@pytest.mark.parametrize("changed", ["()", "{}", "('x',)", "{'x'}", "'unknown'"])
def test_operators_of_its_own_are_functions(made: str, changed: str) -> None:
    source = _op(made, changed, f"{FAKE}\ny = torch.ops.mine.relu_(1) + torch.ops.mine.relu_.default(2)")
    found = unwrapped(source)
    assert len(found.splitlines()) == len(source.splitlines())
    assert "def _(" not in found and "library" not in found and "wrap_triton" not in found
    assert "relu_(1) + relu_(2)" in found and "    (kernel)[grid](x)" in found


@pytest.mark.parametrize("mark", ['@torch.library.register_fake("mine::relu_")', "@register('mine::relu_')"])
def test_fakes_may_be_registered_by_name(mark: str) -> None:
    source = _op(after=f"from torch.library import register_fake as register\n{mark}\ndef other(x):\n    return x")
    assert "def other" not in unwrapped(source) and "library" not in unwrapped(source)


@pytest.mark.parametrize(
    "after",
    ["relu_.register_autograd(f)", "relu_.kept = 1", "relu_ = 1",
     "@relu_.register_kernel('cpu')\ndef _(x):\n    return x", "from math import sqrt as relu_",
     f"{FAKE}y = _", "@relu_.register_fake\ndef ModelNew(x):\n    return x",
     "@relu_.register_fake\n@f\ndef _(x):\n    pass", "@relu_.register_fake\ndef _(x=f()):\n    pass",
     "def f(relu_):\n    pass", "f = relu_.register_fake",
     OP.format(made="custom_op", changed="()") + "def twice(x: int) -> int:\n    return x"],
)  # fmt: skip
def test_operators_that_do_more_stay(after: str) -> None:
    assert "library.custom_op" in unwrapped(_op(after=after))


@pytest.mark.parametrize(
    "decorator",
    ['@torch.library.custom_op("aten::relu_", mutates_args=())\n', "@torch.library.custom_op(name, mutates_args=())\n",
     '@torch.library.custom_op("mine::relu_", mutates_args=f())\n', '@torch.library.custom_op("mine::relu_")\n',
     '@torch.library.custom_op("mine::relu_", mutates_args=(), device_types="cpu")\n', f"@f\n{OP}",
     '@torch.library.custom_op("mine::relu_", f, mutates_args=())\n', '@torch.library.impl("mine::relu_", "CPU")\n'],
)  # fmt: skip
def test_other_decorators_of_the_library_stay(decorator: str) -> None:
    assert "torch.library" in unwrapped(_op(decorator=decorator, after=""))


def test_operators_without_types_are_none() -> None:
    assert "custom_op" in unwrapped(_op(body="def relu_(x) -> torch.Tensor:\n    return x\n"))


def test_other_operators_are_not_resolved() -> None:
    last = "y = torch.ops.aten.mm(1, 2) + torch.ops.mine.other(1) + torch.ops.mine.relu_.out(1) + mine.relu_(1)"
    assert last in unwrapped(_op(after=f"{FAKE}import mine\n{last}"))


@pytest.mark.parametrize("stream", ["sys.stderr", "sys.stdout", "err"])
def test_a_stream_to_print_to_is_left_out(stream: str) -> None:
    imports = "import torch\nimport sys\nfrom sys import stderr as err"
    source = _with(
        "def tell(x):\n    print('shape', x.shape,\n          file=" + stream + ", flush=True)", imports=imports
    )
    assert f"file={stream}" not in unwrapped(source) and "file=None, flush=True" in unwrapped(source)
    assert len(unwrapped(source).splitlines()) == len(source.splitlines())


@pytest.mark.parametrize(
    "line",
    ["print('x', file=sys.modules)", "print('x', file=open('y', 'w'))", "print('x', file=sys.stderr.buffer)",
     "def print(*x, file):\n    return file\nprint(file=sys.stderr)", "sys = 3\nprint(file=sys.stderr)",
     "tell(file=sys.stderr)", "x = sys.stderr"],
)  # fmt: skip
def test_other_files_and_other_prints_stay(line: str) -> None:
    source = _with(line, imports="import torch\nimport sys")
    assert unwrapped(source) == source


@pytest.mark.parametrize(
    "line",
    ["import importlib", "import subprocess as work", "from tqdm import tqdm", "from yaml import safe_load"],
)
def test_imports_that_nothing_uses_are_left_out(line: str) -> None:
    assert unwrapped(_with(line)) == _with("pass")


def test_an_import_of_a_part_of_torch_binds_torch() -> None:
    assert unwrapped(_with("import torch.linalg")) == _with("import torch")


@pytest.mark.parametrize(
    "lines",
    [("import importlib", "importlib.reload(torch)"), ("from os.path import *",), ("import mine as work", "work = 3"),
     ("import importlib, math",), ("from . import mine",), ("import math",), ("import torch.nn",)],
)  # fmt: skip
def test_imports_that_are_used_or_may_be_stay(lines: tuple[str, ...]) -> None:
    assert unwrapped(_with(*lines)) == _with(*lines)


COMPARED = """import importlib
import operator
import triton
from packaging.version import Version


def compare_version(package: str, operator: object, target: str) -> bool:
    try:
        pkg = importlib.import_module(package)
    except ImportError:
        return False
    pkg_version = Version(pkg.__version__)
    return operator(pkg_version, Version(target))


NEW = compare_version("triton", operator.ge, "3.0.0")
"""


def test_a_comparison_of_tritons_version_imports_nothing_by_name() -> None:
    found = unwrapped(COMPARED)
    assert "importlib" not in found and "Version(triton.__version__)" in found
    assert found.count("\n") == COMPARED.count("\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [('("triton"', '("torch"'), ('("triton"', '(NAME or "triton"'),
     ("    return operator(", "    pkg.x\n    return operator("),
     ("import triton\n", "import triton\n\ntriton = 1\n"), ("NEW =", "other = compare_version\nNEW ="),
     ("import importlib", "import os as importlib"), ("return False", "return True")],
)  # fmt: skip
def test_a_comparison_of_other_versions_stays(old: str, new: str) -> None:
    source = COMPARED.replace(old, new, 1)
    assert source != COMPARED
    assert unwrapped(source) == source
