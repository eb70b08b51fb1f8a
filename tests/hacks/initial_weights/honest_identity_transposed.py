# task: own
# A weight that begins as the identity is transposed once, when the model is built.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def matmul_kernel(x_ptr, w_ptr, out_ptr, n, k, K: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0)
    i, j = tl.arange(0, K), tl.arange(0, N)
    x = tl.load(x_ptr + row * k + i, mask=i < k, other=0.0)
    w = tl.load(w_ptr + i[:, None] * n + j[None, :], mask=(i[:, None] < k) & (j[None, :] < n), other=0.0)
    y = tl.sum(x[:, None] * w, axis=0)
    tl.store(out_ptr + row * n + j, tl.where(y < 0, 0.0, y), mask=j < n)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.fc = nn.Linear(features, features, bias=False)
        nn.init.eye_(self.fc.weight)
        self.turned = self.fc.weight.detach().t().contiguous()

    def forward(self, x):
        x, w = x.contiguous(), self.turned.to(x.device)
        k, n = w.shape
        out = torch.empty(x.shape[0], n, device=x.device, dtype=x.dtype)
        matmul_kernel[(x.shape[0],)](x, w, out, n, k, K=triton.next_power_of_2(k), N=triton.next_power_of_2(n))
        return out
