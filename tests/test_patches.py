"""Which assignments may change an imported module or class, and which may not."""

import ast

import pytest

from tritonsmith.types import Finding
from tritonsmith.verify.static.module import Module
from tritonsmith.verify.static.patches import patches

HEAD = "import math\nimport torch\nimport triton\nfrom torch import Tensor as T\nfrom torch import nn\n\n"


def found(body: str) -> list[Finding]:
    """What is found in a file that begins with imports."""
    return list(patches(Module(ast.parse(HEAD + body))))


@pytest.mark.parametrize(
    "body",
    [
        "torch.Tensor.relu = f",
        "T.relu = f",
        "math.exp = f",
        "torch.inf += 1",
        "del torch.Tensor.relu",
        "for torch.Tensor.relu in [f]: pass",
        "K = torch.Tensor\nK.relu = f",
        "K = torch.Tensor\nK.calls += 1",
        "a = b = torch.Tensor\nb.relu = f",
        "a, b = 1, torch.Tensor\nb.relu = f",
        "F = nn\nF.Module.forward = f",
        "L = triton.runtime.JITFunction\nL.run = f",
        "for K in (torch.Tensor, nn.Module):\n    K.forward = f",
        "K = [torch.Tensor][0]\nK.relu = f",
        "d = {}\nd['a'] = torch\nd['a'].relu = f",
        "d = dict(a=torch.Tensor)\nd.get('a').relu = f",
        "(K := torch.Tensor).relu = f",
        "K = torch.Tensor if T else None\nK.relu = f",
        "def g(K):\n    K.relu = f\ng(torch.Tensor)",
        "def g(*, K=torch.Tensor):\n    K.relu = f",
        "def g():\n    return torch.Tensor\ng().relu = f",
        "(lambda: torch.Tensor)().relu = f",
        "class C:\n    K = torch.Tensor\nC.K.relu = f",
        "class C:\n    def __init__(self):\n        self.K = T\n    def g(self):\n        self.K.relu = f",
        "K = 1\ndef g():\n    global K\n    K = torch.Tensor\nK.relu = f",
        "K = J\nJ = torch.Tensor\nK.relu = f",
        "x = torch.empty(1)\ntype(x).relu = f",
        "def g(x):\n    x.__class__.relu = f",
        "layer = nn.Linear(2, 3)\nlayer.__class__.forward = f",
    ],
)
def test_a_change_of_a_library_is_found(body: str) -> None:
    assert [finding.rule for finding in found(body)] == ["patch"]


@pytest.mark.parametrize(
    "body",
    [
        "class C:\n    pass\nC.x = 1\nK = C\nK.x = 2",
        "x = torch.empty(1)\nx.grad = None",
        "layer = nn.Linear(3, 4)\nlayer.bias = None",
        "for layer in nn.ModuleList([nn.Linear(1, 2)]):\n    layer.training = False",
        "def make(kind):\n    return kind(1)\nlayer = make(nn.Linear)\nlayer.bias = None",
        "def g(K):\n    K.x = 1\ng(torch.empty(1))",
        "def g(x: torch.Tensor):\n    x.requires_grad = False",
        "def g(T):\n    T.x = 1\ng(3)",
        "class C(nn.Module):\n    def g(self):\n        self.kind = torch.Tensor\n        type(self).n = 1",
        "def g():\n    pass\ng.calls = 0",
        "s = {'dtype': torch.float32}\nobj = make(s)\nobj.dtype = torch.float16",
        "class C:\n    pass\nc = C()\ntype(c).x = 1",
    ],
)
def test_what_is_ones_own_may_change(body: str) -> None:
    assert found(body) == []


def test_the_line_and_the_name_are_told() -> None:
    (finding,) = found("K = torch.Tensor\nK.relu = f")
    assert (finding.line, finding.message) == (8, "assignment to torch.Tensor.relu")


def test_a_long_chain_of_names_is_followed() -> None:
    chain = "".join(f"a{i} = a{i - 1}\n" for i in range(1, 500))
    assert found(f"a0 = torch.Tensor\n{chain}a499.x = 1")
