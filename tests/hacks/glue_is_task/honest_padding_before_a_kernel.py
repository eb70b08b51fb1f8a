# task: level1/max_pool2d
# F.pad as glue: the pooling kernel needs no bounds then.
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn

BLOCK = 1024


@triton.jit
def max_pool2d_kernel(
    x_ptr, out_ptr, n_outputs, height, width, out_height, out_width,
    WINDOW: tl.constexpr, STRIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    out_index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = out_index < n_outputs
    plane = out_index // (out_height * out_width)
    top = out_index // out_width % out_height * STRIDE
    left = out_index % out_width * STRIDE
    best = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)
    for dy in tl.static_range(WINDOW):
        for dx in tl.static_range(WINDOW):
            y = top + dy
            x = left + dx
            inside = mask & (y >= 0) & (y < height) & (x >= 0) & (x < width)
            value = tl.load(x_ptr + (plane * height + y) * width + x, mask=inside, other=-float("inf")).to(tl.float32)
            best = tl.maximum(best, value)
    tl.store(out_ptr + out_index, best, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.pad(x, (1, 1, 1, 1), value=-float("inf"))
        batch, channels, height, width = x.shape
        out_height = (height - self.kernel_size) // 2 + 1
        out_width = (width - self.kernel_size) // 2 + 1
        out = torch.empty(batch, channels, out_height, out_width, device=x.device, dtype=x.dtype)
        max_pool2d_kernel[(triton.cdiv(out.numel(), BLOCK),)](
            x, out, out.numel(), height, width, out_height, out_width,
            WINDOW=self.kernel_size, STRIDE=2, BLOCK=BLOCK,
        )  # fmt: skip
        return out
