"""One compiled step on packed rows: the mean loss of all processes' rows, and its gradients, which each of them gets.

Pretraining (`loop`) and fine-tuning of whole models (`train.packed`) are loops around it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import torch
import torch.distributed as dist
from torch import Tensor
from transformers import PreTrainedModel

from tritonsmith.train import ranks
from tritonsmith.train.pretrain.model import Losses, Mask, losses_of, mask_for, weights
from tritonsmith.train.pretrain.packing import Packed


@contextmanager
def tf32() -> Iterator[None]:
    """Let products of float32 be of TF32, on a GPU that has it; what was set before is set again afterwards.

    The setting is the process's: who samples or judges in it must not inherit what training asked for.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class Step:
    """A model's losses on packed rows, compiled once; the rows must be of one shape from then on."""

    def __init__(self, model: PreTrainedModel, device: str) -> None:
        self.model = model
        self._losses: Losses = losses_of(model, device)
        self._mask: Callable[[Tensor], Mask] = mask_for(device)

    def token_losses(self, packed: Packed, indices: Tensor) -> Tensor:
        """The loss of predicting each token of the rows but the first, (B, L - 1)."""
        positions = packed.positions[indices].long()
        return self._losses(packed.ids[indices].long(), positions, self._mask(positions))

    def backward(self, packed: Packed, indices: Tensor, prompt_weight: float, total: Tensor | None = None) -> Tensor:
        """Add this process's gradients of the loss; gives its part of it.

        `indices` are the rows of all processes, and the parts' sum is the mean over their tokens, each counted with its
        weight; or the sum over `total`, where these are not all rows of the optimiser's step.
        """
        own = indices[ranks.share(len(indices))]
        total = self.total(packed, indices, prompt_weight) if total is None else total
        losses = self.token_losses(packed, own)
        loss = (losses * weights(packed.kinds[own], prompt_weight)).sum() / total
        loss.backward()
        return loss.detach()

    @staticmethod
    def total(packed: Packed, indices: Tensor, prompt_weight: float) -> Tensor:
        """What the rows' tokens count together."""
        return weights(packed.kinds[indices], prompt_weight).sum().clamp(min=1.0)

    def add_up(self) -> None:
        """Give each process the gradients of all, before it steps.

        In one piece: a call a weight lets go of the interpreter each time, and beside judging waits to get it back.
        """
        if ranks.count() == 1:
            return
        trained = [weight for weight in self.model.parameters() if weight.grad is not None]
        whole = torch.cat([cast(Tensor, weight.grad).flatten() for weight in trained])
        dist.all_reduce(whole)
        for weight, part in zip(trained, whole.split([weight.numel() for weight in trained]), strict=True):
            weight.grad = part.view_as(weight)
