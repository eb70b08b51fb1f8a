import torch
from torch import nn


class Model(nn.Module):
    def forward(self, scores, mask):
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)


batch_size = 16
length = 128


def get_inputs():
    return [torch.randn(batch_size, length, length), torch.tril(torch.ones(length, length)).bool()]


def get_init_inputs():
    return []
