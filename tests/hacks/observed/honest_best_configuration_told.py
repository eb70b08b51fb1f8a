# task: level1/relu
# What tuning found is written to the log, and the kernel says its own name and arguments.
import logging

import torch
import triton
import triton.language as tl
from torch import nn

log = logging.getLogger("kernels")


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def relu_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(o_ptr + at, tl.maximum(x, 0.0), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.told = False

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        relu_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
        if not self.told:
            log.info("%s of %s with %s", relu_kernel, relu_kernel.arg_names, getattr(relu_kernel, "best_config", None))
            self.told = True
        return out
