import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Sigmoid focal loss and soft dice, as a dictionary."""

    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha = alpha
        self.gamma = gamma

    def forward(self, logits, targets):
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        pt = p * targets + (1 - p) * (1 - targets)
        at = self.alpha * targets + (1 - self.alpha) * (1 - targets)
        focal = (at * (1 - pt) ** self.gamma * ce).mean()
        inter = (p * targets).flatten(1).sum(1)
        dice = 1 - (2 * inter + 1) / (p.flatten(1).sum(1) + targets.flatten(1).sum(1) + 1)
        return {"focal": focal, "dice": dice.mean()}


def get_inputs():
    return [torch.randn(16, 1, 128, 128), torch.randint(0, 2, (16, 1, 128, 128)).float()]


def get_init_inputs():
    return []
