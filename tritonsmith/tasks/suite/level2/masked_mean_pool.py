import torch
import torch.nn as nn

batch_size = 32
seq_len = 500
features = 768


class Model(nn.Module):
    """Mean over the first `length` positions of each padded sequence."""

    def forward(self, x: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        mask = torch.arange(x.shape[1], device=x.device)[None, :] < length[:, None]
        total = (x * mask[:, :, None].to(x.dtype)).sum(dim=1)
        return total / length[:, None].to(x.dtype)


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(batch_size, seq_len, features) + torch.randn(batch_size, 1, features)
    return [x, torch.randint(1, seq_len + 1, (batch_size,))]


def get_init_inputs() -> list[int]:
    return []
