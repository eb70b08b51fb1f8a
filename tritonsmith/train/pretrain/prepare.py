"""What is learnt from, as packed rows: documents, copies of them under other names, tokens; in many processes.

The rows are the same for any number of processes. Nothing is kept on a disk.
"""

import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from tritonsmith.train.pretrain.packing import Packed, pack
from tritonsmith.train.pretrain.renaming import renamed
from tritonsmith.train.pretrain.rows import Document

PART = 4_000
"""Documents that a process takes at a time."""

_Part = tuple[PreTrainedTokenizerFast, Sequence[Document], int, int, str]


def prepare(
    words: PreTrainedTokenizerFast, documents: Sequence[Document], length: int, copies: int, seed: int, processes: int
) -> Packed:
    """Rows of `length` tokens of the documents and of up to `copies` more of each; see `renaming` and `packing`."""
    starts = range(0, len(documents), PART)
    parts = [(words, documents[start : start + PART], length, copies, f"{seed}/{start}") for start in starts]
    if len(parts) == 1 or processes == 1:
        return Packed.together([_rows(part) for part in parts])
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with (
        _one_thread_each(),
        ProcessPoolExecutor(min(processes, len(parts)), context, torch.set_num_threads, (1,)) as pool,
    ):
        return Packed.together([Packed.of(*arrays) for arrays in pool.map(_arrays, parts)])


def _rows(part: _Part) -> Packed:
    words, documents, length, copies, seed = part
    return pack(words, list(renamed(documents, copies, random.Random(seed))), length)


def _arrays(part: _Part) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """As arrays: tensors would go between processes as files, of which a process may have only so many."""
    rows = _rows(part)
    return rows.ids.numpy(), rows.positions.numpy(), rows.kinds.numpy(), rows.documents, rows.text


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let the tokenizers of the processes that are started meanwhile not each take every core."""
    before = os.environ.get("RAYON_NUM_THREADS")
    os.environ["RAYON_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        os.environ.pop("RAYON_NUM_THREADS")
        if before is not None:
            os.environ["RAYON_NUM_THREADS"] = before
