"""`credit` over the tokens that were drawn: the advantages (B, T) that take the place of TRL's own.

A group is all turns of all conversations about a task, each a row; those that were not taken have no part in it.
The trainer gathers what lies on other processes; here is only what is computed of it.
"""

from dataclasses import dataclass
from typing import Literal, cast

import torch
from accelerate.utils import gather
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from tritonsmith import credit, reward
from tritonsmith.blame import blamed, line_of
from tritonsmith.train import segments
from tritonsmith.train.rewarding import KernelReward


def everywhere(rows: Tensor) -> Tensor:
    """The rows of all processes, in their order."""
    return cast(Tensor, gather(rows))


@dataclass
class Assign:
    """`credit` over the tokens of the completions that a `KernelReward` scored last."""

    scored: KernelReward
    tokenizer: PreTrainedTokenizerFast
    group: int
    method: credit.Method
    scheme: str
    alpha: float
    cap: float
    keep: int
    blames: Literal["answer", "line", "nothing"] = "answer"
    """What a negative advantage reaches: all of its row, the line alone that the verifier blames, or nothing."""

    def masks(self, rows: list[list[int]], width: int) -> dict[str, Tensor]:
        """Where the reward has parts, a mask (B, T) for each; else one over everything that was written."""
        if self.scheme == "hierarchical":
            return segments.masks(rows, self.tokenizer, width)
        whole = torch.zeros(len(rows), width)
        for row, ids in enumerate(rows):
            whole[row, : len(ids)] = 1.0
        return {"code": whole}

    def weights(self, rows: list[list[int]], width: int) -> Tensor:
        """What an advantage of 1 weighs on each token, (B, T): `alpha` on those of a plan that has its own reward."""
        found = self.masks(rows, width)
        return torch.stack([credit.weight(name, self.alpha) * mask for name, mask in found.items()]).sum(dim=0)

    def blame(self, rows: list[list[int]], width: int) -> Tensor | None:
        """Where a negative advantage may push down, (B, T); None: everywhere."""
        if self.blames == "answer":
            return None
        if self.blames == "nothing":
            return torch.zeros(len(rows), width)
        last, sources = self.scored.last, self.scored.sources
        named = [place for place, verdict in enumerate(last) if line_of(verdict) is not None]
        return segments.within(
            rows, self.tokenizer, named, lambda row, text: blamed(text, sources[row], last[row]), width
        )

    def rewards(self) -> dict[str, Tensor]:
        """The rewards (B,) of each segment (of turns, what they are worth); NaN where there is no verdict."""
        parts = [reward.parts(verdict, self.scheme, self.cap, self.alpha) for verdict in self.scored.last]
        names = segments.SEGMENTS if self.scheme == "hierarchical" else ("code",)
        return {name: torch.tensor(self._worth([one[name] for one in parts])) for name in names}

    def _worth(self, rewards: list[float]) -> list[float]:
        known = [None if place in self.scored.unjudged else one for place, one in enumerate(rewards)]
        return [torch.nan if one is None else one for one in credit.returns(known, self.scored.turns)]

    def eligible(self) -> Tensor:
        """Which completions best-of-N may keep: correct ones, of equal ones the best; other methods all.

        What is equal is seen within a process, if it has whole groups.
        """
        verdicts = self.scored.last
        if self.method != "best_of_n" or len(verdicts) % self.group:
            return torch.tensor([verdict.correct for verdict in verdicts])
        return credit.keepable(verdicts, self.scored.sources, self.group)

    def __call__(
        self, rewards: dict[str, Tensor], masks: dict[str, Tensor], eligible: Tensor, blame: Tensor | None = None
    ) -> Tensor:
        """The advantages (B, T)."""
        return credit.credit(
            rewards,
            self.group,
            self.method,
            masks=masks,
            alpha=self.alpha,
            keep=self.keep,
            eligible=eligible,
            blame=blame,
        )
