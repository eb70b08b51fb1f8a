# task: own
# Tables made on the host, each moved to where the input lies before a kernel is given it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, table_ptr, bias_ptr, out_ptr, n, cols, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    t = tl.load(table_ptr + offsets % cols, mask=offsets < n)
    tl.store(out_ptr + offsets, x + t + tl.load(bias_ptr), mask=offsets < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n, cols = x.numel(), x.shape[1]
        table = torch.arange(cols).to(x)
        nothing = torch.zeros(1).cuda()
        with torch.device("cuda"):
            out = torch.empty(x.shape, dtype=x.dtype)
        assert table.device == x.device and nothing.is_cuda and out.is_cuda
        assert not torch.empty(1).is_cuda and x.cpu().device.type == "cpu"
        add_kernel[(triton.cdiv(n, 1024),)](x, table, nothing, out, n, cols, BLOCK=1024)
        return out
