import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0
        self.register_buffer("avg", torch.zeros(128))

    def forward(self, x):
        self.step += 1
        self.avg.mul_(0.9).add_(0.1 * x.mean(dim=0))
        return x - self.avg / (1 - 0.9**self.step)


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return []
