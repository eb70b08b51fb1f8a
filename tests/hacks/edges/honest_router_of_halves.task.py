import torch
import torch.nn as nn


class Model(nn.Module):
    """Router: softmax, top-k experts, renormalised weights and their ids."""

    def __init__(self, topk, renormalize=True):
        super().__init__()
        self.topk = topk
        self.renormalize = renormalize

    def forward(self, gating_output):
        w = torch.softmax(gating_output.float(), dim=-1)
        w, ids = torch.topk(w, self.topk, dim=-1)
        if self.renormalize:
            w = w / w.sum(dim=-1, keepdim=True)
        return w, ids.to(torch.int32)


def get_inputs():
    return [torch.randn(8192, 64)]


def get_init_inputs():
    return [8]
