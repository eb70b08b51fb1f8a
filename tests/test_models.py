"""nano and its tokenizer, and how models are loaded and saved."""

from pathlib import Path

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from tritonsmith.config import Config, ConfigError, LoraSection, ModelConfig
from tritonsmith.data import pairs, work
from tritonsmith.data.rows import Row
from tritonsmith.tasks import graphs
from tritonsmith.train import models, trainer
from tritonsmith.train import tokenizer as bpe

shipped = pytest.mark.skipif(not (models.NANO / "model.safetensors").exists(), reason="nano's weights are not there")


def answered(n: int) -> list[Row]:
    """Rows of the first graphs, not judged."""
    return [pairs.row(task, work.convert(task, [pairs.SOURCE])[1][0]) for task in graphs.generate(n, depth=(1, 3))]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    rows = answered(60)
    return bpe.train([text for row in rows for text in (row.prompt[0]["content"], row.completion[0]["content"])], 1024)


@pytest.mark.parametrize("text", ["", "x = 1.0\n", "é\t\x00 ü\r\n\n  3.14 1024", "    x = tl.exp(x)\n", "日本 🙂"])
def test_tokenizer_loses_nothing(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_digits_of_free_numbers_are_single_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    pieces = [tokenizer.decode([one]) for one in tokenizer("    x = x * 0.35\ndim = 4097").input_ids]
    assert [piece for piece in pieces if any(c.isdigit() for c in piece)] == list("035") + list("4097")


def test_boilerplate_lines_are_single_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    assert len(tokenizer("\nimport triton.language as tl\n\n\n@triton.jit").input_ids) == 2


def test_end_and_padding_differ(tokenizer: PreTrainedTokenizerFast) -> None:
    assert tokenizer.eos_token_id != tokenizer.pad_token_id


def test_chat_template_extends_the_prompt(tokenizer: PreTrainedTokenizerFast) -> None:
    row = answered(1)[0]
    prompt = tokenizer.apply_chat_template(row.prompt, add_generation_prompt=True, tokenize=False)
    whole = tokenizer.apply_chat_template(row.prompt + row.completion, tokenize=False)
    assert whole == prompt + row.completion[0]["content"] + bpe.END


def test_prompt_style_is_full_for_other_models() -> None:
    assert models.prompt_style(ModelConfig(id="Qwen/Qwen2.5-Coder-7B-Instruct")) == "full"
    assert models.prompt_style(ModelConfig(id="nano", prompt_style="full")) == "full"


@shipped
def test_a_model_says_in_what_form_it_was_asked_last(tmp_path: Path) -> None:
    config = Config()
    config.model.prompt_style = "plain"
    _, tokenizer = trainer.load(config, None)
    tokenizer.save_pretrained(tmp_path)
    assert models.prompt_style(ModelConfig(id=str(tmp_path))) == "plain"
    assert str(tokenizer.chat_template).count("# prompts:") == 1


@shipped
def test_a_template_that_says_it_already_is_left_alone() -> None:
    _, tokenizer = trainer.load(Config(), None)
    assert tokenizer.chat_template == (models.NANO / "chat_template.jinja").read_text()


@shipped
def test_lora_on_modules_that_a_model_does_not_have_is_one_line() -> None:
    model, _ = models.load(Config().model)
    with pytest.raises(ConfigError, match=r"lora\.target_modules: the model has none of nope"):
        models.lora(LoraSection(target_modules=["nope"]), model)


@shipped
def test_lora_takes_the_configured_numbers() -> None:
    model, _ = models.load(Config().model)
    config = models.lora(LoraSection(r=4, alpha=8), model)
    assert (config.r, config.lora_alpha, config.lora_dropout) == (4, 8, 0.05)


@shipped
def test_nano_loads_and_is_small() -> None:
    model, tokenizer = models.load(ModelConfig(id="nano"))
    assert model.dtype == torch.float32
    assert model.config.vocab_size >= len(tokenizer)
    assert sum(file.stat().st_size for file in models.NANO.glob("*.safetensors")) <= 12 * 2**20


def test_a_path_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model.id: no model") as caught:
        models.load(ModelConfig(id=str(tmp_path)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("id", ["/nowhere/model", "./nowhere", "runs/nowhere/model"])
def test_a_path_where_nothing_is_is_said_before_any_work(id: str) -> None:
    with pytest.raises(ConfigError, match="there is no folder"):
        models.check_id(ModelConfig(id=id))


def test_a_hubs_id_is_no_path() -> None:
    models.check_id(ModelConfig(id="owner/name"))
