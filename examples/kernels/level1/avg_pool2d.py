"""Mean over windows that do not overlap, a block of outputs a program."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def avg_pool2d_kernel(x_ptr, out_ptr, n_out, height, width, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    out_height = height // WINDOW
    out_width = width // WINDOW
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n_out
    plane = index // (out_height * out_width)
    row = index // out_width % out_height * WINDOW
    col = index % out_width * WINDOW
    corner = x_ptr + (plane * height + row) * width + col
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for dy in tl.static_range(WINDOW):
        for dx in tl.static_range(WINDOW):
            acc += tl.load(corner + dy * width + dx, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + index, acc * (1.0 / (WINDOW * WINDOW)), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        k = self.kernel_size
        out = x.new_empty((batch, channels, height // k, width // k))
        avg_pool2d_kernel[(triton.cdiv(out.numel(), 512),)](x, out, out.numel(), height, width, WINDOW=k, BLOCK=512)
        return out
