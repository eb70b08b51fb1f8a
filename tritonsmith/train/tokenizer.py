"""A byte-level BPE for PyTorch modules and Triton kernels, in which a line of boilerplate is one token.

Merges may span words but not lines: a kernel is then 185 tokens long at the median, and 424 at the 95th percentile,
where the usual split at words makes 864 and 1641 of it (vocabulary 4096, pairs of `tasks.graphs` and `data.lower`), so
a model reads and draws four times as many. Two things stay apart inside a line. Numbers are digits, but for those that
belong to the language (block sizes, operators' constants): what was never seen can be copied. And numbered names (`v7`,
`t2`) are pieces of their own, so that the ninth line of a kernel is written as the third one is, though no training
text may have had nine.
"""

import json
import re
from collections.abc import Iterable
from hashlib import sha256

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

PAD, END, TASK, ANSWER = "<|pad|>", "<|end|>", "<|task|>", "<|answer|>"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}<|answer|>{{ message['content'] }}<|end|>"
    "{% else %}<|task|>{{ message['content'] }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|answer|>{% endif %}"
)


_FIXED = (
    *("0.0", "0.5", "1.0", "2.0", "3.0", "6.0", "1e-5", "1e-05", "1e-6", "1e-06", "1e-8", "1e-08", "1e-12"),
    *("0.044715", "0.7071067811865476", "0.7978845608028654", "1.5957691216057308"),
    *("1.0507009873554805", "1.6732632423543772"),
    *("16", "32", "64", "128", "256", "512", "1024", "2048", "4096"),
)
"""Numbers of the language: constants of operators (GELU, SELU, epsilons), block sizes, widths of types."""

_NUMBER = rf"(?<![0-9.])(?:{'|'.join(map(re.escape, _FIXED))}|[0-9])(?![0-9.])"
"""A number that may be part of a longer token; a single digit is one too."""
_NAME = r"(?<![A-Za-z0-9_.])[a-z][0-9]+(?![0-9])"
_SPLIT = Regex(rf"\n*(?:{_NUMBER}|(?!{_NAME})[^0-9\n])+|{_NAME}|\n+|[0-9]")


def train(texts: Iterable[str], vocab_size: int = 4096) -> PreTrainedTokenizerFast:
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


def vocabulary(tokenizer: PreTrainedTokenizerBase) -> str:
    """A word for the tokens and their numbers: what was encoded means the same under tokenizers that share it."""
    return sha256(json.dumps(sorted(tokenizer.get_vocab().items())).encode()).hexdigest()
