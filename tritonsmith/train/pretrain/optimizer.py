"""AdamW or Muon, and the learning rate as a function of the share of the time that has gone by."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
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


@dataclass
class Optimizers:
    """One or two optimisers that step as one."""

    parts: list[Optimizer]

    def step(self, scale: float) -> None:
        """Step with `scale` times each group's own learning rate, and forget the gradients."""
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = scale * group["base"]
            part.step()
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, object]]:
        """The state of each."""
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, states: list[dict[str, object]]) -> None:
        """Take back what `state_dict` gave."""
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)


def optimizers(model: PreTrainedModel, kind: Kind, lr: float, fused: bool) -> Optimizers:
    """AdamW for everything, or Muon (Jordan 2024) for the layers' matrices and AdamW for embedding and norms.

    Muon's updates are scaled to the size of AdamW's (Liu et al. 2025, Moonlight, section 2.2), so `lr` serves both.
    """
    matrices, embedding, vectors = _grouped(model)
    others = [{"params": embedding, "weight_decay": 0.0}, {"params": vectors, "weight_decay": 0.0}]
    if kind == "muon":
        muon = Muon(matrices, lr=lr, weight_decay=0.1, momentum=0.95, adjust_lr_fn="match_rms_adamw")
        parts: list[Optimizer] = [muon, AdamW(others, lr=lr, betas=(0.9, 0.95), fused=fused)]
    else:
        groups = [{"params": matrices, "weight_decay": 0.1}, *others]
        parts = [AdamW(groups, lr=lr, betas=(0.9, 0.95), fused=fused)]
    for part in parts:
        for group in part.param_groups:
            group["base"] = lr
    return Optimizers(parts)


def _grouped(model: PreTrainedModel) -> tuple[list[Parameter], list[Parameter], list[Parameter]]:
    embedding = {id(layer.weight) for layer in model.modules() if isinstance(layer, torch.nn.Embedding)}
    head = model.get_output_embeddings()
    embedding |= {id(head.weight)} if head is not None else set()
    all_of_them = list(model.parameters())
    tables = [p for p in all_of_them if id(p) in embedding]
    rest = [p for p in all_of_them if id(p) not in embedding]
    return [p for p in rest if p.dim() == 2], tables, [p for p in rest if p.dim() != 2]


def scale(schedule: Schedule, step: int, progress: float) -> float:
    """Share of the learning rate at a step (from 1) and at a share of the time."""
    warm = min(1.0, step / WARMUP)
    left = max(0.0, 1.0 - progress)
    if schedule == "cosine":
        return warm * (FLOOR + (1 - FLOOR) * 0.5 * (1 - math.cos(math.pi * left)))
    return warm * (FLOOR + (1 - FLOOR) * min(1.0, left / DECAY))
