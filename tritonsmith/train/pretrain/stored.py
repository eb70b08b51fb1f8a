"""Packed rows as one file: made where there are cores and time, learnt from where there is a GPU.

Half a byte a token or less, for most of what is learnt from is alike. Makes no rows (`prepare`).
"""

import io
import lzma
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from transformers import PreTrainedTokenizerFast

from tritonsmith.errors import UserError
from tritonsmith.prompts import Style
from tritonsmith.train.pretrain.packing import Packed
from tritonsmith.train.tokenizer import vocabulary

_FIRST = 4
"""Of a token's mark: it is the first of its document. The rest of it is the token's kind."""
_TRAIN, _WORDS, _PROMPT = "train", "words", "prompt"


@dataclass(frozen=True)
class Kept:
    """What a file holds."""

    train: Packed
    validation: Mapping[int, Packed]
    """By level."""
    prompt: Style | None = None
    """How tasks are shown in the rows; None where it is not known."""


def write(path: Path, words: PreTrainedTokenizerFast, kept: Kept) -> None:
    """Keep rows in a file that appears whole or not at all; raises UserError where there is no room for it."""
    arrays = {_WORDS: np.array(vocabulary(words)), _PROMPT: np.array(kept.prompt or "")}
    for name, rows in ((_TRAIN, kept.train), *((str(level), rows) for level, rows in kept.validation.items())):
        first = (rows.positions.numpy() == 0).astype(np.uint8)
        arrays[f"{name}-ids"] = rows.ids.numpy().astype(np.uint16 if len(words) <= 1 << 16 else np.int32)
        arrays[f"{name}-marks"] = rows.kinds.numpy() | _FIRST * first
        arrays[f"{name}-counts"] = np.array([rows.documents, rows.text])
    made = io.BytesIO()
    np.savez(made, **arrays)  # pyright: ignore[reportArgumentType]
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(lzma.compress(made.getvalue()))
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UserError(f"packed rows cannot be kept in {path}: {error.strerror}") from error


def read(path: Path, words: PreTrainedTokenizerFast) -> Kept:
    """The rows that `write` kept; raises UserError for another file, or another tokenizer's."""
    try:
        arrays = dict(np.load(io.BytesIO(lzma.decompress(path.read_bytes()))))
        made_by, prompt = str(arrays.pop(_WORDS)), str(arrays.pop(_PROMPT, ""))
    except (OSError, lzma.LZMAError, zipfile.BadZipFile, ValueError, KeyError) as error:
        raise UserError(f"{path} holds no packed rows: {error}") from error
    if made_by != vocabulary(words):
        raise UserError(f"{path} is of another tokenizer: give that one by --tokenizer")
    rows = {name.removesuffix("-ids"): _rows(arrays, name.removesuffix("-ids")) for name in arrays if "-ids" in name}
    shown = next((style for style in get_args(Style) if style == prompt), None)
    return Kept(rows.pop(_TRAIN), {int(level): some for level, some in rows.items()}, shown)


def together(parts: Sequence[Kept]) -> Kept:
    """The rows of several files as of one, in the files' order; raises UserError where rows differ in length, or in how
    tasks are shown."""
    shown = {part.prompt for part in parts}
    if len(shown) > 1:
        raise UserError(
            f"the files' tasks are shown as {', '.join(sorted(map(str, shown)))}: pack them by one --prompt"
        )
    lengths = {part.train.ids.shape[1] for part in parts}
    if len(lengths) > 1:
        raise UserError(
            f"the files' rows are of {', '.join(map(str, sorted(lengths)))} tokens: pack them with one --length"
        )
    levels = sorted({level for part in parts for level in part.validation})
    validation = {
        level: Packed.together([part.validation[level] for part in parts if level in part.validation])
        for level in levels
    }
    return Kept(Packed.together([part.train for part in parts]), validation, parts[0].prompt)


def _rows(arrays: Mapping[str, np.ndarray], name: str) -> Packed:
    ids, marks = arrays[f"{name}-ids"].astype(np.int32), arrays[f"{name}-marks"]
    place = np.arange(ids.shape[1], dtype=np.int16)[None]
    begins = np.maximum.accumulate(np.where(marks & _FIRST, place, 0), axis=1)
    documents, text = map(int, arrays[f"{name}-counts"])
    return Packed.of(ids, (place - begins).astype(np.int16), marks & (_FIRST - 1), documents, text)
