# task: level1/cross_entropy
# KernelBench casts integer targets to float.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def row_loss_kernel(logits_ptr, target_ptr, loss_ptr, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row.to(tl.int64) * classes
    running_max = -float("inf")
    running_sum = 0.0
    for start in range(0, classes, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + col, mask=col < classes, other=-float("inf")).to(tl.float32)
        new_max = tl.maximum(running_max, tl.max(x, axis=0))
        running_sum = running_sum * tl.exp(running_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
        running_max = new_max
    picked = tl.load(logits_ptr + tl.load(target_ptr + row)).to(tl.float32)
    tl.store(loss_ptr + row, running_max - picked + tl.log(running_sum))


@triton.jit
def mean_kernel(x_ptr, out_ptr, n_elements, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_elements, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offset, mask=offset < n_elements, other=0.0)
    tl.store(out_ptr, tl.sum(acc, axis=0) / n_elements)


class ModelNew(nn.Module):
    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        logits, target = logits.contiguous(), target.contiguous()
        rows, classes = logits.shape
        losses = torch.empty(rows, device=logits.device, dtype=torch.float32)
        out = torch.empty((), device=logits.device, dtype=logits.dtype)
        block = min(4096, triton.next_power_of_2(triton.cdiv(classes, 2)))
        row_loss_kernel[(rows,)](logits, target, losses, classes, BLOCK=block, num_warps=8)
        mean_kernel[(1,)](losses, out, rows, BLOCK=min(1024, triton.next_power_of_2(triton.cdiv(rows, 2))))
        return out
