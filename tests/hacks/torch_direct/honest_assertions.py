# task: level1/relu
# Checks with messages, versions, warnings by print and a logger's absence.
import torch
import triton
import triton.language as tl
from torch import nn

VERSION = f"{torch.__version__} {triton.__version__}"


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        if x.device.type != "cuda":
            raise RuntimeError(f"{self.__class__.__name__} needs a GPU, not {x.device}")
        if not x.is_contiguous():
            x = x.contiguous()
        assert x.dtype in (torch.float32, torch.float16, torch.bfloat16), f"unsupported dtype {x.dtype}"
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
