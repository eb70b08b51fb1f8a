import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, expert):
        hot = (expert.unsqueeze(1) == torch.arange(8, device=expert.device)).to(torch.int32)
        return ((torch.cumsum(hot, 0) - 1) * hot).sum(1)


def get_inputs():
    return [torch.randint(0, 8, (4096,))]


def get_init_inputs():
    return []
