"""The compile stage without a GPU: launches at the task's own sizes, on tensors without data."""

import pytest
from judging import DOUBLE, FORWARD, KERNEL, double, judge

from tritonsmith.types import Task, Verdict
from tritonsmith.verify.pool import Verifier

LARGE = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("(64, 48)", "(65536, 4096)")})
"""1 GiB of inputs, which nothing here allocates."""
ROWS = """        out = torch.empty_like(x)
        for row in range(x.shape[0]):
            double_kernel[(1,)](x[row], out[row], x.shape[1], BLOCK=4096)
        return out
"""
ONE_BLOCK = """        out = torch.empty_like(x)
        double_kernel[(1,)](x, out, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
        return out
"""
BLOCK_BY_SIZE = """        out = torch.empty_like(x)
        block = 1024 if x.numel() > 1000000 else 64
        double_kernel[(triton.cdiv(x.numel(), block),)](x, out, x.numel(), BLOCK=block)
        return out
"""


def _compiled(verdict: Verdict) -> str:
    return next(stage.detail for stage in verdict.stages if stage.name == "compile")


def _judge(verifier: Verifier, forward: str, task: Task = LARGE) -> Verdict:
    verdict = judge(verifier, task, double(forward))
    assert verdict.stages, verdict.findings
    return verdict


def test_launches_are_those_of_the_tasks_own_sizes(verifier: Verifier) -> None:
    task = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("(64, 48)", "(300, 4096)")})
    verdict = _judge(verifier, ROWS, task)
    assert verdict.correct, verdict.findings
    assert sum(kernel.launches for kernel in verdict.kernels) == 300
    assert "at the task's own sizes" in _compiled(verdict)


def test_a_block_that_no_gpu_has_is_refused(verifier: Verifier) -> None:
    verdict = _judge(verifier, ONE_BLOCK)
    assert not verdict.compiled
    assert verdict.findings[0].line is not None


def test_each_launch_costs_the_prediction(verifier: Verifier) -> None:
    whole, rows = (_judge(verifier, forward) for forward in (FORWARD, ROWS))
    assert whole.timing is not None
    assert rows.timing is not None
    # Of 65,536 launches of 3 us each 4,096 are captured; the other way is one launch that streams 2 GiB.
    assert rows.timing.candidate_ms > 20 * whole.timing.candidate_ms


def test_a_choice_by_size_is_seen_at_both_sizes(verifier: Verifier) -> None:
    verdict = _judge(verifier, BLOCK_BY_SIZE)
    assert verdict.correct, verdict.findings


@pytest.mark.parametrize(
    "look",
    [
        "scale = x.flatten()[0].item()",
        "first = x.flatten()[:2].tolist()",
        "assert x.isfinite is not None and x[0].tolist()",
    ],
)
def test_who_looks_at_values_is_launched_on_zeros_of_the_tasks_own_sizes(verifier: Verifier, look: str) -> None:
    small = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("(64, 48)", "(4, 3)")})
    verdict = _judge(verifier, f"        {look}\n{FORWARD}", small)
    assert verdict.compiled, verdict.findings
    assert "at the task's own sizes" in _compiled(verdict)


def test_the_device_is_still_called_cuda(verifier: Verifier) -> None:
    check = (
        "        assert x.is_cuda and x.device.type == 'cuda'\n"
        "        assert torch.empty(4, device='cuda').is_cuda\n"
        "        scratch = torch.zeros(x.shape, device=x.device, dtype=x.dtype).to('cuda')\n"
    )
    verdict = _judge(verifier, check + FORWARD)
    assert verdict.correct, verdict.findings
    assert "at the task's own sizes" in _compiled(verdict)


def test_a_candidate_that_prepares_its_weights_is_captured_too(verifier: Verifier) -> None:
    source = double(FORWARD, KERNEL).replace(
        "    def forward(self, x):\n",
        "    def __init__(self):\n        super().__init__()\n        self.scale = nn.Parameter(torch.ones(512, 512))\n"
        "        self.half = self.scale.detach().to(torch.float16).t().contiguous()\n\n    def forward(self, x):\n",
    )
    verdict = judge(verifier, LARGE, source)
    assert verdict.correct, verdict.findings
    assert "at the task's own sizes" in _compiled(verdict)
