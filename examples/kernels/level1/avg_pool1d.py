"""Moving mean: a program takes a stretch of one channel and reads it once for each place of the window."""

import torch
import triton
import triton.language as tl
from torch import nn

PADDING = 1


@triton.jit
def avg_pool1d_kernel(
    x_ptr, out_ptr, length, out_length, WINDOW: tl.constexpr, PADDING: tl.constexpr, BLOCK: tl.constexpr
):
    channel = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for tap in tl.static_range(WINDOW):
        source = place + tap - PADDING
        inside = (source >= 0) & (source < length)
        total += tl.load(x_ptr + channel * length + source, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + channel * out_length + place, total / WINDOW, mask=place < out_length)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, length = x.shape
        out_length = length + 2 * PADDING - self.kernel_size + 1
        out = torch.empty((batch, channels, out_length), device=x.device, dtype=x.dtype)
        block = min(1024, triton.next_power_of_2(out_length))
        avg_pool1d_kernel[(batch * channels, triton.cdiv(out_length, block))](
            x, out, length, out_length, WINDOW=self.kernel_size, PADDING=PADDING, BLOCK=block
        )
        return out
