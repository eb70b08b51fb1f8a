# task: own
# Values go through 8-bit floats in the kernel.
import torch
import triton
import triton.language as tl


@triton.jit
def fake_quant(x, y, s, N, MAX: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + c, mask=c < N, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(v), 0) / MAX
    tl.store(s + r, scale)
    q = (v / scale).to(tl.float8e5)
    tl.store(y + r * N + c, q.to(tl.float32) * scale, mask=c < N)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, n = x.shape
        y = torch.empty_like(x)
        s = torch.empty((rows, 1), dtype=x.dtype, device=x.device)
        fake_quant[(rows,)](x, y, s, n, 57344.0, triton.next_power_of_2(n))
        return y, s
