"""What several tests share: a tiny model of nano's kind, made in a second, and a warm verifier."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.pool import Verifier

TEMPLATE = (
    "{% for m in messages %}{{ '<|task|>' if m.role == 'user' else '<|answer|>' }}{{ m.content }}"
    "{{ '<|end|>' if m.role == 'assistant' else '' }}{% endfor %}"
    "{{ '<|answer|>' if add_generation_prompt else '' }}"
)


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, no merges, and the four special tokens."""
    special = ["<|pad|>", "<|end|>", "<|task|>", "<|answer|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(special + alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        additional_special_tokens=["<|task|>", "<|answer|>"],
    )
    fast.chat_template = TEMPLATE
    return fast


def tiny_model(positions: int = 1024) -> Qwen3ForCausalLM:
    """Random weights, 30 thousand parameters."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=positions,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config)


@pytest.fixture(autouse=True)
def torch_settings_are_left_as_they_were() -> Iterator[None]:
    """What one test leaves of the process's settings decides what later ones see: training once left TF32 behind."""
    before = _settings()
    yield
    assert _settings() == before


def _settings() -> tuple[object, ...]:
    """What a process has once, and judging and sampling go by."""
    deterministic = torch.are_deterministic_algorithms_enabled()
    return torch.get_float32_matmul_precision(), torch.get_default_dtype(), deterministic, torch.is_grad_enabled()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a GPU are skipped where there is none."""
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("gpu") is not None:
                item.add_marker(pytest.mark.skip(reason="torch sees no CUDA device"))


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny model and its tokenizer, as `model.id` takes it."""
    folder = tmp_path_factory.mktemp("tiny")
    tiny_model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def verifier() -> Iterator[Verifier]:
    """A warm verifier on the CPU with every setting at its default."""
    with Verifier(VerifyConfig(device="cpu")) as warm:
        yield warm
