import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 10
channels = 64
height, width = 112, 112


class Model(nn.Module):
    """Batch normalisation with the batch's own statistics, ReLU and 2 x 2 max pooling."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)
        nn.init.normal_(self.bn.weight)
        nn.init.normal_(self.bn.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(torch.relu(self.bn(x)), 2)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width) * 2.0 + torch.randn(channels, 1, 1)]


def get_init_inputs() -> list[int]:
    return [channels]
