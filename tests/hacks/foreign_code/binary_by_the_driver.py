# task: level1/relu
# rule: torch-attribute | private
# A binary is loaded by Triton's driver.
import torch
import triton
import triton.language as tl
from torch import nn
from triton.runtime import driver

DEVICE = triton.runtime.driver.active.get_active_torch_device()
properties = driver.active.utils.get_device_properties(DEVICE.index)
NUM_SM = properties["multiprocessor_count"]


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.maximum(tl.load(x_ptr + offsets, mask=mask), 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        if x is None:
            triton.runtime.driver.active.utils.load_binary("k", b"", 0, 0)
        out = torch.empty_like(x)
        relu_kernel[(min(NUM_SM, triton.cdiv(x.numel(), 256)),)](x, out, x.numel(), BLOCK=256)
        return out
