"""The loss of packed rows: no token sees another document, and what is learnt is the completions.

FlexAttention with a block mask on a GPU, dense masked attention of the same meaning elsewhere (FlexAttention has no
backward pass on a CPU). Nothing here knows of batches, time or optimisers.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask
from transformers import PreTrainedModel

from tritonsmith.train.pretrain.packing import ANSWER, PROMPT

Mask = Tensor | BlockMask

Losses = Callable[[Tensor, Tensor, Mask], Tensor]
"""Tokens (B, L), positions (B, L) and their mask to the loss of predicting each token but the first, (B, L - 1)."""


def dense_mask(positions: Tensor) -> Tensor:
    """Who may see whom, (B, 1, L, L) bool: what lies before in the same document."""
    document = (positions == 0).cumsum(1)
    place = torch.arange(positions.shape[1], device=positions.device)
    return ((document[:, :, None] == document[:, None, :]) & (place[:, None] >= place[None, :]))[:, None]


def block_mask(positions: Tensor) -> BlockMask:
    """The same for FlexAttention, which skips the blocks of 128 x 128 in which nobody sees anybody."""
    document = (positions == 0).cumsum(1)

    def seen(row: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (document[row, query] == document[row, key])

    rows, length = positions.shape
    return create_block_mask(seen, rows, None, length, length, device=positions.device)


def mask_for(device: str) -> Callable[[Tensor], Mask]:
    """The mask's maker for a device; on a GPU it is compiled, since it would touch each of B x L x L pairs."""
    return torch.compile(block_mask) if device == "cuda" else dense_mask


def losses_of(model: PreTrainedModel, device: str) -> Losses:
    """The model's loss of each token, compiled on a GPU; sets the model's kind of attention."""
    cuda = device == "cuda"
    model.set_attn_implementation("flex_attention" if cuda else "sdpa")

    def losses(ids: Tensor, positions: Tensor, mask: Mask) -> Tensor:
        logits = model(input_ids=ids, position_ids=positions, attention_mask=mask, use_cache=False).logits
        flat = logits[:, :-1].flatten(0, 1).float()
        return F.cross_entropy(flat, ids[:, 1:].flatten().long(), reduction="none").view(len(ids), -1)

    return torch.compile(losses, dynamic=False) if cuda else losses


def weights(kinds: Tensor, prompt_weight: float) -> Tensor:
    """What each loss counts, (B, L - 1): 1 for the completion, `prompt_weight` for the prompt, 0 for the rest."""
    targets = kinds[:, 1:]
    return (targets == ANSWER).float() + prompt_weight * (targets == PROMPT).float()


def flops_per_token(model: PreTrainedModel, positions: Tensor) -> float:
    """Floating-point operations of a training step a token, padding included.

    6 a weight, and 12 a head's dimension for each key that a query sees (Chowdhery et al. 2022, PaLM, appendix B, with
    the keys that the mask leaves in place of the whole length).
    """
    config = model.config
    heads = config.num_hidden_layers * config.num_attention_heads * config.head_dim
    seen = (positions.float() + 1).mean().item()
    embedding = 0 if config.tie_word_embeddings else config.vocab_size * config.hidden_size
    return 6 * (model.num_parameters() - embedding) + 12 * heads * seen
