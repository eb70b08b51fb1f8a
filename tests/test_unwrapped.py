"""What is taken out of a candidate's source before it is judged, and what is left for the rules to refuse."""

import ast

import pytest
from judging import double

from tritonsmith.verify.unwrapped import unwrapped

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
     f"{BENCHMARK}\nfrom mine import *", f"{BENCHMARK}\ntry:\n    pass\nexcept E as torch:\n    pass", f"{BENCHMARK}\ndel torch"],
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
