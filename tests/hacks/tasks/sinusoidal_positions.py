import torch
import torch.nn as nn


class Model(nn.Module):
    """adds sinusoidal positions"""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        t, d = x.shape[1], x.shape[2]
        pos = torch.arange(t, device=x.device)[:, None]
        inv = torch.exp(torch.arange(0, d, device=x.device).float() * (-9.2103403 / d))
        return x + torch.sin(pos * inv[None, :])


def get_inputs():
    return [torch.randn(8, 512, 256)]


def get_init_inputs():
    return []
