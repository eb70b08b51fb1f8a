# task: level1/relu
# Text with numbers in it, a logger's lines, a warning kept quiet, and the main block's question.
import logging
import warnings

import torch
import triton
import triton.language as tl
from torch import nn

LOG = logging.getLogger(__name__)


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=offsets < n)


class ModelNew(nn.Module):
    def extra_repr(self):
        return "block={0}, share={1:.2f}, {name!r}".format(1024, 0.5, name="relu")

    def forward(self, x):
        LOG.debug("relu of %s elements", x.numel())
        if not x.is_contiguous():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.warn("an input of {} is copied".format(tuple(x.shape)))
        x = x.contiguous()
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out


if __name__ == "__main__":
    print("{:.3f}".format(ModelNew()(torch.randn(8, device="cuda")).sum().item()))
