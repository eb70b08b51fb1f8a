# task: own
# Blocks that a descriptor loads begin at any row, and at a multiple of 16 bytes in it.
import torch
import triton
import triton.language as tl
from torch import nn
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def column3(x, y, BH: tl.constexpr, BW: tl.constexpr):
    n = tl.program_id(2)
    h = tl.program_id(1) * BH
    w = tl.program_id(0) * BW
    acc = tl.zeros((BH, BW), tl.float32)
    for i in tl.static_range(-1, 2):
        acc += x.load([n, h + i, w]).reshape(BH, BW).to(tl.float32)
    y.store([n, h, w], (acc / 3).to(y.dtype).reshape(1, BH, BW))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        N, H, W = x.shape
        BH, BW = 8, 8
        dx = TensorDescriptor.from_tensor(x, [1, BH, BW])
        dy = TensorDescriptor.from_tensor(y, [1, BH, BW])
        column3[(triton.cdiv(W, BW), triton.cdiv(H, BH), N)](dx, dy, BH, BW)
        return y
