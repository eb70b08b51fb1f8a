"""Self-imitation in GRPO: right answers of earlier batches are pushed up once more, in the places of rows that say
nothing (Oh et al. 2018, arXiv 1806.05635, section 3, where what turned out better than expected is learnt again).

A group whose answers are all right tells GRPO nothing, and an answer is forgotten once its batch is over. Here one
right answer to each task of a batch comes back, ever more seldom: 1, 2, 4, 8 ... batches later. Which ones are due
follows from the records alone, so that a resumed run has the same.

Knows no trainer: `learner` says which rows say nothing and what the policy thinks of the answers.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from tritonsmith.prompts import Message
from tritonsmith.train.pretrain.renaming import under_other_names
from tritonsmith.train.rollout import padded
from tritonsmith.types import Record

Answer = tuple[str, str]
"""A task's id and a completion that was right."""


@dataclass
class Imitation:
    """Right answers by the batch that they were drawn in."""

    times: int
    """How often each comes back."""
    rename: bool = False
    """Whether it has other names each time."""
    answers: dict[int, dict[str, str]] = field(default_factory=dict)
    """By batch and task."""

    def recall(self, records: Iterable[Record]) -> None:
        """Take up what an earlier process had."""
        for record in sorted(records, key=lambda one: (one.step, one.sample)):
            if record.verdict.correct:
                self.add(record.step, [(record.task, record.completion)])

    def add(self, batch: int, right: Iterable[Answer]) -> None:
        """Keep a batch's right answers, the first of each task."""
        for task, completion in right:
            self.answers.setdefault(batch, {}).setdefault(task, completion)

    def due(self, batch: int) -> list[Answer]:
        """Those that come back in a batch, the latest first."""
        earlier = (self.answers.get(batch - 2**time, {}) for time in range(self.times))
        return [one for kept in earlier for one in sorted(kept.items())]

    def told(self, chat: list[Message], completion: str, seed: str) -> tuple[list[Message], str]:
        """An answer and what it answers, as they come back; `seed` decides under which names."""
        others = under_other_names(chat, completion, 1, random.Random(seed)) if self.rename else []
        return others[0] if others else (chat, completion)


def placed(
    made: dict[str, Tensor],
    places: Sequence[int],
    prompts: Sequence[list[int]],
    completions: Sequence[list[int]],
    logps: Tensor,
    pad: int,
    weights: Tensor | None = None,
) -> dict[str, Tensor]:
    """TRL's inputs of a batch with these answers, each of advantage 1, in the rows at `places`.

    Tensors are (B, P) of prompts, padded on the left, (B, T) of completions, padded on the right; advantages (B,) or
    (B, T). `logps`, (len(places), T' >= each completion), take the place of `old_per_token_logps` where there are any.
    `weights`, (len(places), T'' >= each completion), are what advantages by token are where not 1 everywhere.
    """
    ids, mask, right = padded(prompts, completions, pad)
    device = made["completion_ids"].device
    left, rows = ids.shape[1] - right, torch.tensor(places, device=device)
    fresh = {
        "prompt_ids": ids[:, :left],
        "prompt_mask": mask[:, :left],
        "completion_ids": ids[:, left:],
        "completion_mask": mask[:, left:],
        "old_per_token_logps": logps[:, :right],
        "advantages": _advantages(mask[:, left:], weights, by_token=made["advantages"].dim() == 2),
    }
    found = dict(made)
    for name, value in fresh.items():
        if name not in made:
            continue
        filler = pad if name.endswith("_ids") else 0
        before, new = made[name], value.to(device, made[name].dtype)
        if new.dim() == 2:
            width = max(before.shape[1], new.shape[1])
            before, new = (_wide(one, width, name.startswith("prompt"), filler) for one in (before, new))
        found[name] = before.index_copy(0, rows, new)
    return found


def _advantages(mask: Tensor, weights: Tensor | None, by_token: bool) -> Tensor:
    if not by_token:
        return torch.ones(len(mask))
    return mask.float() if weights is None else mask * weights[:, : mask.shape[1]]


def _wide(rows: Tensor, width: int, on_the_left: bool, filler: int) -> Tensor:
    missing = width - rows.shape[1]
    return F.pad(rows, (missing, 0) if on_the_left else (0, missing), value=filler)
