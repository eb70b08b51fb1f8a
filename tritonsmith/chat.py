"""A question to a chat API and its answer: what is read of a reply, what an error says in one line. Asks nothing."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import openai
from pydantic import BaseModel, Field

from tritonsmith.prompts import Message

_SPECIAL = r"(?:<\|[\w-]+\|>\s*)"


@dataclass(frozen=True)
class Question:
    """One completion that is asked for."""

    messages: Sequence[Message]
    temperature: float = 0.8
    top_p: float = 1.0
    max_new_tokens: int = 2048
    seed: int | None = None


@dataclass(frozen=True)
class Answer:
    """What came back."""

    text: str
    """What the model wrote; empty where it wrote nothing."""
    reasoning: str = ""
    """What it thought before, where the server tells that apart."""
    tokens: int = 0
    """Prompt and completion together, as the server counts them; one for 4 characters where it does not."""
    cut: bool = False
    """Whether it ended at the limit of tokens instead of by itself."""


class _Said(BaseModel):
    """The part of a chat completion's message that is read; servers differ in the name of the reasoning."""

    content: str | list[object] | None = None
    reasoning_content: object = None
    reasoning: object = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: object = None


class Reply(BaseModel):
    """A chat completion; everything that is not needed may be missing, or be of any form."""

    choices: list[_Choice] = Field(min_length=1)
    usage: object = None


def _text(said: object) -> str:
    """A text, or the texts of its parts; empty for anything else."""
    if isinstance(said, list):
        return "".join(_text(part.get("text")) for part in said if isinstance(part, dict))
    return said if isinstance(said, str) else ""


def _counted(usage: object) -> int | None:
    """Tokens of question and answer, where the server says how many."""
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and total >= 0 else None


def answer_of(reply: Reply, question: Question) -> Answer:
    """What a reply says to a question."""
    choice = reply.choices[0]
    text = _text(choice.message.content)
    reasoning = _text(choice.message.reasoning_content) or _text(choice.message.reasoning)
    tokens = _counted(reply.usage)
    if tokens is None:
        tokens = (sum(len(message["content"]) for message in question.messages) + len(text) + len(reasoning)) // 4
    return Answer(_without_echo(text, question), reasoning, tokens, choice.finish_reason == "length")


def _without_echo(text: str, question: Question) -> str:
    """The text without the question in front of it.

    `transformers serve` 5.23 gives prompt and special tokens back for a Qwen3 model whose chat template is not ChatML,
    as nano's is.
    """
    asked = question.messages[-1]["content"]
    head, found, rest = text.partition(asked)
    if not asked or not found or not re.fullmatch(rf"\s*{_SPECIAL}*", head):
        return text
    return re.sub(rf"^\s*{_SPECIAL}*|\s*{_SPECIAL}*$", "", rest)


def said(error: openai.APIStatusError) -> str:
    """HTTP status and what the server said, if that can be shown in a line."""
    body = error.body
    message = body.get("message") if isinstance(body, dict) else body
    text = one_line(message) if isinstance(message, str) and not message.lstrip().startswith("<") else ""
    return f"HTTP {error.status_code}: {text}" if text else f"HTTP {error.status_code}"


def told_to_wait(error: openai.APIStatusError) -> float | None:
    """Seconds after which the server says it may be asked again, by number or date; None where it says nothing."""
    header = error.response.headers.get("retry-after", "")
    try:
        return max(float(header), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(header).timestamp() - time.time(), 0.0)
    except ValueError:
        return None


def cause(error: BaseException) -> str:
    """What is at the bottom of a connection's failure."""
    while error.__cause__ is not None:
        error = error.__cause__
    return one_line(str(error)) or type(error).__name__


def one_line(text: str) -> str:
    """The start of a text, in one line."""
    return " ".join(text.split())[:200]
