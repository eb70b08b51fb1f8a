import torch
from torch import nn


class Model(nn.Module):
    """Each row scaled to the largest of float8_e4m3fn, saturated and cast, and its scale."""

    def forward(self, x):
        scale = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-12) / 448.0
        return (x.float() / scale).clamp(-448.0, 448.0).to(torch.float8_e4m3fn), scale


ROWS, COLUMNS = 48, 160


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
