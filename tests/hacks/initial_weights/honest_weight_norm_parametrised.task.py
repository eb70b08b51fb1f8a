import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm


class Model(nn.Module):
    """TCN-like conv1d with weight normalisation, causal by left padding, ReLU"""

    def __init__(self, cin, cout, k):
        super().__init__()
        self.conv = weight_norm(nn.Conv1d(cin, cout, k))
        self.k = k

    def forward(self, x):
        return torch.relu(self.conv(nn.functional.pad(x, (self.k - 1, 0))))


def get_inputs():
    return [torch.randn(3, 8, 60)]


def get_init_inputs():
    return [8, 12, 3]
