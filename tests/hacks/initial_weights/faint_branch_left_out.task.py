import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.gamma = nn.Parameter(1e-6 * torch.randn(dim))

    def forward(self, x):
        return torch.sigmoid(x) + self.gamma * torch.tanh(self.fc(x))


def get_inputs():
    return [torch.randn(512, 768)]


def get_init_inputs():
    return [768]
