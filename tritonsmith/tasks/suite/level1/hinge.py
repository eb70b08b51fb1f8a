"""Mean hinge loss: max(0, 1 - target * prediction), targets are -1 or 1."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim), (batch, dim) -> ()."""

    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.clamp(1.0 - prediction * target, min=0.0).mean()


batch_size = 4096
dim = 10240


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(())
    return [torch.randn(batch_size, dim) * scale, torch.randn(batch_size, dim).sign()]


def get_init_inputs() -> list[object]:
    return []
