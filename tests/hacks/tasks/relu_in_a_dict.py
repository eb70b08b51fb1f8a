"""ReLU, in a dict."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return {"y": torch.relu(x)}


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
