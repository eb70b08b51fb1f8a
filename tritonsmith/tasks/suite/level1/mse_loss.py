"""Mean of the squared differences."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim), (batch, dim) -> ()."""

    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(prediction, target)


batch_size = 4096
dim = 10240


def get_inputs() -> list[torch.Tensor]:
    scale = 1.0 + torch.rand(())
    return [torch.randn(batch_size, dim) * scale, torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
