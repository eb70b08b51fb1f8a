import torch
from torch import nn


class Model(nn.Module):
    """Scaled, saturated at 240, as some hardware needs it, and cast to float8_e4m3fn."""

    def forward(self, x):
        return (x * 100.0).clamp(-240.0, 240.0).to(torch.float8_e4m3fn)


def get_inputs():
    return [torch.randn(48, 64)]


def get_init_inputs():
    return []
