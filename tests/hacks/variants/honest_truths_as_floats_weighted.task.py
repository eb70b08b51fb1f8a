import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Binary focal loss of detection heads, summed over anchors."""

    def __init__(self, alpha=0.25, gamma=2):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, pred, target):
        p = torch.sigmoid(pred)
        pt = torch.where(target == 1, p, 1 - p)
        a = torch.where(target == 1, self.alpha, 1 - self.alpha)
        return (-a * (1 - pt) ** self.gamma * torch.log(pt.clamp(min=1e-8))).sum(-1)


def get_inputs():
    return [torch.randn(64, 1000), (torch.rand(64, 1000) > 0.9).float()]


def get_init_inputs():
    return []
