import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal depthwise convolution over time with SiLU and residual mask."""

    def __init__(self, hidden_size, kernel_size):
        super().__init__()
        self.conv = nn.Conv1d(hidden_size, hidden_size, kernel_size, groups=hidden_size, padding=kernel_size - 1)

    def forward(self, x, mask):
        x = x * mask.unsqueeze(-1)
        y = self.conv(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2)
        return F.silu(y)


def get_inputs():
    return [torch.randn(4, 512, 768), torch.arange(512)[None, :] < torch.tensor([512, 300, 7, 411])[:, None]]


def get_init_inputs():
    return [768, 4]
