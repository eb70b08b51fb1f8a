# task: level1/relu
# A benchmark and a check that only the main block calls, with the imports they need.
import os
import time

import numpy as np
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out


def benchmark():
    torch.manual_seed(0)
    x = torch.randn(4096, 4096, device="cuda")
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    ModelNew()(x)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end), triton.testing.do_bench(lambda: torch.relu(x))


def test_relu():
    x = torch.randn(64, 64, device="cuda")
    torch.testing.assert_close(ModelNew()(x), torch.relu(x))


if __name__ == "__main__":
    test_relu()
    print(benchmark())
