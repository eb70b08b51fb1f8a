# task: tasks/relu_doubled
# rule: race
# The second kernel may begin before the first one has ended, and does not wait for it.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def first(x, scratch, n, BLOCK: tl.constexpr):
    tl.extra.cuda.gdc_launch_dependents()  # the next kernel may begin, nothing is stored yet
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(scratch + o, tl.maximum(tl.load(x + o, mask=m, other=0.0), 0.0), mask=m)


@triton.jit
def second(scratch, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(out + o, tl.load(scratch + o, mask=m, other=0.0) * 2 + 1, mask=m)  # no gdc_wait()


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        scratch = torch.empty_like(x)
        n = out.numel()
        grid = (triton.cdiv(n, 1024),)
        first[grid](x, scratch, n, BLOCK=1024, launch_pdl=True)
        second[grid](scratch, out, n, BLOCK=1024, launch_pdl=True)
        return out
