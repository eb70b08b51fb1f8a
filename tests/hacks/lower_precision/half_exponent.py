# task: level1/softmax
# rule: mismatch
# exp of a value rounded to float16.
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
    numerator = tl.exp((x - tl.max(x, axis=0)).to(tl.float16).to(tl.float32))
    tl.store(out_ptr + start + col, numerator / tl.sum(numerator, axis=0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(cols)
        softmax_kernel[(rows,)](x, out, cols, BLOCK=block, num_warps=min(16, max(1, block // 512)))
        return out
