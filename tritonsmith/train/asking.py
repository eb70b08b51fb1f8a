"""GRPO's data set: a number a row, and what it stands for, the prompt in words and in tokens.

TRL's loader hands over the whole batch at every update and walks through all that is in it, and TRL encodes each prompt
once more where it is asked for (benchmarks/rl_earlier.md says what that took).
"""

import logging
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from datasets import Dataset
from transformers import PreTrainedTokenizerBase

from tritonsmith.config import ConfigError
from tritonsmith.prompts import Ask, Message
from tritonsmith.train.rewarding import Conversation
from tritonsmith.train.rollout import Inputs
from tritonsmith.types import Task

log = logging.getLogger(__name__)

NUMBER = "row"
"""The column."""


@dataclass(frozen=True)
class Questions:
    """The tasks that are trained on, as they are asked."""

    rows: Inputs
    """Prompt, task and level."""
    tokens: "dict[str, array[int]]"
    """By what a prompt of one message says; as lists those of sixty thousand tasks take a third of a gigabyte."""
    chats: dict[str, Conversation]
    """By task."""

    @classmethod
    def of(cls, tasks: Sequence[Task], ask: Ask, tokenizer: PreTrainedTokenizerBase, longest: int) -> "Questions":
        """Those whose prompt has at most `longest` tokens; raises ConfigError where there are none."""
        chats = [ask(task) for task in tasks]
        # All at once: one by one takes twice as long, and there may be forty thousand tasks.
        encoded = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=True, return_dict=False)
        fitting = [
            (task, chat, ids)
            for task, chat, ids in zip(tasks, chats, cast("list[list[int]]", encoded), strict=True)
            if len(ids) <= longest
        ]
        if len(fitting) < len(tasks):
            log.warning("grpo: %d of %d prompts exceed %d tokens", len(tasks) - len(fitting), len(tasks), longest)
        if not fitting:
            raise ConfigError(f"grpo.max_prompt: every prompt exceeds {longest} tokens")
        return cls(
            [{"prompt": chat, "task": task.id, "level": task.level} for task, chat, _ in fitting],
            {chat[0]["content"]: array("i", ids) for _, chat, ids in fitting if len(chat) == 1},
            {task.id: chat for task, chat, _ in fitting},
        )

    def dataset(self) -> Dataset:
        """What TRL walks through."""
        return Dataset.from_dict({NUMBER: range(len(self.rows))})

    def asked(self, inputs: Sequence[Mapping[str, int]]) -> Inputs:
        """What rows of the data set stand for."""
        return [dict(self.rows[row[NUMBER]]) for row in inputs]

    def known(self, chat: Sequence[Message]) -> list[int] | None:
        """A prompt's tokens, None where it is not one of these."""
        found = self.tokens.get(chat[0]["content"]) if len(chat) == 1 else None
        return None if found is None else found.tolist()
