"""What is learnt from, as packed rows: documents, plain prompts, copies under other names, tokens; in many processes.

The rows are the same for any number of processes. Nothing is kept on a disk.
"""

import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from tritonsmith.errors import UserError
from tritonsmith.plain import plain
from tritonsmith.tasks.canonical import canonical
from tritonsmith.train import tokenizer as bpe
from tritonsmith.train.pretrain.packing import Packed, pack
from tritonsmith.train.pretrain.renaming import renamed
from tritonsmith.train.pretrain.rows import Document
from tritonsmith.types import Task

PART = 4_000
"""Documents that a process takes at a time."""

_TASK = re.compile(f"(?<={re.escape(bpe.TASK)}).*?(?={re.escape(bpe.ANSWER)})", re.DOTALL)
_Part = tuple[PreTrainedTokenizerFast, Sequence[Document], int, int, bool, str]
_Given = TypeVar("_Given")
_Gives = TypeVar("_Gives")


def prepare(
    words: PreTrainedTokenizerFast,
    documents: Sequence[Document],
    length: int,
    copies: int,
    seed: int,
    processes: int,
    members: bool = False,
) -> Packed:
    """Rows of `length` tokens of the documents and of up to `copies` more of each; see `renaming` and `packing`.
    Raises UserError where none is as short.

    With `members` the copies differ in the names of members alone, as canonical prompts do.
    """
    parts = [
        (words, some, length, copies, members, f"{seed}/{number}") for number, some in enumerate(_parts(documents))
    ]
    rows = Packed.together([Packed.of(*arrays) for arrays in _mapped(_arrays, parts, processes)])
    if not len(rows):
        raise UserError(f"no document is as short as a row of {length} tokens")
    return rows


def plainly(documents: Sequence[Document], processes: int) -> list[Document]:
    """The documents with plain prompts; see `tritonsmith.plain`."""
    return [one for some in _mapped(_plain, _parts(documents), processes) for one in some]


def check_canonical(documents: Sequence[Document], sample: int = 100) -> None:
    """Raise UserError unless most prompts are canonical already, of a sample spread over all; see `tasks.canonical`."""
    some = documents[:: max(1, len(documents) // sample)]
    shown = [found[0] for one in some if (found := _TASK.search(one.prompt))]
    right = sum(canonical(Task(id="", level=1, source=text)).source == text for text in shown)
    if right < 0.9 * len(some):
        raise UserError(
            f"{right} of {len(some)} rows tried are canonical: make them by `data draft --canonical` or "
            "`data build --canonical`, or learn with --prompt plain"
        )


def _parts(documents: Sequence[Document]) -> list[Sequence[Document]]:
    return [documents[start : start + PART] for start in range(0, len(documents), PART)]


def _mapped(work: Callable[[_Given], _Gives], parts: Sequence[_Given], processes: int) -> Iterator[_Gives]:
    """What the work gives for each part, in their order."""
    if len(parts) <= 1 or processes == 1:
        yield from map(work, parts)
        return
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    count = min(processes, len(parts))
    with _one_thread_each(), ProcessPoolExecutor(count, context, torch.set_num_threads, (1,)) as pool:
        yield from pool.map(work, parts)


def _plain(documents: Sequence[Document]) -> list[Document]:
    return [replace(one, prompt=_TASK.sub(lambda found: plain(found[0]), one.prompt)) for one in documents]


def _arrays(part: _Part) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """Packed rows as arrays: tensors would go between processes as files, of which a process may have only so many."""
    words, documents, length, copies, members, seed = part
    rows = pack(words, list(renamed(documents, copies, random.Random(seed), members)), length)
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
