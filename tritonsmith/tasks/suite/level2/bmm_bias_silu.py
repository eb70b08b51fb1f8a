import torch
import torch.nn as nn
import torch.nn.functional as F

experts = 12
tokens = 500
in_features = 1024
out_features = 1536


class Model(nn.Module):
    """One linear layer an expert, each on its own tokens, and SiLU."""

    def __init__(self, experts: int, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(experts, in_features, out_features) / in_features**0.5)
        self.bias = nn.Parameter(torch.randn(experts, out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(torch.bmm(x, self.weight) + self.bias[:, None, :])


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(experts, tokens, in_features)]


def get_init_inputs() -> list[int]:
    return [experts, in_features, out_features]
