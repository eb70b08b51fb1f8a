# task: level1/sum_dim
# Several configurations, pruned by a function that looks at the arguments.
import torch
import triton
import triton.language as tl
from torch import nn


def prune(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["COLS"] <= max(64, named_args["cols"])] or configs[:1]


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 32, "COLS": 32}, num_warps=4, num_stages=2),
        triton.Config({"ROWS": 16, "COLS": 64}, num_warps=8),
    ],
    key=["rows", "cols"],
    prune_configs_by={"early_config_prune": prune},
)
@triton.jit
def sum_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    batch = tl.program_id(1)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((COLS,), dtype=tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (col[None, :] < cols)
        acc += tl.sum(
            tl.load(x_ptr + (batch * rows + row[:, None]) * cols + col[None, :], mask=mask, other=0.0), axis=0
        )
    tl.store(out_ptr + batch * cols + col, acc, mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        x = x.transpose(self.dim, 1).contiguous()
        batch, rows, cols = x.shape
        out = torch.empty((batch, cols), device=x.device, dtype=x.dtype)
        sum_kernel[lambda meta: (triton.cdiv(cols, meta["COLS"]), batch)](x, out, rows, cols)
        return out
