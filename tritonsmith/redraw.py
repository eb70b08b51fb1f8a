"""How much of a failed answer stays, where the rest of it is drawn anew: all before the line that the verifier blames.

Most failures name a line near an answer's end: a name that is not there, a bracket that does not close. What stands
before it has run, or at least parsed, and the rest costs a part of the tokens. It is the model's own answer still: each
part was drawn given all before it. What it is worth beside whole answers drawn again is in `benchmarks/turns.md`.

Draws and judges nothing. Turns that say in words what was wrong are in `prompts`.
"""

import re

from tritonsmith.blame import blamed
from tritonsmith.extract import extract
from tritonsmith.prompts import Message
from tritonsmith.types import Verdict

_TOP = re.compile(r"^(?=[^\s#)\]}])", re.MULTILINE)
"""Where a line begins that is no part of the definition before it."""


def begun(chat: list[Message], completion: str, verdict: Verdict) -> list[Message]:
    """The chat that asks for the rest of an answer, ending in what stays of it; without that where nothing does.

    `chat` may be one that this gave for the turn before. An answer that fails no later than where that one went on
    goes back further: to the definition that the place is in, and then to the beginning.
    """
    asked, before = (chat[:-1], chat[-1]["content"]) if chat[-1]["role"] == "assistant" else (chat, None)
    span = blamed(completion, extract(completion).source, verdict)
    stays = completion[: span[0] if span else 0]
    if before is not None and len(stays) <= len(before):
        starts = [one.start() for one in _TOP.finditer(before) if one.start() < len(before)]
        inside = starts[-1] if starts and "```" in before[: starts[-1]] else 0
        stays = completion[:inside]
    return [*asked, {"role": "assistant", "content": stays}] if stays else asked
