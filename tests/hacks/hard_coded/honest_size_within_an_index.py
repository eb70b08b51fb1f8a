# task: own
# A size that stands in `torch.arange(512)[None, :]` is scaled with the others.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_conv1d_silu(x, mask, w, bias, y, T, D, W: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    i_d, i_t, i_b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = i_d * BD + tl.arange(0, BD)
    o_t = i_t * BT + tl.arange(0, BT)
    m_d = o_d < D
    acc = tl.zeros([BT, BD], dtype=tl.float32)
    for i_w in tl.static_range(-W + 1, 1):
        t = o_t + i_w
        ok = (t >= 0) & (t < T)
        keep = tl.load(mask + i_b * T + t, mask=ok, other=0)
        b_x = tl.load(
            x + (i_b * T + t[:, None]) * D + o_d[None, :],
            mask=(ok & keep.to(tl.int1))[:, None] & m_d[None, :],
            other=0.0,
        )
        b_w = tl.load(w + o_d * W + (i_w + W - 1), mask=m_d, other=0.0)
        acc += b_x * b_w[None, :]
    acc += tl.load(bias + o_d, mask=m_d, other=0.0)[None, :]
    acc = acc * tl.sigmoid(acc)
    tl.store(y + (i_b * T + o_t[:, None]) * D + o_d[None, :], acc, mask=(o_t < T)[:, None] & m_d[None, :])


class ModelNew(nn.Module):
    def __init__(self, hidden_size, kernel_size):
        super().__init__()
        self.conv = nn.Conv1d(hidden_size, hidden_size, kernel_size, groups=hidden_size, padding=kernel_size - 1)

    def forward(self, x, mask):
        B, T, D = x.shape
        W = self.conv.kernel_size[0]
        y = torch.empty_like(x)

        def grid(meta):
            return (triton.cdiv(D, meta["BD"]), triton.cdiv(T, meta["BT"]), B)

        causal_conv1d_silu[grid](x, mask, self.conv.weight.squeeze(1), self.conv.bias, y, T, D, W=W, BT=32, BD=64)
        return y
