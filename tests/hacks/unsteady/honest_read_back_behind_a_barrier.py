# task: level1/softmax
# Other threads read back what a tile stored, once all have stored it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x = tl.load(x_ptr + start + col, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + start + col, numerator, mask=mask)
    tl.debug_barrier()
    back = BLOCK - 1 - col
    total = tl.sum(tl.load(out_ptr + start + back, mask=back < cols, other=0.0), axis=0)
    tl.store(out_ptr + start + col, numerator / total, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty_like(x)
        softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
