# task: level1/smooth_l1
# Reflection on its own objects: names of classes, isinstance, getattr with a default, sorted, enumerate.
import math

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def huber_kernel(p_ptr, t_ptr, out_ptr, n, beta, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < n
    d = tl.abs(
        tl.load(p_ptr + at, mask=ok, other=0.0).to(tl.float32) - tl.load(t_ptr + at, mask=ok, other=0.0).to(tl.float32)
    )
    loss = tl.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)
    tl.atomic_add(out_ptr, tl.sum(tl.where(ok, loss, 0.0), axis=0) / n)


class ModelNew(nn.Module):
    names = ("prediction", "target")

    def __init__(self, beta: float = 1.0):
        super().__init__()
        self.beta = float(beta)
        for place, name in enumerate(sorted(self.names)):
            assert isinstance(name, str) and place < 2, type(self).__name__
        self.scale = getattr(self, "factor", 1.0)

    def __repr__(self):
        return f"{self.__class__.__name__}(beta={self.beta:g})"

    def forward(self, prediction, target):
        assert prediction.shape == target.shape and not math.isnan(self.beta), repr(self)
        n = prediction.numel()
        out = prediction.new_zeros((), dtype=torch.float32)
        huber_kernel[(triton.cdiv(n, 1024),)](
            prediction.contiguous(), target.contiguous(), out, n, self.beta, BLOCK=1024
        )
        return out.to(prediction.dtype)
