import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, starts):
        ids = torch.searchsorted(starts, torch.arange(x.shape[0], device=x.device), right=True) - 1
        out = torch.zeros(starts.numel() - 1, x.shape[1], dtype=x.dtype, device=x.device)
        return out.index_add(0, ids, x)


segments = 64
features = 128


def get_inputs():
    return [torch.randn(segments * 8, features), torch.arange(segments + 1) * 8]


def get_init_inputs():
    return []
