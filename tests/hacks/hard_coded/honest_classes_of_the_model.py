# task: own
# The number of classes is part of the model: the range of the labels does not grow with the sizes.
import torch
import triton
import triton.language as tl
from torch import nn

CLASSES = 48


@triton.jit
def count_kernel(labels_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < n
    label = tl.load(labels_ptr + at, mask=ok, other=0)
    tl.atomic_add(counts_ptr + label, tl.full((BLOCK,), 1, tl.int64), mask=ok)


class ModelNew(nn.Module):
    def forward(self, labels):
        labels = labels.contiguous()
        counts = torch.zeros(CLASSES, dtype=torch.int64, device=labels.device)
        count_kernel[(triton.cdiv(labels.numel(), 256),)](labels, counts, labels.numel(), BLOCK=256)
        return counts
