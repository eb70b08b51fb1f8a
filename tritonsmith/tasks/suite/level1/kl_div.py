"""Kullback-Leibler divergence of a target distribution from given log-probabilities."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim), (batch, dim) -> (), the mean over the batch."""

    def forward(self, log_probability: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.kl_div(log_probability, target, reduction="batchmean")


batch_size = 4096
dim = 10240


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(())
    log_probability = F.log_softmax(torch.randn(batch_size, dim) * scale, dim=-1)
    return [log_probability, F.softmax(torch.randn(batch_size, dim), dim=-1)]


def get_init_inputs() -> list[object]:
    return []
