"""Fallbacks for tensors that are not on a GPU may compute in torch, and nothing else may."""

import pytest
from judging import FORWARD, HEAD, KERNEL

from tritonsmith.verify.policy import check_source

INIT = """    def __init__(self):
        super().__init__()
        self.flag = torch.zeros(1)
        self.lin = nn.Linear(3, 3)

"""


def _rules(test: str, head: str = "") -> set[str]:
    fallback = f"        if {test}:\n            return torch.mul(x, 2.0)\n"
    model = f"class ModelNew(nn.Module):\n{INIT}    def forward(self, x):\n{fallback}{FORWARD}"
    return {finding.rule for finding in check_source(f"{HEAD}{KERNEL}{head}{model}", "strict")}


@pytest.mark.parametrize(
    "test",
    [
        "not x.is_cuda",
        "x.is_cpu",
        "x.device.type != 'cuda'",
        "x.device == torch.device('cpu')",
        "not (x.is_cuda and torch.cuda.is_available())",
        "not x.is_cuda or not self.lin.weight.is_cuda",
        "x.device.type not in ('cuda', 'hip')",
    ],
)
def test_a_fallback_for_the_host_may_use_torch(test: str) -> None:
    assert _rules(test) == set()


@pytest.mark.parametrize(
    "test",
    [
        "not self.flag.is_cuda",
        "self.flag.device.type != 'cuda'",
        "FLAG.device != x.device",
        "not x.is_cuda or x.numel() > 100_000_000",
        "not (x.is_cuda and x.is_contiguous())",
        "x.device.type != self.kind",
    ],
)
def test_a_fallback_that_a_user_may_meet_on_a_gpu_may_not(test: str) -> None:
    assert _rules(test, head="FLAG = torch.zeros(1)\n\n\n") == {"torch-compute"}
