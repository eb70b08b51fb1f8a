"""Samplers that outlive a change of weights: what they captured of a model stays, new weights are written over the old.

`Drawer` follows models that are saved, `Policy` one that is being trained in this process.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from tritonsmith.config import Config
from tritonsmith.train import models, trainer
from tritonsmith.train.generate import Sampler


class Drawer:
    """The sampler of one saved model after the other."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.sampler: Sampler | None = None

    def of(self, model: Path | None) -> Sampler:
        """The sampler of the model in a folder (None: the configured one); the one given before changes with it."""
        loaded, tokenizer = trainer.load(self.config, model)
        if self.sampler is None or not trainer.overwrite(self.sampler.model, loaded):
            self.sampler = Sampler(trainer.to_device(loaded), tokenizer, models.prompt_style(self.config.model))
        return self.sampler

    def rest(self) -> None:
        """Give back the memory of a model that is too large to lie beside one in training."""
        if self.sampler is not None and self.sampler.model.num_parameters() >= trainer.LARGE:
            self.sampler = None


class Policy:
    """Draws from a model that is being trained, on a GPU from a copy of its weights in half precision.

    Small learning rates need weights of float32, and drawing from those would read twice the bytes for each token.
    Models with adapters, quantised ones, and those whose weights have the wanted precision are drawn from as they are.
    """

    def __init__(
        self, model: PreTrainedModel | PeftModel, tokenizer: PreTrainedTokenizerBase, dtype: torch.dtype
    ) -> None:
        """`dtype` is that of the copy on a GPU; on a CPU there is none."""
        self.model = model
        self.copy = _copy(model, dtype) if _wants_copy(model, dtype) else None
        self.sampler = Sampler(self.copy or model, tokenizer, "")

    def complete(
        self,
        prompts: Sequence[list[int]],
        temperature: float,
        max_new_tokens: int,
        seed: int,
        on_end: Callable[[int, list[int]], None] | None = None,
    ) -> list[list[int]]:
        """Draw what follows each prompt, all of them at once; see `Sampler.complete`."""
        if self.copy is not None and not trainer.overwrite(self.copy, self.model):
            raise RuntimeError("the weights of the model in training are no longer those of its copy")
        return self.sampler.complete(
            prompts, temperature, max_new_tokens=max_new_tokens, batch=len(prompts), seed=seed, on_end=on_end
        )


def _wants_copy(model: PreTrainedModel | PeftModel, dtype: torch.dtype) -> bool:
    if isinstance(model, PeftModel) or getattr(model, "is_quantized", False) or model.device.type != "cuda":
        return False
    return any(weight.dtype != dtype for weight in model.parameters())


def _copy(model: PreTrainedModel | PeftModel, dtype: torch.dtype) -> PreTrainedModel:
    """A model of the same kind, without what a trainer may have put into the other's `forward`."""
    made = AutoModelForCausalLM.from_config(model.config, dtype=dtype)
    return cast(PreTrainedModel, made.to(model.device).requires_grad_(False))
