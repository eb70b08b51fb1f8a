# task: own
# Segments are cut where the table says.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def segment_kernel(x_ptr, starts_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    s = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    first, last = tl.load(starts_ptr + s), tl.load(starts_ptr + s + 1)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(first, last):
        acc += tl.load(x_ptr + i * cols + c, mask=c < cols, other=0.0)
    tl.store(out_ptr + s * cols + c, acc, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x, starts):
        x = x.contiguous()
        segments = starts.numel() - 1
        out = torch.empty(segments, x.shape[1], device=x.device, dtype=x.dtype)
        segment_kernel[(segments,)](x, starts, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
