import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
seq_len = 1024
hidden_size = 1152


class Model(nn.Module):
    """Adaptive layer normalisation of a diffusion transformer: layer_norm(x) * (1 + scale) + shift."""

    def forward(self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        normed = F.layer_norm(x, x.shape[-1:], eps=1e-6)
        return normed * (1.0 + scale[:, None, :]) + shift[:, None, :]


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(batch_size, seq_len, hidden_size) * 2.0 + 1.0
    return [x, torch.randn(batch_size, hidden_size), torch.randn(batch_size, hidden_size)]


def get_init_inputs() -> list[int]:
    return []
