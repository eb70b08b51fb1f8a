# task: own
# rule: race
# device: cpu
# Each program reads what the one before stores, and waits for nothing: volatile orders nothing.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x, out, carry, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = pid * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    v = tl.load(x + o, mask=m, other=0.0)
    s = tl.cumsum(v, 0)
    before = 0.0
    if pid > 0:
        before = tl.load(carry + pid - 1, volatile=True)
    tl.store(carry + pid, before + tl.sum(v, 0))
    tl.store(out + o, s + before, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        blocks = triton.cdiv(n, 256)
        carry = torch.empty(blocks, device=x.device, dtype=torch.float32)
        scan_kernel[(blocks,)](x, out, carry, n, BLOCK=256)
        return out
