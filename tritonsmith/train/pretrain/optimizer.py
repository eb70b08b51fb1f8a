"""AdamW or Muon, and the learning rate as a function of the share of the time that has gone by."""

import math
from typing import Literal, cast

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim import AdamW, Muon, Optimizer
from transformers import PreTrainedModel

Kind = Literal["adamw", "muon"]
Schedule = Literal["wsd", "cosine"]

WARMUP = 100
"""Steps of linear warm-up: Adam's second moments are noise before."""
FLOOR = 0.02
"""Share of the learning rate that is left at the end."""
DECAY = 0.4
"""Share of the time in which `wsd` goes down linearly (Haegele et al. 2024, section 4: 20 % and more match cosine)."""


class Optimizers:
    """AdamW for everything, or Muon (Jordan 2024) for the layers' matrices and AdamW for embedding and norms.

    With `half` the model computes in bfloat16, and what is optimised are float32 copies of its weights: an update is
    often smaller than a bfloat16 weight can show (Micikevicius et al. 2018, section 3.1). Muon's updates are scaled to
    the size of AdamW's (Liu et al. 2025, Moonlight, section 2.2), so that one learning rate serves both.
    """

    def __init__(self, model: PreTrainedModel, kind: Kind, lr: float, half: bool) -> None:
        self.weights = list(model.parameters())
        kinds = _kinds(model)
        self.masters = self.weights
        if half:
            self.masters = [Parameter(weight.detach().float().clone()) for weight in self.weights]
            self._publish()
        self._rooms = [torch.empty_like(master) for master in self.masters] if half else []
        """Where the masters' gradients are put."""
        groups: dict[str, list[Parameter]] = {"matrix": [], "other": []}
        for weight, master in zip(self.weights, self.masters, strict=True):
            groups[kinds[id(weight)]].append(master)
        fused = self.weights[0].device.type == "cuda"
        others = {"params": groups["other"], "weight_decay": 0.0}
        if kind == "muon":
            muon = Muon(groups["matrix"], lr=lr, weight_decay=0.1, momentum=0.95, adjust_lr_fn="match_rms_adamw")
            self.parts: list[Optimizer] = [muon, AdamW([others], lr=lr, betas=(0.9, 0.95), fused=fused)]
        else:
            matrices = {"params": groups["matrix"], "weight_decay": 0.1}
            self.parts = [AdamW([matrices, others], lr=lr, betas=(0.9, 0.95), fused=fused)]
        self.lr = lr

    def step(self, scale: float) -> None:
        """Step with `scale` times the learning rate, gradients clipped to a norm of 1; forget them."""
        if self.masters is not self.weights:
            self._hand_over()
        torch.nn.utils.clip_grad_norm_(self.masters, 1.0)
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = scale * self.lr
            part.step()
            part.zero_grad(set_to_none=True)
        self._publish()

    # In one call each: one a weight lets go of the interpreter as often, and beside judging waits to get it back.

    @torch.no_grad()
    def _hand_over(self) -> None:
        """Give the masters the gradients of the model's weights, in float32."""
        given: list[Tensor] = []
        taken: list[Tensor] = []
        for weight, master, room in zip(self.weights, self.masters, self._rooms, strict=True):
            if weight.grad is not None:
                given.append(weight.grad)
                taken.append(room)
                master.grad, weight.grad = room, None
        torch._foreach_copy_(taken, given)  # pyright: ignore[reportPrivateImportUsage]

    @torch.no_grad()
    def _publish(self) -> None:
        """Give the model the masters' values, in bfloat16; buffers, such as rotary frequencies, stay what they are."""
        if self.masters is not self.weights:
            for weight in self.weights:
                if weight.dtype != torch.bfloat16:
                    weight.data = torch.empty_like(weight, dtype=torch.bfloat16)
            held, masters = [weight.data for weight in self.weights], [master.data for master in self.masters]
            torch._foreach_copy_(held, masters)  # pyright: ignore[reportPrivateImportUsage]

    @torch.no_grad()
    def finish(self) -> None:
        """Leave the model in float32, with the masters' values."""
        for weight, master in zip(self.weights, self.masters, strict=True):
            weight.data = master.data

    def state_dict(self) -> dict[str, list[object]]:
        """The float32 weights, in the model's order, and the optimisers' states."""
        return {
            "weights": [master.detach() for master in self.masters],
            "parts": [part.state_dict() for part in self.parts],
        }

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, list[object]]) -> None:
        """Take back what `state_dict` gave, and let the model have it."""
        for master, saved in zip(self.masters, cast(list[Tensor], state["weights"]), strict=True):
            master.copy_(saved)
        for part, saved in zip(self.parts, cast(list[dict[str, object]], state["parts"]), strict=True):
            part.load_state_dict(saved)
        self._publish()


def _kinds(model: PreTrainedModel) -> dict[int, str]:
    """`matrix` or `other` of each weight by its id: tables of embeddings and vectors are no matrices here."""
    tables = {id(layer.weight) for layer in model.modules() if isinstance(layer, torch.nn.Embedding)}
    head = model.get_output_embeddings()
    tables |= {id(head.weight)} if head is not None else set()
    return {
        id(weight): "matrix" if weight.dim() == 2 and id(weight) not in tables else "other"
        for weight in model.parameters()
    }


def scale(schedule: Schedule, step: int, progress: float, warmup: int = WARMUP) -> float:
    """Share of the learning rate at a step (from 1) and at a share of the time, or of the steps."""
    warm = min(1.0, step / max(warmup, 1))
    left = max(0.0, 1.0 - progress)
    if schedule == "cosine":
        return warm * (FLOOR + (1 - FLOOR) * 0.5 * (1 - math.cos(math.pi * left)))
    return warm * (FLOOR + (1 - FLOOR) * min(1.0, left / DECAY))
