"""Mean smooth L1 loss: quadratic below beta, linear above."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim), (batch, dim) -> ()."""

    def __init__(self, beta: float) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(prediction, target, beta=self.beta)


batch_size = 4096
dim = 12288
beta = 0.75


def get_inputs() -> list[torch.Tensor]:
    scale = 1.0 + torch.rand(())
    return [torch.randn(batch_size, dim) * scale, torch.randn(batch_size, dim)]


def get_init_inputs() -> list[float]:
    return [beta]
