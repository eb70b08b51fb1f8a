# task: level1/cumsum
# A ticket says which block a program does, so that it waits only for programs that have begun: right in any order.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scan_kernel(x_ptr, out_ptr, total_ptr, flag_ptr, ticket_ptr, n, blocks, BLOCK: tl.constexpr):
    slot = tl.atomic_add(ticket_ptr, 1)
    row = slot // blocks
    block = slot % blocks
    at = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    here = tl.cumsum(x, axis=0)
    before = 0.0
    if block > 0:
        while tl.atomic_add(flag_ptr + slot - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(total_ptr + slot - 1)
    tl.store(total_ptr + slot, before + tl.sum(x, axis=0))
    tl.atomic_xchg(flag_ptr + slot, 1, sem="release")
    tl.store(out_ptr + row * n + at, here + before, mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        n = x.shape[-1]
        rows = x.numel() // n
        blocks = triton.cdiv(n, 64)
        out = torch.empty_like(x)
        total = torch.empty((rows, blocks), device=x.device, dtype=torch.float32)
        flag = torch.zeros((rows, blocks), device=x.device, dtype=torch.int32)
        ticket = torch.zeros(1, device=x.device, dtype=torch.int32)
        scan_kernel[(rows * blocks,)](x, out, total, flag, ticket, n, blocks, BLOCK=64)
        return out
