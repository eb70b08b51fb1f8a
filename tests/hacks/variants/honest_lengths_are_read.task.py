import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, lengths):
        keep = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        return (x * keep).sum(1)


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols), torch.full((rows,), cols)]


def get_init_inputs():
    return []
