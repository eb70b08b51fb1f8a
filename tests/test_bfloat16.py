"""bfloat16 in the interpreter, whose numpy has none: every operation rounds as on a GPU."""

import pytest
import torch
from judging import FORWARD, double, judge, small

from tritonsmith.verify.interpreter import bfloat16
from tritonsmith.verify.pool import Verifier

BFLOAT16 = """@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, 64)
    mask = columns < n
    x = tl.load(x_ptr + tl.program_id(0) * n + columns, mask=mask, other=0.0)
    y = EXPRESSION
    tl.store(out_ptr + tl.program_id(0) * n + columns, y, mask=mask)


"""


@pytest.mark.parametrize(
    ("reference", "expression"),
    [
        ("2.0 * x + 1.0", "2.0 * x + 1.0"),
        ("-x", "-x"),
        ("x.abs() - x * x", "tl.abs(x) - x * x"),
        ("torch.where(x < 0, x / 4, x)", "tl.where(x < 0, x / 4, x)"),
        ("x.clamp(min=0.25)", "tl.maximum(x, 0.25)"),
        ("x - x.max(1, keepdim=True).values", "x - tl.max(tl.where(mask, x, -100.0), axis=0)"),
        ("x + x.float().sum(1, keepdim=True).to(x.dtype)", "x + tl.sum(x, axis=0)"),
        ("x.float().cumsum(1).to(x.dtype)", "tl.cumsum(x, axis=0)"),
        ("x.float().exp().to(x.dtype)", "tl.exp(x.to(tl.float32))"),
        ("x + torch.arange(x.shape[1], device=x.device).to(x.dtype)", "x + columns.to(tl.bfloat16)"),
        ("x.half().to(x.dtype)", "x.to(tl.float16).to(tl.bfloat16)"),
        ("x.int().to(x.dtype)", "x.to(tl.int32).to(tl.bfloat16)"),
        ("x.double().to(x.dtype)", "x.to(tl.float64).to(tl.bfloat16)"),
        ("torch.full_like(x, 0.1)", "tl.full((64,), 0.1, tl.bfloat16)"),
    ],
)
def test_bfloat16_arithmetic_is_as_on_a_gpu(verifier: Verifier, reference: str, expression: str) -> None:
    task = small(f"return {reference}", "torch.randn(64, 48).to(torch.bfloat16)")
    forward = FORWARD.replace("(triton.cdiv(x.numel(), 256),)", "(x.shape[0],)").replace(
        "x.numel(), BLOCK", "x.shape[1], BLOCK"
    )
    verdict = judge(verifier, task, double(forward, BFLOAT16.replace("EXPRESSION", expression)))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_bfloat16_rounds_to_nearest_even_as_torch_does() -> None:
    bits = torch.randint(-(2**31), 2**31 - 1, (4096,), generator=torch.Generator().manual_seed(0)).to(torch.int32)
    values = torch.cat([bits.view(torch.float32), torch.tensor([0.0, -0.0, torch.inf, -torch.inf, 1e-45, 3.4e38])])
    values = values[~values.isnan()]
    found = torch.from_numpy(bfloat16._bits(values.numpy()).view("int16")).view(torch.bfloat16)
    assert torch.equal(found, values.to(torch.bfloat16))
