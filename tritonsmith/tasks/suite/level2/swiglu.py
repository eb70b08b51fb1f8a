import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 4096
hidden_size = 5632


class Model(nn.Module):
    """SwiGLU of a packed projection: silu(first half) * second half."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = x.chunk(2, dim=-1)
        return F.silu(gate) * up


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, 2 * hidden_size)]


def get_init_inputs() -> list[int]:
    return []
