"""log(sum(exp(x))) over the last dimension."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch,)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(x, dim=-1)


batch_size = 4096
dim = 12288


def get_inputs() -> list[torch.Tensor]:
    scale = 10.0 * torch.rand(batch_size, 1)
    return [torch.randn(batch_size, dim) * scale]


def get_init_inputs() -> list[object]:
    return []
