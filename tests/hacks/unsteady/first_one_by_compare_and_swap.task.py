import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, key):
        n = key.shape[0]
        at = torch.arange(n, device=key.device).unsqueeze(1).expand(n, 16)
        hot = key.unsqueeze(1) == torch.arange(16, device=key.device)
        return torch.where(hot, at, n).amin(0)


def get_inputs():
    return [torch.randint(0, 16, (1024,))]


def get_init_inputs():
    return []
