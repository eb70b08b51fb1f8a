# task: own
# Labels are cast to fewer bits, which hold all of them.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def pick_kernel(x_ptr, label_ptr, out_ptr, n, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = row < n
    label = tl.load(label_ptr + row, mask=ok, other=0)
    tl.store(out_ptr + row, 2.0 * tl.load(x_ptr + row * cols + label, mask=ok), mask=ok)


class ModelNew(nn.Module):
    def forward(self, x, labels):
        out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(x.shape[0], 128),)
        pick_kernel[grid](x.contiguous(), labels.to(torch.int32), out, x.shape[0], x.shape[1], BLOCK=128)
        return out
