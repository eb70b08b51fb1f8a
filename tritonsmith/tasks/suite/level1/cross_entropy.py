"""Mean cross-entropy of logits against class indices."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, classes), (batch,) int64 -> ()."""

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(logits, target)


batch_size = 2048
classes = 32000


def get_inputs() -> list[torch.Tensor]:
    scale = 1.0 + 3.0 * torch.rand(())
    return [torch.randn(batch_size, classes) * scale, torch.randint(0, classes, (batch_size,))]


def get_init_inputs() -> list[object]:
    return []
