"""What a source's text proves of its counting calls: plain launches are proven, whatever could keep a number is not."""

import pytest
from judging import FORWARD, double
from labelled import cases

from tritonsmith.verify.policy import check_source
from tritonsmith.verify.static.stateless import keeps_nothing
from tritonsmith.verify.static.unwrapped import unwrapped
from tritonsmith.verify.tried import _said

PLAIN = """
import torch
import torch.nn as nn
import triton
import triton.language as tl

SCALE = 2.0

@triton.jit
def kernel(x_ptr, o_ptr, n, F, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, F * tl.load(x_ptr + at, mask=at < n), mask=at < n)

def launch(x):
    out = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(out.numel(), meta["BLOCK"]),)](x, out, out.numel(), SCALE, BLOCK=256)
    return out

class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.BatchNorm2d(size).eval()
        self.scale = nn.Parameter(torch.randn(size) * 0.1)
        self.size = size

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError(f"four dimensions, not {x.dim()}")
        for part in x.chunk(2, dim=1):
            y = launch(part.contiguous())
        return y.view(-1, self.size)
"""


def changed(*pairs: tuple[str, str]) -> str:
    source = PLAIN
    for old, new in pairs:
        assert old in source
        source = source.replace(old, new)
    return source


def test_sizes_fresh_memory_and_launches_are_proven() -> None:
    assert keeps_nothing(PLAIN)


@pytest.mark.parametrize(
    "pairs",
    [
        [("        for part in", "        self.size = self.size + 1\n        for part in")],
        [("        for part in", "        self.size += 1\n        for part in")],
        [("        for part in", "        self.scale[0] = 1.0\n        for part in")],
        [("        for part in", "        self.scale.add_(1)\n        for part in")],
        [("        for part in", "        seen.append(1)\n        for part in"), ("SCALE = 2.0", "seen = []")],
        [("out = torch.empty_like(x)", "global SCALE\n    SCALE = SCALE + 1\n    out = torch.empty_like(x)")],
        [("torch.empty_like(x)", "torch.full((1,), 1.0, out=x)")],
        [("torch.empty_like(x)", "torch.empty_like(x, **{'out': x})")],
        [("torch.empty_like(x)", "torch.rand_like(x)")],
        [("def launch(x):", "def launch(x, kept=[]):")],
        [("def launch(x):", "@wrapped\ndef launch(x):")],
        [("@triton.jit", "@triton.autotune(configs=[], key=[])\n@triton.jit")],
        [("y = launch(part.contiguous())", "y = launch(self.norm(part))")],
        [("x.chunk(2, dim=1)", "iter(x.chunk(2, dim=1))")],
        [("x.dim() != 4", "next(self.size) > 4")],
        [("x.dim() != 4", "x._version > 4")],
        [("x.dim() != 4", "x.data_ptr() > 4")],
        [("        self.size = size", "        self.size = iter(size)")],
        [("        self.size = size", "        self.size = size\n        self.register_forward_pre_hook(print)")],
        [("    def forward", "    def __getattr__(self, name):\n        return 1\n\n    def forward")],
        [("class ModelNew(nn.Module):", "class ModelNew(launch):")],
        [("import torch\n", "import torch\nimport itertools\n")],
        [("for part in", "len = self.size\n        for part in")],
        [("SCALE = 2.0", "from triton.language.extra import libdevice as len")],
        [("class ModelNew", "class Other:\n    pass\n\nclass ModelNew")],
        [("        for part in", "        while x.dim():\n            pass\n        for part in")],
    ],
)  # fmt: skip
def test_whatever_could_keep_a_number_is_not(pairs: list[tuple[str, str]]) -> None:
    assert not keeps_nothing(changed(*pairs))


def test_text_that_is_no_python_is_not() -> None:
    assert not keeps_nothing("def")


IN_KERNELS = {
    "caching/counter_of_a_hundred_thousand_programs",
    "caching/counter_of_floats_by_rows",
    "caching/counter_of_floats_in_a_kernel",
    "caching/weight_prepared_where_a_kernel_sees_none",
}
"""What kernels keep, in memory that they are given: `dynamic.kept` looks for that there, whatever the text proves."""


def test_no_cheat_that_keeps_an_answer_is_proven() -> None:
    keeping = [one for one in cases() if not one.honest and "cache" in one.expected and one.id not in IN_KERNELS]
    assert len(keeping) > 20
    assert [one.id for one in keeping if keeps_nothing(unwrapped(one.path.read_text()))] == []


def test_a_source_nested_too_deeply_proves_nothing_and_is_refused() -> None:
    # It ended the whole batch: this is asked before any stage.
    deep = double(FORWARD.replace("return out", f"q = {'+'.join(['1'] * 600)}\n        return out"))
    assert not keeps_nothing(deep)
    assert {one.rule for one in check_source(deep, "strict")} == {"syntax"}


def test_what_cannot_be_written_out_again_is_looked_at_as_it_is() -> None:
    long = "x = y" + ".contiguous()" * 300
    assert _said(long) == long
