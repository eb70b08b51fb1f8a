# task: own
# A window is padded by half of it, so that the output has the size of the input where the window is odd.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dw_same_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, H, W, K: tl.constexpr, PAD: tl.constexpr, BLOCK: tl.constexpr):
    nc = tl.program_id(0)
    c = nc % C
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < H * W
    oh = offs // W
    ow = offs % W
    acc = tl.zeros((BLOCK,), dtype=tl.float32) + tl.load(b_ptr + c)
    for kh in tl.static_range(K):
        for kw in tl.static_range(K):
            ih = oh + kh - PAD
            iw = ow + kw - PAD
            m = mask & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
            acc += tl.load(x_ptr + nc * H * W + ih * W + iw, mask=m, other=0.0) * tl.load(w_ptr + (c * K + kh) * K + kw)
    y = acc * tl.minimum(tl.maximum(acc + 3.0, 0.0), 6.0) / 6.0
    tl.store(y_ptr + nc * H * W + offs, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, kernel_size, padding=kernel_size // 2, groups=dim)
        self.kernel_size = kernel_size

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        dw_same_kernel[(N * C, triton.cdiv(H * W, 256))](
            x, self.conv.weight, self.conv.bias, y, C, H, W, self.kernel_size, self.kernel_size // 2, 256
        )
        return y
