# task: own
# A large number stands for minus infinity: a row of which nothing is kept is nobody's question.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def weigh_kernel(scores_ptr, keep_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    keep = tl.load(keep_ptr + row * cols + c, mask=mask, other=0.0)
    x = tl.load(scores_ptr + row * cols + c, mask=mask & (keep != 0), other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    weights = e / tl.sum(e, axis=0)
    tl.store(out_ptr + row, tl.sum(weights * keep, axis=0) / tl.maximum(tl.sum(keep, axis=0), 1.0))


class ModelNew(nn.Module):
    def forward(self, scores, keep):
        scores = scores.contiguous()
        keep = keep.contiguous()
        rows, cols = scores.shape
        out = torch.empty(rows, device=scores.device, dtype=scores.dtype)
        weigh_kernel[(rows,)](scores, keep, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
