"""Draw completions from a model in this process: `Sampler.sample`, on two CPU cores or one GPU.

On a GPU `slots` decodes, under CUDA graphs. On a CPU, and for the models that are not for it, decoding is transformers'
`generate` in stretches of `STRETCH` tokens: rows that have ended leave the key/value cache in between, so that one
runaway completion does not hold up a whole batch, and a prompt is read once however many completions are drawn of it.

Not here: sampling from a server (an endpoint has the same `sample`), prompts (`prompts`), extraction (`extract`).
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
import torch
from peft import PeftModel
from transformers import (
    DynamicCache,
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from tritonsmith import progress
from tritonsmith.brisk import brisk
from tritonsmith.train import slots
from tritonsmith.train.slots import Row

Draw = tuple[int, int, str]
"""Index of the prompt, which of its completions, the text."""

STRETCH = 32
"""Tokens decoded between two removals of ended rows: 16 to 64 are equally fast on two cores."""

LENGTHS = 512
"""The length of a GPU's cache is a multiple of this, so that a somewhat longer prompt needs no new one."""


class _Drawn(LogitsProcessor):
    """Draws the token itself, so that `generate` has no choice left: rows have random numbers of their own."""

    def __init__(self, draw: slots.Draw, rows: Sequence[Row], width: int) -> None:
        """For a stretch in which rows go on from `width` tokens."""
        self.draw, self.width = draw, width
        self.luck = torch.from_numpy(np.stack([row.luck(STRETCH) for row in rows]))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        chosen = self.draw(scores, self.luck[:, input_ids.shape[1] - self.width].to(scores.device))
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen[:, None], 0.0)


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
        self._slots: slots.Slots | None = None

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
        part: tuple[int, int] = (0, 1),
        keys: Sequence[tuple[int, int]] | None = None,
    ) -> list[list[str]]:
        """Draw `n` completions of each conversation, in the order given; temperature 0 is greedy.

        `batch` counts rows (completions) decoded together. `on_batch` gets completions as they end, a batch or a few.
        With `part` (i, k) only the i-th of k parts is drawn, all else stays empty; what is drawn is the same but for
        the rounding of sums, into however many parts it is divided. `keys`, where one completion of each conversation
        is drawn, stand for its number and the completion's: random numbers go by them, so that what is missing of a
        larger call is drawn as that would have drawn it.
        A prompt that fills the model's positions gets empty completions; one that nearly does, short ones.
        A conversation may end in the beginning of an answer: it is gone on with, less its last token, which may have
        been cut through, and what is given is the answer whole.
        """
        encoded = self._encode_begun(messages)
        luck = {(i, 0): key for i, key in enumerate(keys or ())}
        rows = [
            Row(i, s, ids, (seed, *luck.get((i, s), (i, s))), begun)
            for i, (ids, begun) in enumerate(encoded)
            for s in range(n)
        ]
        rows = _part(rows, *part)
        texts = [[""] * n for _ in messages]
        shown = progress.bar("drawing", len(rows)) if part[0] == 0 else contextlib.nullcontext(lambda count: None)
        with shown as advance:

            def ended(some: list[Row]) -> None:
                draws = [(row.prompt, row.sample, self._text(_answer(row))) for row in some]
                for prompt, sample, text in draws:
                    texts[prompt][sample] = text
                if on_batch is not None and draws:
                    on_batch(draws)
                advance(len(some))

            self._decode(rows, slots.Draw(temperature, top_p), max_new_tokens, batch, ended)
        return texts

    def complete(
        self,
        prompts: Sequence[list[int]],
        temperature: float = 0.8,
        top_p: float = 1.0,
        max_new_tokens: int = 512,
        batch: int = 64,
        seed: int = 0,
        on_end: Callable[[int, list[int]], None] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> list[list[int]]:
        """Draw the tokens that follow each prompt of tokens, the end token included where one was drawn.

        For trainers, which have tokens and want tokens; equal prompts are read once. `on_end` gets a prompt's place
        and what follows it as soon as that has ended. Where prompts are a part of more, `numbers` are their places
        among all of them: random numbers go by that.
        """
        which = {tuple(ids): i for i, ids in reversed(list(enumerate(prompts)))}
        places = range(len(prompts)) if numbers is None else numbers
        rows = [Row(which[tuple(ids)], i, ids, (seed, places[i])) for i, ids in enumerate(prompts)]

        def ended(some: list[Row]) -> None:
            if on_end is not None:
                for row in some:
                    on_end(row.sample, self._upto_end(row.new))

        self._decode(list(rows), slots.Draw(temperature, top_p), max_new_tokens, batch, ended)
        return [self._upto_end(row.new) for row in rows]

    def release(self) -> None:
        """Give back the memory that a GPU's cache and graphs keep for the next call."""
        self._slots = None

    def _decode(
        self,
        rows: list[Row],
        draw: slots.Draw,
        max_new_tokens: int,
        batch: int,
        ended: Callable[[list[Row]], None],
    ) -> None:
        """Fill in what rows draw, those with the longest prompts first; the model's mode is left as it was."""
        ended([row for row in rows if row.most(max_new_tokens, self.positions) <= 0])
        rows = [row for row in rows if row.most(max_new_tokens, self.positions) > 0]
        rows.sort(key=lambda row: (-len(row.ids), row.prompt))
        decode = self._decode_in_slots if self._has_slots() else self._decode_in_batches
        training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            decode(rows, draw, max_new_tokens, batch, ended)
        self.model.train(training)

    def _has_slots(self) -> bool:
        return self.model.device.type == "cuda" and slots.fits(self.model)

    def _decode_in_slots(
        self,
        rows: list[Row],
        draw: slots.Draw,
        max_new_tokens: int,
        batch: int,
        ended: Callable[[list[Row]], None],
    ) -> None:
        """Decode under CUDA graphs, `batch` rows at a time; the graphs are kept for the next call."""
        if not rows:
            return
        longest = -(-(len(rows[0].ids) + max_new_tokens) // LENGTHS) * LENGTHS
        longest = min(self.positions, longest)
        if self._slots is None or not self._slots.serves(batch, longest):
            self._slots = None  # its memory is free before the new one's is taken
            self._slots = slots.Slots(self.model, batch, longest)
        # Each step is a call that lets go of the interpreter, and must not wait long for threads that judge.
        with brisk():
            self._slots.decode(rows, draw, set(self.eos), max_new_tokens, self.positions, ended)

    def _decode_in_batches(
        self,
        rows: list[Row],
        draw: slots.Draw,
        max_new_tokens: int,
        batch: int,
        ended: Callable[[list[Row]], None],
    ) -> None:
        for part in _batches(rows, batch):
            self._decode_shrinking(part, draw, max_new_tokens)
            ended(part)

    def _encode(self, conversations: Sequence[list[dict[str, str]]]) -> list[list[int]]:
        """All at once: one by one takes twice as long, a sixth of a round of three thousand on a GPU."""
        if not conversations:
            return []
        ids = self.tokenizer.apply_chat_template(
            list(conversations), add_generation_prompt=True, tokenize=True, return_dict=False
        )
        return cast(list[list[int]], ids)

    def _encode_begun(self, conversations: Sequence[list[dict[str, str]]]) -> list[tuple[list[int], int]]:
        """Each conversation's tokens, and how many of them are the beginning of an answer."""
        begun = [chat[-1]["role"] == "assistant" for chat in conversations]
        asked = self._encode([chat[:-1] if some else chat for chat, some in zip(conversations, begun, strict=True)])
        starts = [
            self._start(chat[-1]["content"]) if some else [] for chat, some in zip(conversations, begun, strict=True)
        ]
        return [([*ids, *start], len(start)) for ids, start in zip(asked, starts, strict=True)]

    def _start(self, answer: str) -> list[int]:
        """The tokens of an answer's beginning, less the last, which may have been cut through."""
        return cast(list[int], self.tokenizer(answer, add_special_tokens=False)["input_ids"])[:-1]

    def _text(self, ids: list[int]) -> str:
        end = next((i for i, token in enumerate(ids) if token in self.eos), len(ids))
        text = self.tokenizer.decode(ids[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return cast(str, text)

    def _upto_end(self, ids: list[int]) -> list[int]:
        """The tokens up to the first that ends an answer, it included."""
        return ids[: next((i + 1 for i, token in enumerate(ids) if token in self.eos), len(ids))]

    def _settings(self) -> GenerationConfig:
        """Build the whole configuration: a model's own (top_k, penalties, no cache) must not leak into it."""
        return GenerationConfig(
            do_sample=False, use_cache=True, repetition_penalty=1.0, eos_token_id=self.eos, pad_token_id=self.pad
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

    def _decode_shrinking(self, rows: list[Row], draw: slots.Draw, max_new_tokens: int) -> None:
        """Decode in stretches; ended rows leave the batch and the cache between two of them."""
        settings = self._settings()
        width = len(rows[0].ids)
        budget = max(row.most(max_new_tokens, self.positions) for row in rows)
        budget = min(budget, self.positions - width)
        cache, ids, mask = self._read_prompts(rows, width)
        alive = list(rows)
        while alive and budget > 0:
            settings.max_new_tokens = min(STRETCH, budget)
            out = self._generate(
                input_ids=ids,
                attention_mask=mask,
                past_key_values=cache,
                generation_config=settings,
                logits_processor=LogitsProcessorList([_Drawn(draw, alive, ids.shape[1])]),
            )
            new = out[:, ids.shape[1] :]
            budget -= new.shape[1]
            keep = []
            for i, (row, tokens) in enumerate(zip(alive, new.tolist(), strict=True)):
                if slots.extend(row, tokens, set(self.eos), row.most(max_new_tokens, self.positions)):
                    keep.append(i)
            index = torch.tensor(keep, dtype=torch.long, device=ids.device)
            ids = out[index]
            mask = torch.cat([mask, mask.new_ones(new.shape)], dim=1)[index]
            alive = [alive[i] for i in keep]
            if len(keep) < new.shape[0]:
                cache.batch_select_indices(index)

    def _read_prompts(self, rows: list[Row], width: int) -> tuple[DynamicCache, torch.Tensor, torch.Tensor]:
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


def _answer(row: Row) -> list[int]:
    """The tokens of a row's answer, what was begun of it included."""
    return [*row.ids[len(row.ids) - row.begun :], *row.new]


def _part(rows: list[Row], number: int, parts: int) -> list[Row]:
    """One of several equal parts; the completions of a prompt stay together where they can."""
    dealt = sorted(rows, key=lambda row: row.prompt % parts)
    return dealt[len(rows) * number // parts : len(rows) * (number + 1) // parts]


def _batches(rows: list[Row], size: int) -> Iterator[list[Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _eos_ids(model: PreTrainedModel | PeftModel, tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """Every token that ends an answer: the tokenizer's, and those of the model's generation settings."""
    own = model.generation_config.eos_token_id if model.generation_config is not None else None
    listed = own if isinstance(own, list) else [own]
    return {token for token in [tokenizer.eos_token_id, *listed] if token is not None}
