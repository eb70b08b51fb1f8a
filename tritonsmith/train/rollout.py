"""One batch of GRPO between drawing and training: its rows, its tokens, its verdicts on the way.

Where conversations have turns, each has so many neighbouring rows, and a row's prompt is all that was said before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor

from tritonsmith.train import ranks
from tritonsmith.train.rewarding import Batch, KernelReward

Inputs = list[dict[str, object]]
"""Rows of the data set as TRL hands them out, one for each completion."""


class State(TypedDict):
    """A rollout as `torch.save` keeps it and `torch.load` gives it back with weights alone allowed."""

    inputs: Inputs
    step: int
    completions: list[list[int]]
    logps: Tensor | None


@dataclass
class Rollout:
    """A batch that was drawn."""

    inputs: Inputs
    step: int
    """The training step at which it was drawn."""
    batch: Batch
    completions: list[list[int]] = field(default_factory=list)
    """Tokens, the end token included where one was drawn; none for a turn that was not taken."""
    logps: Tensor | None = None
    """Their log-probabilities (B, T) under the policy that drew them, where that is no longer the one trained."""

    @property
    def taken(self) -> list[bool]:
        """Which rows are turns that were taken."""
        return [bool(ids) for ids in self.completions]

    def said(self) -> list[list[int]]:
        """The completions; where a turn was not taken, what was said last, for trainers know no row without tokens."""
        found: list[list[int]] = []
        for ids in self.completions:
            found.append(ids or found[-1])
        return found

    def state(self) -> State:
        """What a checkpoint must hold; verdicts are in the records."""
        logps = None if self.logps is None else self.logps.cpu()
        return {"inputs": self.inputs, "step": self.step, "completions": self.completions, "logps": logps}

    @classmethod
    def of(cls, state: State, rewards: KernelReward, text: Callable[[list[int]], str]) -> "Rollout":
        """Take up this process's part of a batch where a checkpoint left it; `text` decodes tokens."""
        own = ranks.share(len(state["inputs"]))
        completions = state["completions"][own]
        logps = None if state["logps"] is None else state["logps"][own, : max(map(len, completions))]
        state = {"inputs": state["inputs"][own], "step": state["step"], "completions": completions, "logps": logps}
        batch = rewards.begin([str(row["task"]) for row in state["inputs"]], state["step"])
        for place, ids in enumerate(state["completions"]):
            if ids:
                batch.add(place, text(ids))
        batch.close()
        return cls(state["inputs"], state["step"], batch, state["completions"], state["logps"])


def joined(states: Sequence[State]) -> State:
    """The parts of all processes, in their order, as one."""
    known = [state["logps"] for state in states if state["logps"] is not None]
    width = max((one.shape[1] for one in known), default=0)
    return {
        "inputs": [row for state in states for row in state["inputs"]],
        "step": states[0]["step"],
        "completions": [ids for state in states for ids in state["completions"]],
        "logps": torch.cat([F.pad(one, (0, width - one.shape[1])) for one in known]) if known else None,
    }


def padded(prompts: Sequence[list[int]], completions: Sequence[list[int]], pad: int) -> tuple[Tensor, Tensor, int]:
    """Ids and mask (B, P + T) as TRL lays them out, prompts padded on the left and completions on the right; and T."""
    left, right = max(map(len, prompts)), max(map(len, completions))
    ids = torch.full((len(prompts), left + right), pad)
    mask = torch.zeros(len(prompts), left + right, dtype=torch.long)
    for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        place = slice(left - len(prompt), left + len(completion))
        ids[row, place] = torch.tensor(prompt + completion)
        mask[row, place] = 1
    return ids, mask, right
