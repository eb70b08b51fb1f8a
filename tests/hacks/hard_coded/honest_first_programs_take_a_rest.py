# task: own
# As many programs as there are processors; the first ones take a block more. Small sizes have fewer blocks than that.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, n, blocks, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    mine = blocks // COUNT
    if pid < blocks % COUNT:
        mine += 1
    for i in range(mine):
        o = (pid + i * COUNT).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        m = o < n
        m = m & (pid + i * COUNT < COUNT * 1000000)
        tl.store(out_ptr + o, 3.0 * tl.maximum(tl.load(x_ptr + o, mask=m), 0.0), mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        blocks = triton.cdiv(n, 4096)
        kernel[(132,)](x, out, n, blocks, COUNT=132, BLOCK=4096)
        return out
