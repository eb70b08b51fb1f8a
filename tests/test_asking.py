"""GRPO's data set is a number a row; what the numbers stand for is known in words and in tokens."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from tritonsmith.config import ConfigError
from tritonsmith.prompts import Message
from tritonsmith.train.asking import Questions
from tritonsmith.types import Task

TASKS = [Task(id=f"t{n}", level=n, source="import torch\n" * n) for n in (1, 2, 40)]


def ask(task: Task) -> list[Message]:
    return [{"role": "user", "content": task.source}]


@pytest.fixture
def tokenizer(tiny_folder: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_folder)


def encoded(tokenizer: PreTrainedTokenizerBase, task: Task) -> list[int]:
    return tokenizer.apply_chat_template(ask(task), add_generation_prompt=True, tokenize=True, return_dict=False)


def test_a_prompt_has_the_tokens_that_the_template_gives(tokenizer: PreTrainedTokenizerBase) -> None:
    questions = Questions.of(TASKS, ask, tokenizer, 10_000)
    for task in TASKS:
        assert questions.known(ask(task)) == encoded(tokenizer, task)
    assert questions.known([*ask(TASKS[0]), {"role": "assistant", "content": "so"}]) is None
    assert questions.known([{"role": "user", "content": "else"}]) is None


def test_rows_are_numbers_that_stand_for_what_is_asked(tokenizer: PreTrainedTokenizerBase) -> None:
    questions = Questions.of(TASKS, ask, tokenizer, 10_000)
    rows = questions.dataset()
    assert rows.column_names == ["row"] and len(rows) == 3
    asked = questions.asked([rows[2], rows[0], rows[2]])
    assert [(row["task"], row["level"], row["prompt"]) for row in asked] == [
        (task.id, task.level, ask(task)) for task in (TASKS[2], TASKS[0], TASKS[2])
    ]
    asked[0]["task"] = "other"  # a conversation that goes on changes its own row alone
    assert questions.asked([rows[2]])[0]["task"] == "t40"


def test_a_task_whose_prompt_is_too_long_is_not_asked(tokenizer: PreTrainedTokenizerBase) -> None:
    longest = len(encoded(tokenizer, TASKS[1]))
    questions = Questions.of(TASKS, ask, tokenizer, longest)
    assert [row["task"] for row in questions.rows] == ["t1", "t2"] and set(questions.chats) == {"t1", "t2"}
    with pytest.raises(ConfigError, match="max_prompt"):
        Questions.of(TASKS, ask, tokenizer, 1)
