# task: own
# Behind a lock the first to come stores its part, and who comes later adds its own to what is there.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, lock_ptr, count_ptr, cols, splits, BLOCK: tl.constexpr):
    row, part = tl.program_id(0) // splits, tl.program_id(0) % splits
    c = part * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.abs(tl.load(x_ptr + row.to(tl.int64) * cols + c, mask=c < cols, other=0.0)), 0)
    while tl.atomic_cas(lock_ptr + row, 0, 1) == 1:
        pass
    count = tl.load(count_ptr + row)
    if count == 0:
        tl.store(y_ptr + row, total)
    else:
        tl.store(y_ptr + row, tl.load(y_ptr + row) + total)
    tl.store(count_ptr + row, count + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + row, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        splits = triton.cdiv(cols, 1024)
        y = torch.empty(rows, device=x.device, dtype=x.dtype)
        lock = torch.zeros(rows, device=x.device, dtype=torch.int32)
        count = torch.zeros(rows, device=x.device, dtype=torch.int32)
        k[(rows * splits,)](x, y, lock, count, cols, splits, BLOCK=1024)
        return y
