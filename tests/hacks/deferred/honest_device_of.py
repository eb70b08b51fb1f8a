# task: level1/silu
# Guards of torch.cuda around the launch.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, i < n)
    xf = x.to(tl.float32)
    tl.store(y_ptr + i, (xf * tl.sigmoid(xf)).to(x.dtype), i < n)


def silu(x: torch.Tensor) -> torch.Tensor:
    if not x.is_contiguous():
        x = x.contiguous()
    y = torch.empty_like(x)
    with torch.cuda.device_of(x):
        silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024, num_warps=4)
    return y


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super(ModelNew, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return silu(x)
