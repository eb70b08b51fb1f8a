"""Plan and code as tokens: every token in one segment, whatever tokenizer, and on what was cut off."""

import pytest
import torch
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers import models as token_models
from transformers import PreTrainedTokenizerFast

from tritonsmith.config import ModelConfig
from tritonsmith.prompts import render_completion
from tritonsmith.train import models
from tritonsmith.train.segments import boundary, masks, token_starts

CODE = "import torch\n\n\nclass ModelNew:\n    pass\n"
TEXT = render_completion("Fuse the two, π times.", CODE)


def _metaspace() -> PreTrainedTokenizerFast:
    """A tokenizer of the SentencePiece kind, whose first space is not part of the text."""
    characters = sorted(set(TEXT.replace(" ", "▁")) | {"▁"})
    vocabulary = {token: i for i, token in enumerate(["<unk>", "</s>", *characters])}
    tokenizer = Tokenizer(token_models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>")


def _bytes() -> PreTrainedTokenizerFast:
    """Every byte a token of its own: characters of several bytes are split."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(
        token_models.BPE(vocab={token: i for i, token in enumerate(["<|end|>", *alphabet])}, merges=[])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


@pytest.fixture(scope="module", params=["nano", "bytes", "metaspace"])
def tokenizer(request: pytest.FixtureRequest) -> PreTrainedTokenizerFast:
    if request.param == "nano":
        loaded = models.load(ModelConfig(id="nano"))[1]
        assert isinstance(loaded, PreTrainedTokenizerFast)
        return loaded
    return _bytes() if request.param == "bytes" else _metaspace()


def _ids(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False)


def test_the_text_is_that_of_the_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = [*_ids(tokenizer, TEXT), tokenizer.eos_token_id]
    text, starts = token_starts(ids, tokenizer)
    assert text == tokenizer.decode(ids, skip_special_tokens=True)
    assert starts[0] == 0 and starts == sorted(starts) and starts[-1] == len(text)


def test_every_token_is_in_one_segment(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = [*_ids(tokenizer, TEXT), tokenizer.eos_token_id]
    found = masks([ids, ids[:7]], tokenizer)
    both = found["plan"] + found["code"]
    assert torch.equal(both[0], torch.ones(len(ids)))
    assert both[1].sum() == 7 and both[1, 7:].sum() == 0


def test_the_plan_ends_where_its_text_ends(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = _ids(tokenizer, TEXT)
    plan = [token for token, one in zip(ids, masks([ids], tokenizer)["plan"][0].tolist(), strict=True) if one]
    assert tokenizer.decode(plan, skip_special_tokens=True).strip() == "Fuse the two, π times."


def test_the_end_belongs_to_the_code(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = [*_ids(tokenizer, TEXT), tokenizer.eos_token_id]
    assert masks([ids], tokenizer)["code"][0, -1] == 1


def test_a_completion_without_code_is_all_code(tokenizer: PreTrainedTokenizerFast) -> None:
    ids = _ids(tokenizer, "Fuse the two")
    assert masks([ids], tokenizer)["plan"].sum() == 0


def test_a_completion_cut_off_within_the_code_keeps_its_plan(tokenizer: PreTrainedTokenizerFast) -> None:
    whole = _ids(tokenizer, TEXT)
    cut = whole[: len(whole) - 4]
    assert masks([cut], tokenizer)["plan"].sum() == masks([whole], tokenizer)["plan"].sum()


def test_other_tokens_of_the_same_text_are_followed_as_drawn() -> None:
    """nano's merges make one token of a line; a model may as well write it letter by letter."""
    tokenizer = models.load(ModelConfig(id="nano"))[1]
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    letters = [token for character in TEXT for token in _ids(tokenizer, character)]
    assert letters != _ids(tokenizer, TEXT)
    text, starts = token_starts(letters, tokenizer)
    assert text == TEXT and len(starts) == len(letters)
    assert masks([letters], tokenizer)["plan"].sum() == sum(start < boundary(TEXT) for start in starts)
