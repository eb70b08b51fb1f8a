# task: own
# rule: mismatch
# A probability of zero has no logarithm: for one class alone the divergence is no number.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def divergence_kernel(log_p_ptr, q_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    log_p = tl.load(log_p_ptr + row * cols + c, mask=mask, other=0.0)
    q = tl.load(q_ptr + row * cols + c, mask=mask, other=1.0)
    tl.store(out_ptr + row, tl.sum(tl.where(mask, q * (tl.log(q) - log_p), 0.0), axis=0))


class ModelNew(nn.Module):
    def forward(self, log_p, q):
        log_p = log_p.contiguous()
        q = q.contiguous()
        rows, cols = log_p.shape
        out = torch.empty(rows, device=log_p.device, dtype=log_p.dtype)
        divergence_kernel[(rows,)](log_p, q, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
