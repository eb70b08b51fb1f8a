# task: own
# rule: race
# device: cpu
# Into the shape that it has nothing moves, and no thread waits for another.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def flip_kernel(x, out, scratch, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    m = o < n
    v = tl.load(x + row * n + o, mask=m, other=0.0)
    tl.store(scratch + row * n + o, tl.maximum(v, 0.0), mask=m)
    w = tl.reshape(v, [BLOCK])  # nothing at all when compiled: no barrier
    back = tl.load(scratch + row * n + (n - 1 - o), mask=m, other=0.0)
    tl.store(out + row * n + o, w + back, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, n = x.shape
        out = torch.empty_like(x)
        scratch = torch.empty_like(x)
        flip_kernel[(rows,)](x, out, scratch, n, BLOCK=triton.next_power_of_2(n), num_warps=8)
        return out
