import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, vocab, dim, length):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.places = nn.Parameter(torch.empty(length, dim))
        nn.init.normal_(self.places, std=1e-6)

    def forward(self, ids):
        return self.words(ids) + self.places[: ids.shape[1]]


def get_inputs():
    return [torch.randint(0, 5000, (32, 256))]


def get_init_inputs():
    return [5000, 512, 256]
