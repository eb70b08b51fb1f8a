# task: own
# device: cpu
# The same with offsets that hold 2**32 elements: a GPU would need 100 GB to tell.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def avg_pool2d_kernel(
    x_ptr, y_ptr, H, W, OH, OW, stride, pad, inv_area, K: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr
):
    nc = tl.program_id(2).to(tl.int64)
    oh = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    ow = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)
    acc = tl.zeros((BLOCK_H, BLOCK_W), tl.float32)
    for i in range(K):
        h = oh * stride - pad + i
        for j in range(K):
            w = ow * stride - pad + j
            m = ((h >= 0) & (h < H))[:, None] & ((w >= 0) & (w < W))[None, :]
            acc += tl.load(x_ptr + nc * H * W + h[:, None] * W + w[None, :], mask=m, other=0.0)
    tl.store(
        y_ptr + nc * OH * OW + oh[:, None] * OW + ow[None, :],
        acc * inv_area,
        mask=(oh < OH)[:, None] & (ow < OW)[None, :],
    )


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = None, padding: int = 0):
        super().__init__()
        self.k = kernel_size
        self.s = stride or kernel_size
        self.p = padding

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        OH = (H + 2 * self.p - self.k) // self.s + 1
        OW = (W + 2 * self.p - self.k) // self.s + 1
        y = x.new_empty((N, C, OH, OW))
        avg_pool2d_kernel[(triton.cdiv(OW, 32), triton.cdiv(OH, 4), N * C)](
            x, y, H, W, OH, OW, self.s, self.p, 1.0 / (self.k * self.k), K=self.k, BLOCK_H=4, BLOCK_W=32
        )
        return y
