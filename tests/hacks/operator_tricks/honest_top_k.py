# task: own
# The largest one, four times over; views and a copy of the kernel's table.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def top_kernel(x_ptr, v_ptr, i_ptr, n, K: tl.constexpr, ROOM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
    for k in tl.static_range(K):
        best, place = tl.max(x, axis=0, return_indices=True)
        tl.store(v_ptr + row * ROOM + k, best)
        tl.store(i_ptr + row * ROOM + k, place.to(tl.int64))
        x = tl.where(at == place, -float("inf"), x)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, n = x.shape
        v = torch.empty(rows, 8, device=x.device, dtype=x.dtype)
        i = torch.empty(rows, 8, device=x.device, dtype=torch.int64)
        top_kernel[(rows,)](x, v, i, n, K=4, ROOM=8, BLOCK=triton.next_power_of_2(n))
        return v[:, :4].contiguous(), i[:, :4].contiguous()
