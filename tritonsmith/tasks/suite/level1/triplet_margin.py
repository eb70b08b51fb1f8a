"""Mean triplet loss: how far the positive is from the anchor, beyond the negative, plus a margin."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim), (batch, dim), (batch, dim) -> ()."""

    def __init__(self, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
        return F.triplet_margin_loss(anchor, positive, negative, margin=self.margin)


batch_size = 16384
dim = 768
margin = 1.0


def get_inputs() -> list[torch.Tensor]:
    scale = 1.5 + torch.rand(())
    anchor = torch.randn(batch_size, dim)
    return [anchor, anchor + torch.randn(batch_size, dim) * scale, torch.randn(batch_size, dim)]


def get_init_inputs() -> list[float]:
    return [margin]
