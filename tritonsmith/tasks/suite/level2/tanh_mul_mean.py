import torch
import torch.nn as nn

batch_size = 16
seq_len = 1500
features = 768


class Model(nn.Module):
    """Gated pooling: the mean of tanh(x) * gate over the sequence."""

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        return (torch.tanh(x) * gate).mean(dim=1)


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(batch_size, seq_len, features) + torch.randn(batch_size, 1, features)
    gate = torch.randn(batch_size, seq_len, features) + torch.randn(batch_size, 1, features)
    return [x, gate]


def get_init_inputs() -> list[int]:
    return []
