# task: level1/relu
# A persistent kernel asks the GPU for its number of multiprocessors, at the top of the file and in forward.
import torch
import triton
import triton.language as tl
from torch import nn

CUDA = torch.cuda.is_available()
NUM_SMS = torch.cuda.get_device_properties("cuda").multi_processor_count


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.maximum(tl.load(x_ptr + offsets, mask=mask), 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        assert torch.cuda.is_available() and not x.is_cpu
        major, _ = torch.cuda.get_device_capability(x.device)
        sms = torch.cuda.get_device_properties(x.device).multi_processor_count
        out = torch.empty_like(x)
        grid = (min(sms, NUM_SMS, triton.cdiv(x.numel(), 256)),)
        relu_kernel[grid](x, out, x.numel(), BLOCK=256, num_warps=8 if major >= 9 else 4)
        return out
