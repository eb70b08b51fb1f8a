"""Which tokens of a completion are its plan and its code, or lie in a span: masks for `credit`, from characters.

Tokens are followed as they were drawn: a model may write a text in other tokens than its tokenizer would, so the
text is not encoded again. Knows neither rewards nor trainers.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from tokenizers.decoders import DecodeStream
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from tritonsmith.extract import extract

SEGMENTS = ("plan", "code")


def token_starts(ids: Sequence[int], tokenizer: PreTrainedTokenizerFast) -> tuple[str, list[int]]:
    """The text of the ids without special tokens, and the character at which each token begins.

    A token that ends within a character begins where the character does; a special one where it stands.
    """
    stream = DecodeStream(skip_special_tokens=True)
    pieces: list[str] = []
    starts: list[int] = []
    place = 0
    for token in ids:
        starts.append(place)
        piece = stream.step(tokenizer.backend_tokenizer, int(token))
        if piece:
            pieces.append(piece)
            place += len(piece)
    return "".join(pieces), starts


def boundary(text: str) -> int:
    """The character at which the code begins, its fence included.

    What follows the code belongs to it; so does everything where no code was found, since that is what went wrong.
    """
    found = extract(text)
    if found.source is None or found.plan_span is None:
        return 0
    return found.plan_span[1]


def masks(
    ids: Sequence[Sequence[int]], tokenizer: PreTrainedTokenizerFast, length: int | None = None
) -> dict[str, Tensor]:
    """Masks (B, T) of float, 1 on the tokens of each segment; T is `length`, or the longest row.

    Every token of a row is in exactly one segment, its end-of-sequence token in the last; padding on the right is
    in none, so rows come without it.
    """
    width = length if length is not None else max(map(len, ids), default=0)
    found = {name: torch.zeros(len(ids), width) for name in SEGMENTS}
    for row, tokens in enumerate(ids):
        text, starts = token_starts(tokens, tokenizer)
        edge = boundary(text)
        plan = torch.tensor([start < edge for start in starts], dtype=torch.bool)
        found["plan"][row, : len(tokens)] = plan.float()
        found["code"][row, : len(tokens)] = (~plan).float()
    return found


def within(
    ids: Sequence[Sequence[int]],
    tokenizer: PreTrainedTokenizerFast,
    rows: Iterable[int],
    span: Callable[[int, str], tuple[int, int] | None],
    length: int,
) -> Tensor:
    """A mask (B, `length`) of float, 1 on tokens with a character in `span(row, text)`; 0 where that is None, and in
    all that are none of `rows`."""
    found = torch.zeros(len(ids), length)
    for row in rows:
        tokens = ids[row]
        text, starts = token_starts(tokens, tokenizer)
        place = span(row, text)
        if place is not None:
            ends = [*starts[1:], len(text)]
            inside = [start < place[1] and end > place[0] for start, end in zip(starts, ends, strict=True)]
            found[row, : len(tokens)] = torch.tensor(inside, dtype=torch.float)
    return found
