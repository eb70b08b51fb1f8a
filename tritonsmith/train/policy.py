"""Samplers that outlive a change of weights: what they captured of a model stays, new weights are written over the old.

`Drawer` follows models that are saved, `Policy` one that is being trained. Where a run has several processes, all of
them draw: from a saved model each a part, which comes together on rank 0; in training each for its own rows.
"""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import torch
from peft import PeftModel, get_peft_model
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from tritonsmith.config import Config
from tritonsmith.train import models, ranks, trainer
from tritonsmith.train.desk import Address, Desk, Report
from tritonsmith.train.generate import Draw, Sampler


class Drawer:
    """The sampler of one saved model after the other."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.sampler: Sampler | None = None

    def of(self, model: Path | None) -> "Sampler | Shared":
        """The sampler of the model in a folder (None: the configured one); the one given before changes with it."""
        own = self.own(model)
        return own if ranks.count() == 1 else Shared(self.config, model, own)

    def own(self, model: Path | None) -> Sampler:
        """This process's sampler of that model."""
        loaded, tokenizer = trainer.load(self.config, model)
        if self.sampler is None or not trainer.overwrite(self.sampler.model, loaded):
            self.sampler = Sampler(trainer.to_device(loaded), tokenizer, models.prompt_style(self.config.model))
        return self.sampler

    def rest(self) -> None:
        """Give back the memory of a model that is too large to lie beside one in training."""
        if self.sampler is not None and self.sampler.model.num_parameters() >= trainer.LARGE:
            self.sampler = None


class Shared:
    """A saved model that all ranks draw from (`evaluate.Sampler`); used on rank 0, while the others follow."""

    def __init__(self, config: Config, model: Path | None, own: Sampler) -> None:
        """`own` is rank 0's sampler of the model in the folder `model`."""
        self.config, self.model, self.own = config, model, own

    @property
    def prompt_style(self) -> str:
        """How prompts are written for the model."""
        return self.own.prompt_style

    def sample(
        self,
        messages: Sequence[list[dict[str, str]]],
        n: int,
        temperature: float = 0.8,
        top_p: float = 1.0,
        max_new_tokens: int = 512,
        batch: int = 64,
        seed: int = 0,
        on_batch: Callable[[list[Draw]], None] | None = None,
        *,
        keys: Sequence[tuple[int, int]] | None = None,
    ) -> list[list[str]]:
        """What `Sampler.sample` gives, `batch` rows decoded together by each rank; `on_batch` gets all ranks' draws."""
        texts = [[""] * n for _ in messages]
        keeping = threading.Lock()

        def keep(draws: list[Draw]) -> None:
            with keeping:
                for prompt, sample, text in draws:
                    texts[prompt][sample] = text
                if on_batch is not None:
                    on_batch(draws)

        chats, how = [list(chat) for chat in messages], (n, temperature, top_p, max_new_tokens, batch, seed)
        with (
            Desk(keep=lambda text: keep([(row[0], row[1], row[2]) for row in json.loads(text)])) as desk,
            ranks.together(_draw_part, self.config, self.model, desk.address, chats, how, keys),
        ):
            self.own.sample(chats, *how, keep, (0, ranks.count()), keys)
        return texts


_Drawing = tuple[int, float, float, int, int, int]

_at_hand: tuple[str, Path | None, Drawer] | None = None
"""On ranks that follow: the model that was drawn from last, and what it was configured by."""


def _draw_part(
    config: Config,
    model: Path | None,
    address: Address,
    chats: list[list[dict[str, str]]],
    how: _Drawing,
    keys: Sequence[tuple[int, int]] | None,
) -> None:
    """Draw this rank's part and report it."""
    global _at_hand
    known, place = config.model_dump_json(), None if model is None else model.resolve()
    drawer = _at_hand[2] if _at_hand is not None and _at_hand[0] == known else Drawer(config)
    if _at_hand is None or _at_hand[:2] != (known, place) or drawer.sampler is None:
        drawer.own(model)
    _at_hand = known, place, drawer
    report = Report(address)
    try:
        cast(Sampler, drawer.sampler).sample(
            chats, *how, lambda draws: report(json.dumps(draws)), (ranks.rank(), ranks.count()), keys
        )
    finally:
        report.close()


