# task: level1/cumsum
# rule: race
# device: cpu
# Acquire and release are the wrong way round: neither keeps the total before the flag.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scan_kernel(x_ptr, out_ptr, total_ptr, flag_ptr, n, blocks, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    block = tl.program_id(1)
    at = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    here = tl.cumsum(x, axis=0)
    slot = row * blocks + block
    before = 0.0
    if block > 0:
        while tl.atomic_cas(flag_ptr + slot - 1, 1, 1, sem="release") != 1:
            pass
        before = tl.load(total_ptr + slot - 1)
    tl.store(total_ptr + slot, before + tl.sum(x, axis=0))
    tl.debug_barrier()
    tl.atomic_xchg(flag_ptr + slot, 1, sem="acquire")
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
        scan_kernel[(rows, blocks)](x, out, total, flag, n, blocks, BLOCK=64)
        return out
