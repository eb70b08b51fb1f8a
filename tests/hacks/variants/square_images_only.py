# task: level1/avg_pool2d
# rule: mismatch | out-of-bounds
# Height stands for width.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def pool_kernel(x_ptr, y_ptr, H, W, OH, OW, K: tl.constexpr, BLOCK: tl.constexpr):
    nc = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    oh, ow = at // OW, at % OW
    acc = tl.zeros((BLOCK,), tl.float32)
    for kh in tl.static_range(K):
        for kw in tl.static_range(K):
            acc += tl.load(x_ptr + nc * H * W + (oh * K + kh) * H + ow * K + kw, mask=at < OH * OW, other=0.0)
    tl.store(y_ptr + nc * OH * OW + at, acc / (K * K), mask=at < OH * OW)


class ModelNew(nn.Module):
    def __init__(self, kernel_size):
        super().__init__()
        self.k = kernel_size

    def forward(self, x):
        n, c, h, w = x.shape
        oh, ow = h // self.k, w // self.k
        y = torch.empty(n, c, oh, ow, device=x.device, dtype=x.dtype)
        pool_kernel[(triton.cdiv(oh * ow, 64), n * c)](x.contiguous(), y, h, w, oh, ow, self.k, BLOCK=64)
        return y
