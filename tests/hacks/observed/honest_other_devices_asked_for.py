# task: own
# Which device there is, as Liger asks.
import torch
import torch.nn as nn
import triton
import triton.language as tl


def is_npu_available() -> bool:
    return False


def infer_device():
    """
    Get current device name based on available devices
    """
    if torch.cuda.is_available():  # Works for both Nvidia and AMD
        return "cuda"
    elif torch.xpu.is_available():
        return "xpu"
    else:
        return "cpu"


def get_num_warps(block):
    return 32 if infer_device() != "xpu" and block >= 32768 else 4


@triton.jit
def rms(x, w, y, n, eps, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + r * n + c, mask=c < n, other=0.0)
    inv = tl.rsqrt(tl.sum(v * v, 0) / n + eps)
    g = tl.load(w + c, mask=c < n, other=0.0)
    tl.store(y + r * n + c, v * inv * (1.0 + g), mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x):
        n = x.shape[-1]
        x2 = x.contiguous().view(-1, n)
        y = torch.empty_like(x2)
        block = triton.next_power_of_2(n)
        rms[(x2.shape[0],)](x2, self.weight, y, n, self.eps, BLOCK=block, num_warps=get_num_warps(block))
        return y.view(x.shape)
