"""Load and save models and tokenizers: `nano` from the package, anything else by hub id or path.

nano never touches the network. Says nothing about training.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tritonsmith.config import ConfigError, LoraSection, ModelConfig
from tritonsmith.prompts import Style

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, Qwen3Config

NANO = Path(__file__).parent / "nano"
"""The shipped weights, configuration, tokenizer and chat template; `train.pretrain` reproduces them."""


def load(config: ModelConfig) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model in the configured dtype, on the CPU unless it is quantised, and its tokenizer.

    Raises ConfigError for an id or path that holds no model.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = NANO if config.id == "nano" else config.id
    local = config.id == "nano" or Path(config.id).exists()
    options: dict[str, object] = {}
    if config.load_in_8bit:
        from transformers import BitsAndBytesConfig

        options = {"quantization_config": BitsAndBytesConfig(load_in_8bit=True), "device_map": "auto"}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
        model = AutoModelForCausalLM.from_pretrained(source, dtype=config.dtype, local_files_only=local, **options)
    except (OSError, ValueError) as error:  # no such path or id, no network; files that are no model's
        raise ConfigError(f"model.id: no model {config.id}: {' '.join(str(error).split())}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, path: Path) -> None:
    """Write both such that `load` with `id = path` gives them back."""
    path.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)


def prompt_style(config: ModelConfig) -> Style:
    """How prompts are written for this model: `auto` means plain for nano and all that was trained as nano was, by
    `train.pretrain` on plain prompts.
    """
    if config.prompt_style != "auto":
        return config.prompt_style
    if config.id == "nano":
        return "plain"
    template = Path(config.id) / "chat_template.jinja"
    return "plain" if template.exists() and "<|task|>" in template.read_text() else "full"


def lora(section: LoraSection) -> LoraConfig:
    """peft's configuration of the `[lora]` section."""
    from peft import LoraConfig

    return LoraConfig(
        r=section.r,
        lora_alpha=section.alpha,
        lora_dropout=section.dropout,
        target_modules=section.target_modules,
        task_type="CAUSAL_LM",
    )


@dataclass(frozen=True)
class Size:
    """The shape of a Qwen3 that is trained from nothing."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    """Of queries, 64 dimensions each; half as many of keys and values."""
    positions: int = 4096


SIZES = {
    "nano": Size(hidden=256, intermediate=768, layers=6, heads=4, positions=2048),
    "base": Size(hidden=512, intermediate=1536, layers=8, heads=8),
    "base-60m": Size(hidden=640, intermediate=1920, layers=12, heads=8),
    "base-130m": Size(hidden=768, intermediate=2304, layers=16, heads=16),
}
"""Parameters with a vocabulary of 4096: 5.8, 27, 59 and 126 million; nano takes 11 MiB in bfloat16.

Powers of two for the heads: FlexAttention in transformers repeats the keys for other numbers.
"""


def from_nothing(size: Size, tokenizer: PreTrainedTokenizerBase) -> Qwen3Config:
    """The configuration of a Qwen3 of that size for a tokenizer, embedding and output tied."""
    from transformers import Qwen3Config

    ids = tokenizer.get_vocab()
    return Qwen3Config(
        vocab_size=-(-len(tokenizer) // 64) * 64,
        hidden_size=size.hidden,
        intermediate_size=size.intermediate,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads // 2,
        head_dim=64,
        max_position_embeddings=size.positions,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=ids[str(tokenizer.eos_token)],
        pad_token_id=ids[str(tokenizer.pad_token)],
    )


def nano_config(tokenizer: PreTrainedTokenizerBase) -> Qwen3Config:
    """nano's architecture for its tokenizer: 5 million parameters, 10 MiB in bfloat16."""
    return from_nothing(SIZES["nano"], tokenizer)
