# task: own
# Each block of a row waits, by volatile loads, for the sum up to the one before it.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, sum_ptr, flag_ptr, cols, blocks, BLOCK: tl.constexpr):
    row, block = tl.program_id(0) // blocks, tl.program_id(0) % blocks
    c = block * BLOCK + tl.arange(0, BLOCK)
    at = row.to(tl.int64) * cols + c
    here = tl.cumsum(tl.load(x_ptr + at, mask=c < cols, other=0.0), 0)
    total = tl.sum(tl.where(c == block * BLOCK + BLOCK - 1, here, 0.0), 0)
    before = 0.0
    if block > 0:
        while tl.load(flag_ptr + tl.program_id(0) - 1, volatile=True) == 0:
            pass
        before = tl.load(sum_ptr + tl.program_id(0) - 1, volatile=True)
    tl.store(sum_ptr + tl.program_id(0), before + total)
    tl.debug_barrier()
    tl.atomic_xchg(flag_ptr + tl.program_id(0), 1)
    tl.store(y_ptr + at, here + before, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        blocks = triton.cdiv(cols, 1024)
        y = torch.empty_like(x)
        sums = torch.empty(rows * blocks, device=x.device, dtype=x.dtype)
        flag = torch.zeros(rows * blocks, device=x.device, dtype=torch.int32)
        k[(rows * blocks,)](x, y, sums, flag, cols, blocks, BLOCK=1024)
        return y
