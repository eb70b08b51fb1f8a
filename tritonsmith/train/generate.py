"""Draw completions from a model in this process: `Sampler.sample`, on two CPU cores or one GPU.

Decoding itself is transformers' `generate`, in stretches of `STRETCH` tokens: rows that have ended leave the
key/value cache in between, so that one runaway completion does not hold up a whole batch, and a prompt is read once
however many completions are drawn from it. Where much is drawn on a GPU, all batches have one shape and the cache is
static instead, so that transformers compiles the decode step.

Not here: sampling from a server (an endpoint has the same `sample`), prompts (`prompts`), extraction (`extract`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from peft import PeftModel
from transformers import DynamicCache, GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

from tritonsmith import progress

Draw = tuple[int, int, str]
"""Index of the prompt, which of its completions, the text."""

STRETCH = 32
"""Tokens decoded between two removals of ended rows: 16 to 64 are equally fast on two cores."""


STATIC_FROM = 1024
"""Decoding steps from which a GPU compiles them: in a dynamic cache a step of a small model costs some 60 ms of
Python more (measured on one H200), and compiling takes the time of several hundred."""


@dataclass
class _Row:
    prompt: int
    sample: int
    ids: list[int]
    new: list[int] = field(default_factory=list)


class Sampler:
    """A model, its tokenizer and the style of prompt it was trained on."""

    def __init__(
        self, model: PreTrainedModel | PeftModel, tokenizer: PreTrainedTokenizerBase, prompt_style: str
    ) -> None:
        """Keep the three; `prompt_style` is for the caller, who makes the messages by it."""
        self.model = cast(PreTrainedModel, model)
        self.tokenizer = tokenizer
        self.prompt_style = prompt_style
        self.eos = sorted(_eos_ids(model, tokenizer))
        self.pad = self.eos[0] if tokenizer.pad_token_id is None else cast(int, tokenizer.pad_token_id)
        self.positions: int = getattr(model.config, "max_position_embeddings", 1 << 20)

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
    ) -> list[list[str]]:
        """Draw `n` completions of each conversation, in the order given; temperature 0 is greedy.

        `batch` counts rows (completions) decoded together. `on_batch` gets the completions of each batch as it ends.
        A prompt that fills the model's positions gets empty completions; one that nearly does, short ones.
        """
        settings = self._settings(temperature, top_p)
        encoded = [self._encode(conversation) for conversation in messages]
        rows = [_Row(i, s, ids) for i, ids in enumerate(encoded) for s in range(n) if len(ids) < self.positions]
        rows.sort(key=lambda row: -len(row.ids))
        texts = [[""] * n for _ in messages]
        steps = -(-len(rows) // batch) * max_new_tokens
        static = self.model.device.type == "cuda" and steps >= STATIC_FROM
        decode = self._decode_static if static else self._decode_shrinking
        training = self.model.training
        self.model.eval()
        with progress.bar("drawing", len(rows)) as advance, torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(seed)
            for part in _batches(rows, batch):
                decode(part, settings, max_new_tokens, batch)
                draws = [(row.prompt, row.sample, self._text(row.new)) for row in part]
                for prompt, sample, text in draws:
                    texts[prompt][sample] = text
                if on_batch is not None:
                    on_batch(draws)
                advance(len(part))
        self.model.train(training)
        return texts

    def _encode(self, conversation: list[dict[str, str]]) -> list[int]:
        ids = self.tokenizer.apply_chat_template(
            conversation, add_generation_prompt=True, tokenize=True, return_dict=False
        )
        return cast(list[int], ids)

    def _text(self, ids: list[int]) -> str:
        end = next((i for i, token in enumerate(ids) if token in self.eos), len(ids))
        text = self.tokenizer.decode(ids[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return cast(str, text)

    def _settings(self, temperature: float, top_p: float) -> GenerationConfig:
        """Build the whole configuration: a model's own (top_k, penalties) must not leak into the comparison."""
        sampling = {"do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": 0}
        return GenerationConfig(
            **(sampling if temperature > 0 else {"do_sample": False}),
            repetition_penalty=1.0,
            eos_token_id=self.eos,
            pad_token_id=self.pad,
        )

    def _generate(self, **inputs: object) -> torch.Tensor:
        generate = cast(Callable[..., torch.Tensor], self.model.generate)
        return generate(**inputs)

    def _left_padded(self, sequences: Sequence[list[int]], width: int) -> tuple[torch.Tensor, torch.Tensor]:
        ids = torch.full((len(sequences), width), self.pad)
        mask = torch.zeros((len(sequences), width), dtype=torch.long)
        for i, sequence in enumerate(sequences):
            ids[i, width - len(sequence) :] = torch.tensor(sequence)
            mask[i, width - len(sequence) :] = 1
        return ids.to(self.model.device), mask.to(self.model.device)

    def _decode_shrinking(self, rows: list[_Row], settings: GenerationConfig, max_new_tokens: int, _: int) -> None:
        """Decode in stretches; ended rows leave the batch and the cache between two of them."""
        width = len(rows[0].ids)
        budget = min(max_new_tokens, self.positions - width)
        cache, ids, mask = self._read_prompts(rows, width)
        alive = list(rows)
        while alive and budget > 0:
            settings.max_new_tokens = min(STRETCH, budget)
            out = self._generate(input_ids=ids, attention_mask=mask, past_key_values=cache, generation_config=settings)
            new = out[:, ids.shape[1] :]
            budget -= new.shape[1]
            keep = []
            for i, (row, tokens) in enumerate(zip(alive, new.tolist(), strict=True)):
                row.new.extend(tokens)
                if not set(self.eos).intersection(tokens):
                    keep.append(i)
            index = torch.tensor(keep, dtype=torch.long, device=ids.device)
            ids = out[index]
            mask = torch.cat([mask, mask.new_ones(new.shape)], dim=1)[index]
            alive = [alive[i] for i in keep]
            if len(keep) < new.shape[0]:
                cache.batch_select_indices(index)

    def _read_prompts(self, rows: list[_Row], width: int) -> tuple[DynamicCache, torch.Tensor, torch.Tensor]:
        """Run each distinct prompt, less its last token, through the model once; repeat the cache for its rows."""
        order = list(dict.fromkeys(row.prompt for row in rows))
        of = {row.prompt: row.ids for row in rows}
        ids, mask = self._left_padded([of[prompt] for prompt in order], width)
        cache = DynamicCache(config=self.model.config)
        place = torch.tensor([order.index(row.prompt) for row in rows], device=ids.device)
        if width > 1:
            positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
            self.model(
                input_ids=ids[:, :-1],
                attention_mask=mask[:, :-1],
                position_ids=positions[:, :-1],
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            cache.batch_select_indices(place)
        return cache, ids[place], mask[place]

    def _decode_static(self, rows: list[_Row], settings: GenerationConfig, max_new_tokens: int, batch: int) -> None:
        """Decode a batch of constant shape with a static cache; padding rows are thrown away."""
        longest = len(rows[0].ids)
        rounded = -(-longest // 256) * 256
        width = max(longest, min(rounded, self.positions - max_new_tokens))
        settings.max_new_tokens = min(max_new_tokens, self.positions - width)
        filled = [row.ids for row in rows] + [rows[-1].ids] * (batch - len(rows))
        ids, mask = self._left_padded(filled, width)
        settings.cache_implementation = "static"
        out = self._generate(input_ids=ids, attention_mask=mask, generation_config=settings)
        for row, tokens in zip(rows, out[:, width:].tolist(), strict=False):
            row.new.extend(tokens)


def _batches(rows: list[_Row], size: int) -> Iterator[list[_Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _eos_ids(model: PreTrainedModel | PeftModel, tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """Every token that ends an answer: the tokenizer's, and those of the model's generation settings."""
    own = model.generation_config.eos_token_id if model.generation_config is not None else None
    listed = own if isinstance(own, list) else [own]
    return {token for token in [tokenizer.eos_token_id, *listed] if token is not None}
