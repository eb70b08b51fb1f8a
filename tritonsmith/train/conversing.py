"""Feedback turns of GRPO: a batch is drawn turn by turn, as the verifier answers what failed or is slow.

Each conversation has as many rows as it may have turns (`KernelReward.turns`). TRL wants the same number of rows each
step, so those of turns that were not taken stay, with what was said last, and are left out of all that is computed.
What a turn is worth is `credit.returns`; the verdicts come from `rewarding`.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from tritonsmith.prompts import Message, replied
from tritonsmith.train.clock import Clock
from tritonsmith.train.rewarding import Conversation
from tritonsmith.train.rollout import Rollout
from tritonsmith.train.stage import Stage

log = logging.getLogger(__name__)

Draw = Callable[[int, Sequence[int], Sequence[list[int]]], list[list[int]]]
"""Of a turn (from 0), the numbers of the conversations that go on and their prompts: what follows each."""


@dataclass
class Converser:
    """Draws a batch's turns."""

    turns: int
    stage: Stage
    """Says what leads to another turn."""
    longest: int
    """Tokens of a prompt beyond which a conversation does not go on."""
    encode: Callable[[list[Conversation]], list[list[int]]]
    """The tokens of prompts."""
    text: Callable[[list[int]], str]
    """What tokens say."""
    clock: Clock
    _warned: bool = False

    def converse(self, rollout: Rollout, draw: Draw) -> list[list[int]]:
        """Fill in what was drawn, each turn judged before the next; the rows' prompts, in tokens."""
        every = range(0, len(rollout.inputs), self.turns)
        places = list(every)
        prompts: list[list[int]] = [[] for _ in rollout.inputs]
        for place, ids in zip(places, self._encoded(rollout, places), strict=True):
            prompts[place] = ids
        rollout.completions = [[] for _ in rollout.inputs]
        for turn in range(self.turns):
            with self.clock.counting("sample"):
                numbers = [place // self.turns for place in places]
                drawn = draw(turn, numbers, [prompts[place] for place in places])
            for place, ids in zip(places, drawn, strict=True):
                rollout.completions[place] = ids
            if turn + 1 < self.turns:
                places = self._gone_on(rollout, places, prompts)
        for place in range(len(prompts)):
            if not rollout.completions[place]:
                rollout.inputs[place], prompts[place] = rollout.inputs[place - 1], prompts[place - 1]
        return prompts

    def _gone_on(self, rollout: Rollout, places: Sequence[int], prompts: list[list[int]]) -> list[int]:
        """The places of the next turn, their rows and prompts filled in, of conversations that have one."""
        with self.clock.counting("wait"):
            verdicts = rollout.batch.heard()
        following: list[int] = []
        for place in places:
            if place in verdicts and not self.stage.settled(verdicts[place]):
                row = rollout.inputs[place]
                said = cast("list[Message]", row["prompt"])
                answer = self.text(rollout.completions[place])
                rollout.inputs[place + 1] = {**row, "prompt": replied(said, answer, verdicts[place])}
                following.append(place + 1)
        fitting: list[int] = []
        for place, ids in zip(following, self._encoded(rollout, following), strict=True):
            if len(ids) <= self.longest:
                prompts[place] = ids
                fitting.append(place)
        if len(fitting) < len(following) and not self._warned:
            self._warned = True
            log.warning("grpo: conversations of more than %d tokens have no further turn", self.longest)
        return fitting

    def _encoded(self, rollout: Rollout, places: Sequence[int]) -> list[list[int]]:
        chats = [cast(Conversation, rollout.inputs[place]["prompt"]) for place in places]
        return self.encode(chats) if chats else []
