"""Rows as tokens, and which of them are learnt, remembered from one training to the next; `sft`'s engines take them.

Nothing is padded, packed or cut here.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from transformers import PreTrainedTokenizerBase
from trl.data_utils import common_prefix_length

from tritonsmith.data.rows import Row
from tritonsmith.prompts import Message
from tritonsmith.train.tokenizer import vocabulary

log = logging.getLogger(__name__)

IGNORED = -100
"""The label of a token that counts for nothing in the loss (torch's `cross_entropy`)."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """A prompt and its answer."""

    ids: np.ndarray
    """int32 tokens of both."""
    start: int
    """The first token that is learnt."""

    def columns(self) -> dict[str, list[int]]:
        """`input_ids` and `labels`, as TRL's trainer makes them of the same row."""
        ids = self.ids.tolist()
        return {"input_ids": ids, "labels": [IGNORED] * self.start + ids[self.start :]}


_known: dict[str, dict[str, Encoded]] = {}
"""By tokenizer and row, what it is encoded as."""
_REMEMBERED = 100_000
"""Rows of a tokenizer that are remembered: a gigabyte at most, their texts counted."""


def encode(tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row]) -> list[Encoded]:
    """Each row's tokens, of which the prompt's are not learnt.

    TRL's trainer takes rows by themselves, each twice, and a third time for its length; best-of-N may learn from all
    that was kept anew in every round. What was encoded with the tokenizer before is remembered.
    """
    texts = [json.dumps([row.prompt, row.completion]) for row in rows]
    known = _known.setdefault(_identity(tokenizer), {})
    fresh = {text: row for text, row in zip(texts, rows, strict=True) if text not in known}
    if len(known) + len(fresh) > _REMEMBERED:
        known.clear()
        fresh = dict(zip(texts, rows, strict=True))
    known |= zip(fresh, _encoded(tokenizer, list(fresh.values())), strict=True)
    return [known[text] for text in texts]


def _encoded(tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row]) -> list[Encoded]:
    if not rows:
        return []
    whole = _tokens(tokenizer, [[*row.prompt, *row.completion] for row in rows], False)
    asked = _tokens(tokenizer, [row.prompt for row in rows], True)
    starts = [common_prefix_length(prompt, ids) for prompt, ids in zip(asked, whole, strict=True)]
    if odd := sum(start < len(prompt) for start, prompt in zip(starts, asked, strict=True)):
        log.warning("%d of %d prompts have other tokens before an answer than alone", odd, len(rows))
    return [Encoded(np.array(ids, dtype=np.int32), start) for ids, start in zip(whole, starts, strict=True)]


def _identity(tokenizer: PreTrainedTokenizerBase) -> str:
    """What an encoding depends on besides the row: tokenizers are loaded anew in each round."""
    return f"{vocabulary(tokenizer)}/{tokenizer.chat_template}"


def _tokens(
    tokenizer: PreTrainedTokenizerBase, chats: list[list[Message]], add_generation_prompt: bool
) -> list[list[int]]:
    ids = tokenizer.apply_chat_template(
        chats, tokenize=True, return_dict=False, add_generation_prompt=add_generation_prompt
    )
    return cast("list[list[int]]", ids)