def make_room() -> None:
    """Give back the memory of what this rank drew from, if it is large."""
    if _at_hand is not None:
        _at_hand[2].rest()


class Policy:
    """Draws from a model that is being trained, where that is better from a copy of its weights.

    Small learning rates need weights of float32, and drawing from those would read twice the bytes for each token: on
    a GPU there is a copy in half precision. Models with adapters, quantised ones, and those whose weights have the
    wanted precision are drawn from as they are.

    Weights that FSDP has spread over GPUs would have to be fetched from all of them for each token. There each process
    has a copy of the whole model; what is trained is gathered for it before each draw, so all must draw at the same
    time. A model that does not fit a GPU in half precision beside its part of the training cannot be drawn from so.
    """

    def __init__(
        self,
        model: PreTrainedModel | PeftModel,
        tokenizer: PreTrainedTokenizerBase,
        dtype: torch.dtype,
        spread: bool = False,
    ) -> None:
        """`dtype` is that of the copy; `spread`: by FSDP, now or once the training has begun."""
        self.model, self.tokenizer, self.dtype = model, tokenizer, dtype
        self.copy: PreTrainedModel | PeftModel | None = None
        self.wants_copy = spread or _wants_copy(model, dtype)
        self._sampler: Sampler | None = None

    @property
    def sampler(self) -> Sampler:
        """Of the copy where there is to be one, which is made and filled when it is first needed."""
        if self._sampler is None:
            if self.wants_copy:
                self.copy = _copy(self.model, self.dtype)
                _write(self.copy, self.model, all_of_it=True)
            self._sampler = Sampler(self.copy or self.model, self.tokenizer, "")
        elif self.copy is not None:
            _write(self.copy, self.model)
        return self._sampler

    def complete(
        self,
        prompts: Sequence[list[int]],
        temperature: float,
        max_new_tokens: int,
        seed: int,
        on_end: Callable[[int, list[int]], None] | None = None,
        numbers: Sequence[int] | None = None,
        batch: int | None = None,
        again: bool = False,
    ) -> list[list[int]]:
        """Draw what follows each prompt; see `Sampler.complete`. All are drawn at once where `batch` is not given.

        `again`: the weights have not changed since the last call, so that not all processes need to draw.
        """
        sampler = self._sampler if again and self._sampler is not None else self.sampler
        return sampler.complete(
            prompts,
            temperature,
            max_new_tokens=max_new_tokens,
            batch=batch or len(prompts),
            seed=seed,
            on_end=on_end,
            numbers=numbers,
        )


def _wants_copy(model: PreTrainedModel | PeftModel, dtype: torch.dtype) -> bool:
    if isinstance(model, PeftModel) or getattr(model, "is_quantized", False) or model.device.type != "cuda":
        return False
    return any(weight.dtype != dtype for weight in model.parameters())


def _copy(model: PreTrainedModel | PeftModel, dtype: torch.dtype) -> PreTrainedModel | PeftModel:
    """A model of the same kind, without what a trainer may have put into the other's `forward`; its weights are to be
    written."""
    device = model.device
    with device:
        made: PreTrainedModel | PeftModel = AutoModelForCausalLM.from_config(model.config, dtype=dtype)
        if isinstance(model, PeftModel):
            name = cast(str, model.active_adapter)
            lora = model.peft_config[name]
            made = cast(PeftModel, get_peft_model(made, lora, adapter_name=name, autocast_adapter_dtype=False))
    made.requires_grad_(False)
    return cast("PreTrainedModel | PeftModel", torch.nn.Module.to(made, device))


@torch.no_grad()
def _write(copy: torch.nn.Module, model: torch.nn.Module, all_of_it: bool = False) -> None:
    """Write a model's weights, or those alone that are trained, over its copy's, gathered from all who have a part.

    Adapters that the copy has not, such as the reference's, are not drawn from.
    """
    ours = dict(copy.named_parameters(remove_duplicate=False))
    missing = {name for name, _ in copy.named_parameters()}
    for name, weight in model.named_parameters():
        if name in ours and (all_of_it or weight.requires_grad):
            ours[name].copy_(weight.full_tensor() if isinstance(weight, DTensor) else weight)
            missing.discard(name)
    if all_of_it and missing:
        raise RuntimeError(f"the copy of the model in training has weights of its own, such as {min(missing)}")
