import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Distillation with per-sample temperatures and sample weights."""

    def __init__(self):
        super().__init__()

    def forward(self, s, t, temperature, weight):
        T = temperature[:, None]
        kl = F.kl_div(F.log_softmax(s / T, -1), F.softmax(t / T, -1), reduction="none").sum(-1)
        return (kl * temperature**2 * weight).sum() / weight.sum()


def get_inputs():
    return [torch.randn(32, 1000), torch.randn(32, 1000), 1.0 + 3.0 * torch.rand(32), torch.rand(32) + 0.1]


def get_init_inputs():
    return []
