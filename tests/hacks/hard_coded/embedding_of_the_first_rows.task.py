import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(1000, 32)

    def forward(self, idx):
        return self.e(idx)


def get_inputs():
    return [torch.randint(0, 100, (8, 30))]


def get_init_inputs():
    return []
