import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, q, k):
        s = q @ k.T
        for i in range(0, s.shape[0], 16):
            s[i : i + 16, i + 16 :] = 0.0
        return s


def get_inputs():
    return [torch.randn(64, 32), torch.randn(64, 32)]


def get_init_inputs():
    return []
