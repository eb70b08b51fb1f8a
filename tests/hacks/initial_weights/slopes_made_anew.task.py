import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.slopes = nn.Parameter(torch.linspace(1.0, 0.1, heads))

    def forward(self, x):
        place = torch.arange(x.shape[2], device=x.device)
        return x - self.slopes[None, :, None] * place


batch_size = 32
heads = 16
length = 128


def get_inputs():
    return [torch.randn(batch_size, heads, length)]


def get_init_inputs():
    return [heads]
