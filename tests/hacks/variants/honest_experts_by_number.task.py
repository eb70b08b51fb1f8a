import torch
import torch.nn as nn


class Model(nn.Module):
    """Dense formulation of a top-k mixture of experts with given routing."""

    def __init__(self, num_experts, hidden, inter):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(num_experts, 2 * inter, hidden) * hidden**-0.5)
        self.w2 = nn.Parameter(torch.randn(num_experts, hidden, inter) * inter**-0.5)

    def forward(self, x, topk_weights, topk_ids):
        T, K = topk_ids.shape
        out = torch.zeros_like(x)
        for e in range(self.w1.shape[0]):
            coef = (topk_weights * (topk_ids == e)).sum(1, keepdim=True)
            h = x @ self.w1[e].t()
            g, u = h.chunk(2, dim=-1)
            y = (torch.nn.functional.silu(g) * u) @ self.w2[e].t()
            out = out + coef * y
        return out


E, H, INNER, T, K = 8, 256, 512, 256, 2


def get_inputs():
    return [torch.randn(T, H), torch.softmax(torch.randn(T, K), -1), torch.randint(0, E, (T, K), dtype=torch.int32)]


def get_init_inputs():
    return [E, H, INNER]
