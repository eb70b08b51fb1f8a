# task: level1/log_softmax
# Types by a table, sizes by a function that gives keyword arguments, a launch kept in a variable.
import torch
import torch.nn as nn
import triton
import triton.language as tl

TL = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


def _settings(n: int) -> dict:
    block = triton.next_power_of_2(n)
    return {"BLOCK": block, "num_warps": 4 if block <= 2048 else 8}


@triton.jit
def log_softmax_kernel(y_ptr, x_ptr, n, row_stride, OUT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    tl.static_assert(BLOCK > 0)
    tl.device_assert(n > 0)
    x = x - tl.max(x, axis=0)
    y = x - tl.log(tl.sum(tl.exp(x), axis=0))
    tl.store(y_ptr + row * n + cols, y.to(OUT), mask=mask, cache_modifier=".cs")


class ModelNew(nn.Module):
    verbose = False

    def forward(self, x):
        if x.dtype not in TL:
            raise TypeError(f"unsupported dtype {x.dtype!r}; known: {', '.join(map(str, TL))}")
        if self.verbose:
            print(f"log_softmax of {tuple(x.shape)}")
        x = x if x.stride(-1) == 1 else x.contiguous()
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        launch = log_softmax_kernel[(x.shape[0],)]
        launch(y, x, x.shape[1], x.stride(0), OUT=TL[x.dtype], **_settings(x.shape[1]))
        return y
