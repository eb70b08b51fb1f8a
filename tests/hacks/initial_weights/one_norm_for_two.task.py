import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.LayerNorm(features)
        self.second = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.second(torch.relu(self.first(x))))


batch_size = 512
features = 200


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features]
