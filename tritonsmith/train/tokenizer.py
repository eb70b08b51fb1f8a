"""nano's tokenizer: a byte-level BPE in which a line of boilerplate is one token and every digit its own.

Merges never cross the start of a line, so boilerplate lines and the lines of single operators become
tokens; digits of free constants and sizes stay apart, so that numbers never seen can be copied.
"""

import re
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, END, TASK, ANSWER = "<|pad|>", "<|end|>", "<|task|>", "<|answer|>"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}<|answer|>{{ message['content'] }}<|end|>"
    "{% else %}<|task|>{{ message['content'] }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|answer|>{% endif %}"
)

_FIXED = (
    *("0.0", "1.0", "2.0", "3.0", "6.0", "0.044715", "1e-5", "1e-6", "1e-12"),
    *("0.7071067811865476", "1.5957691216057308", "1.0507009873554805", "1.6732632423543772"),
)
"""Numbers that belong to an operator, not to a task: no free constant has these values."""

_NUMBERS = (
    rf"(?<![0-9.])(?:{'|'.join(map(re.escape, _FIXED))}|[0-9])(?![0-9.])",
    r"(?<=float)32|(?<==)(?:1024|64|32)|(?<=, )(?:1024|64)(?=\))",
)
_SPLIT = Regex(rf"\n*(?:{'|'.join(_NUMBERS)}|[^0-9\n])+|\n+|[0-9]")


def train(texts: Iterable[str], vocab_size: int = 2048) -> PreTrainedTokenizerFast:
    """Learn the merges from texts; the vocabulary holds all 256 bytes and may come out smaller than asked."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_SPLIT, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=8,
        special_tokens=[PAD, END, TASK, ANSWER],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[TASK, ANSWER],
        padding_side="left",
        model_max_length=2048,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast
