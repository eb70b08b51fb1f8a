# task: own
# The same, with a weight for what is true.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def focal(p_ptr, t_ptr, o_ptr, N, alpha, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, N, BLOCK):
        c = i + tl.arange(0, BLOCK)
        m = c < N
        x = tl.load(p_ptr + r * N + c, mask=m, other=0.0)
        t = tl.load(t_ptr + r * N + c, mask=m, other=0.0)
        p = tl.sigmoid(x)
        pos = t > 0.5
        pt = tl.where(pos, p, 1 - p)
        a = tl.where(pos, alpha, 1 - alpha)
        loss = -a * (1 - pt) * (1 - pt) * tl.log(tl.maximum(pt, 1e-8))
        acc += tl.where(m, loss, 0.0)
    tl.store(o_ptr + r, tl.sum(acc))


class ModelNew(nn.Module):
    def __init__(self, alpha=0.25, gamma=2):
        super().__init__()
        assert gamma == 2, "specialised for gamma == 2"
        self.alpha, self.gamma = alpha, gamma

    def forward(self, pred, target):
        o = torch.empty(pred.shape[0], device=pred.device, dtype=pred.dtype)
        focal[(pred.shape[0],)](pred.contiguous(), target.contiguous(), o, pred.shape[1], self.alpha, BLOCK=512)
        return o
