import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.fc = nn.Linear(features, features, bias=False)
        nn.init.eye_(self.fc.weight)

    def forward(self, x):
        return torch.relu(self.fc(x))


batch_size = 256
features = 128


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features]
