"""Sizes of the models of `scale.py`, and what is counted as their work: pure.

What is counted, for a token: 2 N of a forward, N being the weights of all linear layers and the output layer, without
the embedding; as much again for the gradients of activations. Gradients of frozen weights are not computed and not
counted, those of the adapters (2 N_lora, and 4 N_lora for their forward and their activations) are: 4 N + 6 N_lora,
not 6 N. Attention: 2 L s d for the two products of L layers over s tokens, half of it masked, d = heads x size; twice
as much for their gradients. Activations that are computed a second time to save memory are work of the machine, not of
the model, and not counted. GRPO: a forward of each task's prompt and of each token drawn, one of all for the reference,
and the update as above. The share is of 790 TFLOP/s a GPU: measured, dense bfloat16, one H200.
"""

from typing import Any, cast

from transformers import Qwen2Config

PEAK = 790e12
"""FLOP/s that a large bfloat16 product reaches on one H200: measured."""

SIZES: dict[str, dict[str, int]] = {
    "7b": {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
    },
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 4096,
    },
}
"""`7b`: config.json of Qwen/Qwen2.5-Coder-7B-Instruct; `tiny`: for a try on the CPU."""

LENGTHS = {"7b": (1024, 4, 768, 256, 16), "tiny": (128, 2, 512, 8, 16)}
"""Tokens of an SFT row, rows a step and GPU; tokens of a prompt at most, of a completion, completions a step and GPU
(a multiple of 16)."""


def shape(size: str) -> Qwen2Config:
    """The model's configuration."""
    return Qwen2Config(
        **cast("dict[str, Any]", SIZES[size]),
        max_position_embeddings=32768,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        rms_norm_eps=1e-6,
        tie_word_embeddings=False,
        use_sliding_window=False,
    )


def linear_weights(config: Qwen2Config) -> int:
    """N: weights of the linear layers and of the output layer."""
    d, size = config.hidden_size, config.hidden_size // config.num_attention_heads
    attention = 2 * d * d + 2 * d * _kv_heads(config) * size
    layers = config.num_hidden_layers * (attention + 3 * d * config.intermediate_size)
    return layers + d * config.vocab_size


def adapter_weights(config: Qwen2Config, r: int) -> int:
    """N_lora: weights of adapters on every linear layer but the output's."""
    d, size = config.hidden_size, config.hidden_size // config.num_attention_heads
    kv, wide = _kv_heads(config) * size, config.intermediate_size
    return config.num_hidden_layers * r * (2 * (d + d) + 2 * (d + kv) + 3 * (d + wide))


def forward_flops(config: Qwen2Config, r: int, length: int) -> float:
    """FLOP a token of a sequence of that length, on average, adapters included."""
    attention = 2 * config.num_hidden_layers * length * config.hidden_size
    return 2.0 * (linear_weights(config) + adapter_weights(config, r)) + attention


def training_flops(config: Qwen2Config, r: int, length: int) -> float:
    """FLOP a token of forward and backward with a frozen base."""
    attention = 2 * config.num_hidden_layers * length * config.hidden_size
    return 4.0 * linear_weights(config) + 6.0 * adapter_weights(config, r) + 3 * attention


def _kv_heads(config: Qwen2Config) -> int:
    return config.num_key_value_heads or config.num_attention_heads
