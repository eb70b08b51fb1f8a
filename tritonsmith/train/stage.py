"""Whom a stage of training trains: how the agent is asked, and what its answers have to beat. Does not train.

Plain data, for it is handed to other processes.
"""

from dataclasses import dataclass, field

from tritonsmith import reward
from tritonsmith.config import Config
from tritonsmith.gains import Given
from tritonsmith.prompts import Message, Style, messages
from tritonsmith.train import models
from tritonsmith.types import Task, Verdict


@dataclass(frozen=True)
class Stage:
    """One agent's part in training."""

    style: Style
    """How tasks are asked for that have no prompt below."""
    prompts: dict[str, list[Message]] = field(default_factory=dict)
    """By task."""
    given: dict[str, Given] = field(default_factory=dict)
    """By task the kernel it was given: best-of-N learns from what is clearly faster alone, and no copy."""

    def ask(self, task: Task) -> list[Message]:
        """The chat that asks for an answer."""
        return self.prompts.get(task.id) or messages(task, self.style)

    def settled(self, verdict: Verdict) -> bool:
        """Whether nothing is left to say of an answer: it is right and not slow.

        Slow is what is not clearly faster than the kernel that was given; where none was, what is clearly slower than
        PyTorch.
        """
        given = self.given.get(verdict.task)
        if given is None:
            return verdict.correct and reward.speedup(verdict) >= 1.0
        return reward.beats(verdict, given.verdict)


def frontend(config: Config) -> Stage:
    """The agent that answers tasks."""
    return Stage(models.prompt_style(config.model))
