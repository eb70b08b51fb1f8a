# task: own
# rule: mismatch
# max(x, 0) of a NaN is 0 once it is compiled.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(p, out, n, PER: tl.constexpr):
    i = tl.program_id(0) * PER
    for k in range(PER):
        j = i + k
        if j < n:
            # Python's max in the interpreter keeps NaN; compiled it is tl.maximum, which drops it
            tl.store(out + j, max(tl.log(tl.load(p + j)), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = out.numel()
        relu_kernel[(triton.cdiv(n, 64),)](x, out, n, PER=64)
        return out
