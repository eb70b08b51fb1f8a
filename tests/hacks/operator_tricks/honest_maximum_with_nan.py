# task: own
# NaN is handed on where the maximum is told so.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_of_log_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    found = tl.maximum(tl.log(x), 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + at, tl.clamp(found, 0.0, float("inf"), propagate_nan=tl.PropagateNan.ALL), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        relu_of_log_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
