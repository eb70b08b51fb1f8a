"""The rows of a batch of GRPO that say anything: without a KL term, one of advantage 0 has no gradient.

Where few answers are right most groups are wrong as a whole, and the pass over their rows is most of a step's training.
DAPO (arXiv 2503.14476, section 3.2) draws until a batch has none of them; here they are drawn, judged and passed over.
"""

import logging

import torch
from torch import Tensor

log = logging.getLogger(__name__)

ROW_MEANS = ("grpo", "dr_grpo")
"""TRL's losses that are means over the rows at hand."""
_ANSWERS = ("completion_ids", "completion_mask", "advantages", "old_per_token_logps", "tool_mask")
_PROMPTS = ("prompt_ids", "prompt_mask")
SILENT = 10
"""Batches in a row of which no answer has an advantage, after which that is said."""


class Silence:
    """Counts batches from which nothing is learnt, for a run that found nothing right looks busy to its end."""

    def __init__(self) -> None:
        self._batches = 0

    def heard(self, rows: int) -> None:
        """Count a batch, of which so many rows have an advantage; warns once each time that it stays silent."""
        self._batches = 0 if rows else self._batches + 1
        if self._batches == SILENT:
            log.warning(
                "grpo: in %d batches no answer was better than the others to its task, so nothing is learnt: begin "
                "with a stronger model or easier tasks; where rewards were higher before, a lower grpo.lr or fewer "
                "grpo.updates",
                SILENT,
            )


def speaking(inputs: dict[str, Tensor]) -> Tensor:
    """Which rows (B,) have an advantage."""
    advantages = inputs["advantages"]
    return advantages.reshape(len(advantages), -1).any(dim=1)


def telling(inputs: dict[str, Tensor], loss: str, least: int = 0) -> tuple[dict[str, Tensor], Tensor]:
    """TRL's inputs of a pass without the rows that have no advantage, and what the loss of the rest is to be times.

    Tensors are (B, P) of prompts, padded on the left, (B, T) of completions, padded on the right, (B,) or a number; all
    are cut to the longest row that is left, and one row, and `least`, are left in any case: TRL gathers a number a
    row, so that processes must have equally many. `loss` is one of TRL's names: `dapo` is a sum over a number that the
    batch has whole, others are means over what is at hand.
    """
    advantages, says = inputs["advantages"], speaking(inputs)
    count = max(int(says.sum()), least, 1)
    if count >= len(advantages):
        return inputs, torch.ones((), device=advantages.device)
    rows = says.int().argsort(descending=True, stable=True)[:count].sort().values
    left = {
        name: value[rows] if value.dim() and len(value) == len(advantages) else value for name, value in inputs.items()
    }
    answer, prompt = int(left["completion_mask"].sum(1).max()), int(left["prompt_mask"].sum(1).max())
    for name, value in left.items():
        if value.dim() == 2 and name in _ANSWERS:
            left[name] = value[:, :answer]
        elif name in _PROMPTS:
            left[name] = value[:, value.shape[1] - prompt :]
    return left, _share(inputs, left, loss)


def _share(inputs: dict[str, Tensor], left: dict[str, Tensor], loss: str) -> Tensor:
    """A mean over the rows, or tokens, that are left, times this, is that over all."""
    if loss in ROW_MEANS:
        return inputs["advantages"].new_tensor(len(left["advantages"]) / len(inputs["advantages"]))
    if loss == "bnpo":
        return _tokens(left) / _tokens(inputs)
    return inputs["advantages"].new_ones(())


def _tokens(inputs: dict[str, Tensor]) -> Tensor:
    mask = inputs["completion_mask"]
    return (mask * inputs["tool_mask"] if "tool_mask" in inputs else mask).sum().clamp(min=1)
