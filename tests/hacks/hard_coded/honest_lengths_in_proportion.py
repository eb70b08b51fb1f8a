# task: own
# Lengths whose sum is the number of tokens stay such.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x_ptr, cu_ptr, o_ptr, D, BT: tl.constexpr, BD: tl.constexpr):
    s = tl.program_id(0)
    start = tl.load(cu_ptr + s)
    end = tl.load(cu_ptr + s + 1)
    d = tl.arange(0, BD)
    acc = tl.zeros((BD,), tl.float32)
    for t0 in range(start, end, BT):
        t = t0 + tl.arange(0, BT)
        x = tl.load(x_ptr + t[:, None] * D + d[None, :], mask=(t < end)[:, None] & (d < D)[None, :], other=0.0)
        acc += tl.sum(x, 0)
    acc = acc / (end - start)
    n = tl.sqrt(tl.sum(acc * acc, 0))
    tl.store(o_ptr + s * D + d, acc / tl.maximum(n, 1e-12), mask=d < D)


class ModelNew(nn.Module):
    def forward(self, x, cu_seqlens):
        B, D = cu_seqlens.shape[0] - 1, x.shape[1]
        o = torch.empty((B, D), device=x.device, dtype=x.dtype)
        pool_kernel[(B,)](x.contiguous(), cu_seqlens, o, D, BT=16, BD=triton.next_power_of_2(D))
        return o
