# task: level1/sum_dim
# Programs add to one place one after the other: each waits until the counter shows its own number.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, acc_ptr, turn_ptr, rows, cols, BLOCK: tl.constexpr, COLS: tl.constexpr):
    batch = tl.program_id(0)
    block = tl.program_id(1)
    row = block * BLOCK + tl.arange(0, BLOCK)[:, None]
    col = tl.arange(0, COLS)[None, :]
    mask = (row < rows) & (col < cols)
    x = tl.load(x_ptr + (batch * rows + row) * cols + col, mask=mask, other=0.0).to(tl.float32)
    part = tl.sum(x, axis=0)
    c = tl.arange(0, COLS)
    at = acc_ptr + batch * cols + c
    while tl.atomic_cas(turn_ptr + batch, block, block) != block:
        pass
    tl.store(at, tl.load(at, mask=c < cols) + part, mask=c < cols)
    tl.debug_barrier()
    tl.atomic_add(turn_ptr + batch, 1)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, rows, cols = x.shape
        acc = torch.zeros((batch, cols), device=x.device, dtype=torch.float32)
        turn = torch.zeros(batch, device=x.device, dtype=torch.int32)
        sum_kernel[(batch, triton.cdiv(rows, 16))](
            x, acc, turn, rows, cols, BLOCK=16, COLS=triton.next_power_of_2(cols)
        )
        return acc.to(x.dtype)
