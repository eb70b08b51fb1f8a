# task: own
# Complex products on pairs of floats; in half precision torch itself can hardly do it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(re, im, o, p, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(re + i, m)
    b = tl.load(im + i, m)
    tl.store(o + 2 * i, a * a + b * b, m)
    tl.store(o + 2 * i + 1, tl.zeros_like(a), m)
    z = tl.join(a * a - b * b, 2 * a * b)
    j = i[:, None] * 2 + tl.arange(0, 2)[None, :]
    tl.store(p + j, z, m[:, None])


class ModelNew(nn.Module):
    def forward(self, re, im):
        re, im = re.contiguous(), im.contiguous()
        o = torch.empty((*re.shape, 2), dtype=re.dtype, device=re.device)
        p = torch.empty_like(o)
        k[(triton.cdiv(re.numel(), 256),)](re, im, o, p, re.numel(), BLOCK=256)
        return torch.view_as_complex(o), p
