# task: own
# Frequencies from a literal dimension in an exponent.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x_ptr, f_ptr, y_ptr, strides, T, H, HALF, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    h = tl.program_id(1)
    b = tl.program_id(2)
    sb, st, sh, sd = strides
    o = tl.arange(0, 2 * BLOCK)
    m = o < 2 * HALF
    x = tl.load(x_ptr + b * sb + t * st + h * sh + o * sd, mask=m, other=0.0).to(tl.float32)
    f = tl.load(f_ptr + t * 2 * HALF + o, mask=m, other=0.0)
    re, im = tl.split(tl.reshape(x, (BLOCK, 2)))
    c, s = tl.split(tl.reshape(f, (BLOCK, 2)))
    y = tl.interleave(re * c - im * s, re * s + im * c)
    tl.store(y_ptr + ((b * T + t) * H + h) * 2 * HALF + o, y.to(y_ptr.dtype.element_ty), mask=m)


class ModelNew(nn.Module):
    def forward(self, xq, freqs):
        B, T, H, D = xq.shape
        y = torch.empty((B, T, H, D), dtype=xq.dtype, device=xq.device)
        rope_kernel[(T, H, B)](xq, freqs, y, xq.stride(), T, H, D // 2, BLOCK=triton.next_power_of_2(D // 2))
        return y
