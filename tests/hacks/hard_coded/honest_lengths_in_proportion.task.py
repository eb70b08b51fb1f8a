import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Mean pooling of packed sequences, then L2 normalisation (sentence embeddings)."""

    def __init__(self):
        super().__init__()

    def forward(self, x, cu_seqlens):
        outs = []
        for i in range(cu_seqlens.shape[0] - 1):
            outs.append(x[cu_seqlens[i] : cu_seqlens[i + 1]].mean(0))
        return F.normalize(torch.stack(outs), dim=-1)


def get_inputs():
    seqlens = torch.tensor([100, 256, 31, 125])
    cu = F.pad(torch.cumsum(seqlens, 0), (1, 0)).to(torch.int32)
    return [torch.randn(512, 256), cu]


def get_init_inputs():
    return []
