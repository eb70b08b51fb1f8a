# task: own
# rule: torch-compute
# A cast to eight bits is the remainder.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def half_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, 0.5 * tl.load(x_ptr + offsets, mask=mask).to(tl.float32), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.to(torch.uint8)
        out = torch.empty(x.shape, device=x.device)
        half_kernel[(triton.cdiv(x.numel(), 1024),)](y, out, x.numel(), BLOCK=1024)
        return out
