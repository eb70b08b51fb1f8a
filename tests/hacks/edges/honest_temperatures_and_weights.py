# task: own
# Temperatures and weights of a few numbers, positive by their making.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kd_row(s_ptr, t_ptr, T_ptr, w_ptr, o_ptr, V, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < V
    T = tl.load(T_ptr + r)
    s = tl.load(s_ptr + r * V + c, mask=m, other=-float("inf")) / T
    t = tl.load(t_ptr + r * V + c, mask=m, other=-float("inf")) / T
    ls = s - tl.max(s, 0)
    ls = ls - tl.log(tl.sum(tl.exp(ls), 0))
    lt = t - tl.max(t, 0)
    lt = lt - tl.log(tl.sum(tl.exp(lt), 0))
    kl = tl.sum(tl.where(m, tl.exp(lt) * (lt - ls), 0.0), 0)
    tl.store(o_ptr + r, kl * T * T * tl.load(w_ptr + r))


@triton.jit
def weighted(o_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    a = tl.sum(tl.load(o_ptr + c, mask=c < n, other=0.0), 0)
    b = tl.sum(tl.load(w_ptr + c, mask=c < n, other=0.0), 0)
    tl.store(out_ptr, a / b)


class ModelNew(nn.Module):
    def forward(self, s, t, temperature, weight):
        B, V = s.shape
        o = torch.empty(B, device=s.device)
        out = torch.empty((), device=s.device)
        kd_row[(B,)](s.contiguous(), t.contiguous(), temperature, weight, o, V, BLOCK=triton.next_power_of_2(V))
        weighted[(1,)](o, weight, out, B, BLOCK=triton.next_power_of_2(B))
        return out
