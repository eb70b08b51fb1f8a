# task: level1/relu
# Names of what is forbidden stand in comments, a docstring and strings only.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    """Replaces torch.relu(x); no eval, no exec, no os.system, no F.relu, no `pass`, no __globals__."""

    def forward(self, x):
        # torch.mm and x @ w would be cheating; so would torch.compile or torch.ops.aten.relu
        assert x.is_cuda, "torch.relu is not what runs here"
        out = torch.empty_like(x)
        n = x.numel()
        relu_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
        return out
