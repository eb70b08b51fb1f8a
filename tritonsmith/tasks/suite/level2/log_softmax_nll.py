import torch
import torch.nn as nn

tokens = 2048
vocab_size = 50257


class Model(nn.Module):
    """Language-model loss, one number a token: -log_softmax(logits)[target]."""

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        log_probs = torch.log_softmax(logits, dim=-1)
        return -log_probs.gather(1, target[:, None]).squeeze(1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, vocab_size) * 4.0, torch.randint(0, vocab_size, (tokens,))]


def get_init_inputs() -> list[int]:
    return []
