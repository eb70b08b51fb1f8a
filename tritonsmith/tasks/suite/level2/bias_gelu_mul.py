import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4096
features = 5120


class Model(nn.Module):
    """GeGLU's pointwise part: gelu(x + b) * gate."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        return F.gelu(x + self.bias) * gate


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, features), torch.randn(batch_size, features)]


def get_init_inputs() -> list[int]:
    return [features]
