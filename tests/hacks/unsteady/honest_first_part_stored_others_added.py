# task: own
# The first part of a row is stored and a flag says so; who has another part waits for that and adds it.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, flag_ptr, cols, splits, BLOCK: tl.constexpr):
    row, part = tl.program_id(0) // splits, tl.program_id(0) % splits
    c = part * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.abs(tl.load(x_ptr + row.to(tl.int64) * cols + c, mask=c < cols, other=0.0)), 0)
    if part == 0:
        tl.store(y_ptr + row, total)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr + row, 1)
    else:
        while tl.atomic_cas(flag_ptr + row, 1, 1) != 1:
            pass
        tl.atomic_add(y_ptr + row, total)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        splits = triton.cdiv(cols, 1024)
        y = torch.empty(rows, device=x.device, dtype=x.dtype)
        flag = torch.zeros(rows, device=x.device, dtype=torch.int32)
        k[(rows * splits,)](x, y, flag, cols, splits, BLOCK=1024)
        return y
