# task: own
# 256 channels over 16 are a hidden layer; no smaller version may be without one.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool(x_ptr, p_ptr, HW, BLOCK: tl.constexpr):
    nc = tl.program_id(0).to(tl.int64)
    acc = tl.zeros([BLOCK], tl.float32)
    for o in range(0, HW, BLOCK):
        i = o + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + nc * HW + i, mask=i < HW, other=0.0)
    tl.store(p_ptr + nc, tl.sum(acc, 0) / HW)


@triton.jit
def excite(p_ptr, w1_ptr, w2_ptr, g_ptr, C, R, BC: tl.constexpr, BR: tl.constexpr):
    n = tl.program_id(0)
    c = tl.arange(0, BC)
    r = tl.arange(0, BR)
    p = tl.load(p_ptr + n * C + c, mask=c < C, other=0.0)
    w1 = tl.load(w1_ptr + r[:, None] * C + c[None, :], mask=(r < R)[:, None] & (c < C)[None, :], other=0.0)
    hid = tl.maximum(tl.sum(w1 * p[None, :], axis=1), 0.0)
    w2 = tl.load(w2_ptr + c[:, None] * R + r[None, :], mask=(r < R)[None, :] & (c < C)[:, None], other=0.0)
    tl.store(g_ptr + n * C + c, tl.sigmoid(tl.sum(w2 * hid[None, :], axis=1)), mask=c < C)


@triton.jit
def rescale(x_ptr, g_ptr, y_ptr, HW, BLOCK: tl.constexpr):
    nc = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + nc * HW + i, tl.load(x_ptr + nc * HW + i, mask=i < HW) * tl.load(g_ptr + nc), mask=i < HW)


class ModelNew(nn.Module):
    def __init__(self, channels, reduction=16):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(
            nn.Linear(channels, channels // reduction, bias=False),
            nn.ReLU(inplace=True),
            nn.Linear(channels // reduction, channels, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        x = x.contiguous()
        b, c, h, w = x.shape
        r = self.fc[0].out_features
        p = torch.empty(b, c, device=x.device, dtype=torch.float32)
        g = torch.empty_like(p)
        y = torch.empty_like(x)
        pool[(b * c,)](x, p, h * w, BLOCK=1024)
        excite[(b,)](
            p, self.fc[0].weight, self.fc[2].weight, g, c, r, BC=triton.next_power_of_2(c), BR=triton.next_power_of_2(r)
        )
        rescale[(b * c, triton.cdiv(h * w, 1024))](x, g, y, h * w, BLOCK=1024)
        return y
