import torch
import torch.nn as nn
import torch.nn.functional as F

M = 2048
K = 1024
N = 3072


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
