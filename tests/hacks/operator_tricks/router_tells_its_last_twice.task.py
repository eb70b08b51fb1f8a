import torch
import torch.nn as nn


class Model(nn.Module):
    """Router: softmax over experts, top-k, renormalised weights"""

    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, logits):
        probs = torch.softmax(logits, dim=-1)
        w, idx = torch.topk(probs, self.k, dim=-1)
        w = w / w.sum(dim=-1, keepdim=True)
        return w, idx


tokens = 128
experts = 64


def get_inputs():
    return [torch.randn(tokens, experts)]


def get_init_inputs():
    return [8]
