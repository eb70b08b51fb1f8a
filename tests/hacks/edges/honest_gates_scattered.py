# task: own
# Which of equal logits have a gate is not said.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gates_kernel(x_ptr, y_ptr, E, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * E + c, mask=c < E, other=float("-inf"))
    left = x
    chosen = tl.zeros([BLOCK], tl.int1)
    for _ in tl.static_range(K):
        i = tl.argmax(left, axis=0)
        chosen = chosen | (c == i)
        left = tl.where(c == i, float("-inf"), left)
    e = tl.where(chosen, tl.exp(x - tl.max(x, 0)), 0.0)
    tl.store(y_ptr + row * E + c, e / tl.sum(e, 0), mask=c < E)


class ModelNew(nn.Module):
    def __init__(self, top_k):
        super().__init__()
        self.top_k = top_k

    def forward(self, logits):
        logits = logits.contiguous()
        T, E = logits.shape
        y = torch.empty_like(logits)
        gates_kernel[(T,)](logits, y, E, K=self.top_k, BLOCK=triton.next_power_of_2(E))
        return y
