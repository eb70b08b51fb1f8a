# task: own
# The mask happens to be causal, and is read all the same.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def masked_softmax(x_ptr, mask_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    shown = tl.load(mask_ptr + row % n * n + c, mask=c < n, other=0) != 0
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    x = tl.where(shown, x, -float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n + c, e / tl.sum(e, axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, scores, mask):
        scores = scores.contiguous()
        n = scores.shape[-1]
        out = torch.empty_like(scores)
        block = triton.next_power_of_2(n)
        masked_softmax[(scores.numel() // n,)](scores, mask.contiguous(), out, n, BLOCK=block)
        return out
