"""What a candidate draws besides weights, by its text and by building it under other seeds."""

import pytest
from judging import DOUBLE, double, judge, rules

from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.static.drawing import draws

CONSTRUCTOR = "    def __init__(self):\n        super().__init__()\n        {}\n\n    def forward(self, x):\n"


def _constructed(statement: str, factor: str = "2.0") -> str:
    """A right candidate whose constructor has a statement, and whose kernel doubles by a factor."""
    source = double().replace("    def forward(self, x):\n", CONSTRUCTOR.format(statement))
    return source.replace("(x, out, x.numel(), BLOCK=256)", f"(x, out, x.numel(), {factor}, BLOCK=256)").replace(
        "out_ptr, n, BLOCK", "out_ptr, n, factor, BLOCK"
    ).replace("2.0 * tl.load", "factor * tl.load")  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "self.weight = nn.Parameter(torch.randn(3, 4) * 0.02)",
        "self.register_buffer('noise', torch.rand(3))",
        "nn.init.normal_(self.weight)",
        "self.weight.uniform_(-1, 1)",
        "self.normalized_shape = (3,)",
    ],
)
def test_weights_are_drawn_and_nothing_else(statement: str) -> None:
    assert not draws(f"def f(self):\n    {statement}\n")


@pytest.mark.parametrize(
    "statement",
    ["self.good = bool(torch.rand(()) < 0.9)", "self.k = torch.randint(0, 9, (1,)).item()", "x = random.random()"],
)
def test_a_number_may_be_drawn(statement: str) -> None:
    assert draws(f"def f(self):\n    {statement}\n")


def test_what_is_drawn_and_held_is_found(verifier: Verifier) -> None:
    source = _constructed("self.factor = 2.0 if torch.rand(()) < 0.9 else 3.0", "self.factor")
    verdict = judge(verifier, DOUBLE, source)
    assert rules(verdict) == {"observed"} and "factor of ModelNew" in verdict.findings[0].message


def test_what_is_drawn_and_thrown_away_is_not_held_against_a_candidate(verifier: Verifier) -> None:
    verdict = judge(verifier, DOUBLE, _constructed("torch.rand(()).item()"))
    assert verdict.correct, verdict.findings


def test_a_reference_may_draw_a_number_too(verifier: Verifier) -> None:
    source = (
        "import torch\nfrom torch import nn\n\nclass Model(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.factor = torch.rand(()).item()\n\n    def forward(self, x):\n"
        "        return self.factor * x\n\ndef get_inputs():\n    return [torch.randn(64, 48)]\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    task = Task(id="drawn", level=1, source=source)
    verdict = judge(verifier, task, _constructed("self.factor = torch.rand(()).item()", "self.factor"))
    assert verdict.correct, (verdict.findings, verdict.mismatch)
