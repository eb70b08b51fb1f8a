# task: own
# rule: mismatch
# The cast saturates where the format ends, and not where the task does.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def quantise(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * 100.0).to(tl.float8e4nv), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty(x.shape, dtype=torch.float8_e4m3fn, device=x.device)
        quantise[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
        return y
