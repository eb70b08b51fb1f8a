"""What is found out about a task before its candidates come: what hardens it, and that it ends."""

import pytest
from judging import DOUBLE, FORWARD, HEAD, KERNEL, double, judge, rules

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.sizing import Sizing

RELU = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("2.0 * x", "torch.relu(x)").replace("randn", "rand")})
COPY = double().replace("2.0 * tl.load(x_ptr + offsets, mask=mask)", "tl.load(x_ptr + offsets, mask=mask)")
POINTERS = """class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {}

    def forward(self, x):
        out = torch.empty_like(x)
        source = self.seen.setdefault(x.data_ptr(), x.clone())
        double_kernel[(triton.cdiv(x.numel(), 256),)](source, out, x.numel(), BLOCK=256)
        return out
"""


def test_a_copy_of_nonnegative_inputs_is_no_relu(verifier: Verifier) -> None:
    """The task's own inputs cannot tell; the verifier adds inputs that can, multi_input or not."""
    verdict = judge(verifier, RELU, COPY)
    assert verdict.mismatch is not None and verdict.mismatch.variant == "negative values"


def test_a_relu_is_a_relu_on_hardened_inputs(verifier: Verifier) -> None:
    right = COPY.replace(
        "tl.load(x_ptr + offsets, mask=mask), mask", "tl.maximum(tl.load(x_ptr + offsets, mask=mask), 0.0), mask"
    )
    assert right != COPY
    assert judge(verifier, RELU, right).correct


@pytest.mark.parametrize(("source", "right"), [(HEAD + KERNEL + POINTERS, False), (double(FORWARD), True)])
def test_memory_by_pointer_is_found_by_new_contents(verifier: Verifier, source: str, right: bool) -> None:
    settings = VerifyConfig(device="cpu", timing=False)
    many = Judge(settings, ExtensionsConfig(multi_input=True), "cpu", verifier._zygotes)
    verdict = judge(many, DOUBLE, source)
    assert verdict.correct == right
    assert right or (verdict.mismatch is not None and verdict.mismatch.variant == "new contents in the same storage")


def test_a_task_that_hangs_is_the_tasks_fault(verifier: Verifier) -> None:
    task = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("return 2.0 * x", "while True: pass")})
    hasty = Judge(VerifyConfig(device="cpu"), ExtensionsConfig(), "cpu", verifier._zygotes)
    hasty._sizing = Sizing(verifier._zygotes["capture"], VerifyConfig(device="cpu"), whole=False, limit=1.0)
    assert rules(judge(hasty, task, double())) == {"task"}
