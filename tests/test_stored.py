"""Packed rows as a file: the same rows elsewhere, of one file or of several, and no other's."""

from pathlib import Path

import pytest
import torch
from conftest import tiny_tokenizer
from test_pretrain import DOCUMENTS, full_disk, row, write
from transformers import PreTrainedTokenizerFast

from tritonsmith.config import ModelConfig
from tritonsmith.errors import UserError
from tritonsmith.train import models
from tritonsmith.train import tokenizer as bpe
from tritonsmith.train.pretrain import __main__ as command
from tritonsmith.train.pretrain import loop, packing, stored


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerFast:
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def packed(words: PreTrainedTokenizerFast) -> packing.Packed:
    return packing.pack(words, DOCUMENTS, 64)


def test_rows_that_were_packed_elsewhere_are_the_same_rows(
    words: PreTrainedTokenizerFast, packed: packing.Packed, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "rows.npz.xz"
    stored.write(path, words, stored.Kept(packed, {2: packed}, "canonical"))
    kept = stored.read(path, words)
    train, validation = kept.train, kept.validation
    assert kept.prompt == "canonical"
    assert list(validation) == [2] and [one.name for one in path.parent.iterdir()] == ["rows.npz.xz"]
    for found in (train, validation[2]):
        for name in ("ids", "positions", "kinds"):
            assert torch.equal(getattr(found, name), getattr(packed, name))
            assert getattr(found, name).dtype == getattr(packed, name).dtype
        assert (found.documents, found.text) == (packed.documents, packed.text)


def test_packed_rows_of_another_tokenizer_and_other_files_are_refused(
    words: PreTrainedTokenizerFast, packed: packing.Packed, tmp_path: Path
) -> None:
    path = tmp_path / "rows.npz.xz"
    stored.write(path, words, stored.Kept(packed, {}))
    with pytest.raises(UserError, match="another tokenizer"):
        stored.read(path, bpe.train(["y = tl.exp(x)\n"] * 20, 300))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UserError, match="no packed rows"):
        stored.read(path, words)


def test_packed_rows_that_find_no_room_leave_nothing(words: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    noise = torch.randint(1, 200, (64, 512), dtype=torch.int32)
    rows = packing.Packed(noise, torch.zeros_like(noise, dtype=torch.int16), torch.ones_like(noise, dtype=torch.uint8))
    with full_disk(), pytest.raises(UserError, match="cannot be kept"):
        stored.write(tmp_path / "rows.npz.xz", words, stored.Kept(rows, {}))
    assert not list(tmp_path.iterdir())


def test_who_packs_on_one_machine_trains_on_another(tmp_path: Path) -> None:
    data = write(tmp_path / "train.jsonl", [row(f"{i}", "x" * (i % 5 + 1), graph=f"{i}") for i in range(200)])
    size = models.Size(hidden=32, intermediate=64, layers=1, heads=2, positions=256)
    recipe, kept = loop.Recipe(minutes=0.01, batch=2), tmp_path / "rows.npz.xz"
    here, there = tmp_path / "here", tmp_path / "there"
    command.train([data], here, size, recipe, length=128, vocabulary=300, prompt="bare", packed=[kept], pack_only=True)
    assert not (here / "model").exists()
    with pytest.raises(UserError, match="give --tokenizer"):
        command.train([], there, size, recipe, packed=[kept])
    other = tmp_path / "other"
    bpe.train(["y = tl.exp(x)\n"] * 20, 300).save_pretrained(other)
    with pytest.raises(UserError, match="another tokenizer"):  # and is not kept, so that the right one may be given
        command.train([], there, size, recipe, tokenizer=other, packed=[kept])
    folder = command.train([], there, size, recipe, tokenizer=here / "tokenizer", packed=[kept])
    assert (folder / "model.safetensors").exists()
    assert models.prompt_style(ModelConfig(id=str(folder))) == "bare"


def test_rows_of_several_files_are_learnt_from_as_those_of_one(tmp_path: Path) -> None:
    size = models.Size(hidden=32, intermediate=64, layers=1, heads=2, positions=256)
    recipe, here, kept = loop.Recipe(minutes=0.01, batch=2), tmp_path / "here", []
    for number in range(2):
        rows = [row(f"{i}", "x" * (i % 5 + 1), graph=f"{i}") for i in range(100 * number, 100 * number + 100)]
        kept.append(tmp_path / f"{number}.npz.xz")
        data = write(tmp_path / f"{number}.jsonl", rows)
        command.train([data], here, size, recipe, length=128, vocabulary=300, packed=kept[-1:], pack_only=True)
    own = command._tokenizer(here / "tokenizer", None, (), 300, 0)
    first, second = (stored.read(path, own).train for path in kept)
    both = stored.together([stored.read(path, own) for path in kept]).train
    assert torch.equal(both.ids, torch.cat([first.ids, second.ids]))
    assert both.documents == first.documents + second.documents > first.documents > 0
    folder = command.train([], tmp_path / "there", size, recipe, tokenizer=here / "tokenizer", packed=kept)
    assert (folder / "model.safetensors").exists()
    with pytest.raises(UserError, match="is not there"):
        command.train([], tmp_path / "new", size, recipe, packed=[*kept, tmp_path / "no.npz.xz"])


def test_files_whose_rows_differ_in_length_are_refused(
    words: PreTrainedTokenizerFast,
    packed: packing.Packed,
) -> None:
    shorter = packing.Packed(packed.ids[:, :9], packed.positions[:, :9], packed.kinds[:, :9])
    with pytest.raises(UserError, match="of 9, 64 tokens"):
        stored.together([stored.Kept(packed, {}), stored.Kept(shorter, {})])
    with pytest.raises(UserError, match="shown as bare, plain"):
        stored.together([stored.Kept(packed, {}, "plain"), stored.Kept(packed, {}, "bare")])
