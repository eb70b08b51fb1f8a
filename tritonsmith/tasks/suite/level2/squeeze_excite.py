import torch
import torch.nn as nn

batch_size = 32
channels = 192
height, width = 56, 56
squeezed = 12


class Model(nn.Module):
    """Squeeze and excitation: each channel times a gate computed from the means of all channels."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, squeezed)
        self.excite = nn.Linear(squeezed, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = torch.relu(self.squeeze(x.mean(dim=(2, 3))))
        gate = torch.sigmoid(self.excite(gate))
        return x * gate[:, :, None, None]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width) + 3.0 * torch.randn(batch_size, channels, 1, 1)]


def get_init_inputs() -> list[int]:
    return [channels, squeezed]
