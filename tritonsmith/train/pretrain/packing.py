"""Documents as rows of tokens of one length, packed without cutting any: TRL's best-fit decreasing.

What keeps the documents of a row apart is the attention mask (`model`) and positions that begin anew with each.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import datasets
import numpy as np
import torch
from datasets import Dataset
from torch import Tensor
from transformers import PreTrainedTokenizerFast
from trl.data_utils import pack_dataset

from tritonsmith.train import tokenizer as bpe
from tritonsmith.train.pretrain.rows import Document

log = logging.getLogger(__name__)

PROMPT, ANSWER = 1, 2
"""Kinds of targets; 0 is padding and a document's first token, which nothing predicts."""

CHUNK = 10_000
"""Documents that are encoded, and packed, at a time: bounds what Python's lists of numbers take."""


@dataclass(frozen=True)
class Packed:
    """Rows of tokens, (R, L) each."""

    ids: Tensor
    """int32 tokens; what a row has left over is padding."""
    positions: Tensor
    """int16 places within the document, from 0; each token of padding is a document of its own."""
    kinds: Tensor
    """uint8 kind of the token: PROMPT, ANSWER or 0."""
    documents: int = 0
    text: int = 0
    """Bytes of the completions' text: a loss counted by them can be compared between tokenizers."""

    def __len__(self) -> int:
        return len(self.ids)

    def to(self, device: str) -> "Packed":
        """The same on a device."""
        moved = (tensor.to(device) for tensor in (self.ids, self.positions, self.kinds))
        return Packed(*moved, documents=self.documents, text=self.text)

    @classmethod
    def of(cls, ids: np.ndarray, positions: np.ndarray, kinds: np.ndarray, documents: int, text: int) -> "Packed":
        """The same as arrays, as tensors."""
        return cls(*map(torch.from_numpy, (ids, positions, kinds)), documents=documents, text=text)

    @classmethod
    def together(cls, parts: Sequence["Packed"]) -> "Packed":
        """All rows of the parts, in their order."""
        columns = ([part.ids for part in parts], [part.positions for part in parts], [part.kinds for part in parts])
        documents, text = sum(part.documents for part in parts), sum(part.text for part in parts)
        return cls(*map(torch.cat, columns), documents=documents, text=text)

    @property
    def filled(self) -> float:
        """Share of the tokens that are no padding."""
        return float(((self.kinds > 0) | (self.positions > 0)).float().mean())


def encode(
    tokenizer: PreTrainedTokenizerFast, documents: Sequence[Document]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Ids and kinds of each document, int32 and uint8 of equal length, in order; a text is encoded once a chunk."""
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    end = tokenizer.get_vocab()[bpe.END]
    for start in range(0, len(documents), CHUNK):
        part = documents[start : start + CHUNK]
        texts = list(dict.fromkeys(text for one in part for text in (one.prompt, one.completion)))
        encoded = backend.encode_batch_fast(texts, add_special_tokens=False)
        ids = {text: np.array(one.ids, dtype=np.int32) for text, one in zip(texts, encoded, strict=True)}
        for one in part:
            prompt, answer = ids[one.prompt], ids[one.completion]
            kinds = np.full(len(prompt) + len(answer) + 1, ANSWER, dtype=np.uint8)
            kinds[: len(prompt)] = PROMPT
            kinds[0] = 0
            yield np.concatenate([prompt, answer, [end]]).astype(np.int32), kinds


def pack(tokenizer: PreTrainedTokenizerFast, documents: Sequence[Document], length: int) -> Packed:
    """All documents of at most `length` tokens in rows of that many; longer ones are left out, and it is said: of long
    ones alone there is no row."""
    rows: dict[str, list[np.ndarray]] = {"ids": [], "kinds": []}
    text = 0
    for one, (ids, kinds) in zip(documents, encode(tokenizer, documents), strict=True):
        if len(ids) <= length:
            rows["ids"].append(ids)
            rows["kinds"].append(kinds)
            text += len(one.completion.encode())
    if len(rows["ids"]) < len(documents):
        log.info(
            "%d of %d documents are longer than %d tokens", len(documents) - len(rows["ids"]), len(documents), length
        )
    return in_rows(rows["ids"], rows["kinds"], length, cast(int, tokenizer.pad_token_id), text)


def in_rows(
    ids_of: Sequence[np.ndarray], kinds_of: Sequence[np.ndarray], length: int, padding: int, text: int = 0
) -> Packed:
    """Documents of at most `length` tokens, as `encode` gives them, in rows of that many."""
    if not ids_of:
        nothing = np.zeros((0, length))
        return Packed.of(nothing.astype(np.int32), nothing.astype(np.int16), nothing.astype(np.uint8), 0, 0)
    datasets.disable_progress_bars()
    options = {"batch_size": CHUNK, "keep_in_memory": True}
    documents = Dataset.from_dict({"ids": ids_of, "kinds": kinds_of})
    packed = cast(Dataset, pack_dataset(documents, length, "bfd", options)).with_format("numpy")
    shape = (len(packed), length)
    ids = np.full(shape, padding, dtype=np.int32)
    positions, kinds = np.zeros(shape, dtype=np.int16), np.zeros(shape, dtype=np.uint8)
    for number, row in enumerate(cast(Iterator[dict[str, np.ndarray]], packed)):
        size = len(row["ids"])
        ids[number, :size], kinds[number, :size] = row["ids"], row["kinds"]
        positions[number, :size] = np.concatenate([np.arange(n) for n in row["seq_lengths"]])
    return Packed.of(ids, positions, kinds, len(ids_of), text)
