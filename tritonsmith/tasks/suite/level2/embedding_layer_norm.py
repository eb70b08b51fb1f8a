import torch
import torch.nn as nn

batch_size = 12
seq_len = 512
vocab_size = 30522
hidden_size = 768


class Model(nn.Module):
    """Token and position embeddings, added and layer-normalised, as at the foot of BERT."""

    def __init__(self, vocab_size: int, seq_len: int, hidden_size: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, hidden_size)
        self.position = nn.Embedding(seq_len, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.norm(self.token(ids) + self.position.weight[: ids.shape[1]])


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, vocab_size, (batch_size, seq_len))]


def get_init_inputs() -> list[int]:
    return [vocab_size, seq_len, hidden_size]
