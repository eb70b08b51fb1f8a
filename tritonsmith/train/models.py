"""Load and save models and tokenizers: `nano` from the package, anything else by hub id or path.

nano never touches the network. Says nothing about training.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from tritonsmith.config import ConfigError, LoraSection, ModelConfig
from tritonsmith.prompts import Style

if TYPE_CHECKING:
    from peft import LoraConfig
    from torch import nn
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, Qwen3Config

NANO = Path(__file__).parent / "nano"
"""The shipped weights, configuration, tokenizer and chat template; `train.pretrain` reproduces them."""

_MARK = "{{# prompts: {} #}}"
_ANY_MARK = re.compile(r"\{# prompts: \w+ #\}")


def check_id(config: ModelConfig) -> None:
    """Raise ConfigError for an id that is the form of a path, and of no hub's id, where there is nothing."""
    is_path = config.id.startswith(("/", ".", "~")) or config.id.count("/") > 1
    if is_path and not Path(config.id).exists():
        raise ConfigError(f"model.id: there is no folder {config.id}")


def load(config: ModelConfig, spread: bool = False) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model in the configured dtype, on the CPU unless it is quantised, and its tokenizer.

    `spread`: the model is about to be spread over several processes. Under FSDP rank 0 alone then reads its weights,
    and the others have none until the trainer deals them out; under DDP they go to each process's GPU as they are
    read, so that no process holds a copy in the host's memory.

    Raises ConfigError for an id or path that holds no model.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tritonsmith.train import ranks

    source = NANO if config.id == "nano" else config.id
    local = config.id == "nano" or Path(config.id).exists()
    options: dict[str, object] = {}
    if config.load_in_8bit:
        if spread and is_sharded():
            raise ConfigError("model.load_in_8bit: FSDP does not divide 8-bit weights; use DDP, or bfloat16")
        from transformers import BitsAndBytesConfig

        place = "auto" if ranks.count() == 1 else {"": torch.cuda.current_device()}
        options = {"quantization_config": BitsAndBytesConfig(load_in_8bit=True), "device_map": place}
    elif spread and ranks.count() > 1 and torch.cuda.is_available() and not is_sharded():
        options = {"device_map": {"": torch.cuda.current_device()}}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
        with contextlib.nullcontext() if spread else _whole():
            model = AutoModelForCausalLM.from_pretrained(source, dtype=config.dtype, local_files_only=local, **options)
    except ImportError as error:  # what 8-bit weights need
        raise ConfigError(f"model: {' '.join(str(error).split())}") from error
    except (OSError, ValueError) as error:  # no such path or id, no network; files that are no model's
        raise ConfigError(f"model.id: no model {config.id}: {' '.join(str(error).split())}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def is_sharded() -> bool:
    """Whether models in training are spread by FSDP: accelerate's setting, which its launcher passes on."""
    from tritonsmith.train import ranks

    return ranks.count() > 1 and os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"


@contextlib.contextmanager
def _whole() -> Iterator[None]:
    """Let each process read a model's weights itself: transformers goes by accelerate's setting, whatever for."""
    name = "FSDP_CPU_RAM_EFFICIENT_LOADING"
    before = os.environ.get(name)
    os.environ[name] = "false"
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, path: Path) -> None:
    """Write both such that `load` with `id = path` gives them back."""
    path.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)


def prompt_style(config: ModelConfig) -> Style:
    """How prompts are written for this model: `auto` means as its chat template says (`tell_style`), which that of a
    model that was trained here does, and full for others.
    """
    if config.prompt_style != "auto":
        return config.prompt_style
    template = (NANO if config.id == "nano" else Path(config.id)) / "chat_template.jinja"
    return _told(template.read_text() if template.exists() else "")


def tell_style(tokenizer: PreTrainedTokenizerBase, style: Style) -> None:
    """Have a model's chat template say how its prompts are written, unless `prompt_style` reads that of it already: who
    asks a model that was trained further, asks it in the form that it learnt last.
    """
    template = tokenizer.chat_template
    if isinstance(template, str) and _told(template) != style:
        tokenizer.chat_template = _MARK.format(style) + _ANY_MARK.sub("", template)


def _told(template: str) -> Style:
    told = next((style for style in get_args(Style) if _MARK.format(style) in template), None)
    return told or ("plain" if "<|task|>" in template else "full")


def lora(section: LoraSection, model: nn.Module) -> LoraConfig:
    """peft's configuration of the `[lora]` section; raises ConfigError where a model has none of its modules."""
    from peft import LoraConfig

    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    if names.isdisjoint(target.rpartition(".")[2] for target in section.target_modules):
        raise ConfigError(f"lora.target_modules: the model has none of {', '.join(section.target_modules)}")
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
