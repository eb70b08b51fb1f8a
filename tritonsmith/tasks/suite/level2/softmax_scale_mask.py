import torch
import torch.nn as nn

batch_size = 8
num_heads = 12
seq_len = 384
scale = 0.125


class Model(nn.Module):
    """Attention weights from scores: softmax(scale * scores) over the positions that the mask allows."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        masked = (scores * self.scale).masked_fill(~mask[:, None, None, :], float("-inf"))
        return torch.softmax(masked, dim=-1)


def get_inputs() -> list[torch.Tensor]:
    mask = torch.rand(batch_size, seq_len) < 0.75
    mask[:, 0] = True
    return [torch.randn(batch_size, num_heads, seq_len, seq_len) * 16.0, mask]


def get_init_inputs() -> list[float]:
    return [scale]
