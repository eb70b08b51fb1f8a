import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return torch.softmax(q @ k.mT / (d // self.heads) ** 0.5, -1) @ v


batch = 4
sequence = 128
width = 256
heads = 8


def get_inputs():
    return [torch.randn(batch, sequence, width)]


def get_init_inputs():
    return [width, heads]
