"""Whom a stage of training trains: how the agent is asked, and what its answers have to beat. Does not train.

Plain data, for it is handed to other processes.
"""

from dataclasses import dataclass, field

from tritonsmith import reward
from tritonsmith.config import Config
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
    given: dict[str, Verdict] = field(default_factory=dict)
    """By task, the verdict on the kernel it was given: best-of-N learns from what is clearly faster alone."""
    drawn_style: Style | None = None
    """How tasks without a prompt are asked for while training's answers are drawn, where not as they are learnt."""

    def ask(self, task: Task) -> list[Message]:
        """The chat that asks for an answer."""
        return self.prompts.get(task.id) or messages(task, self.style)

    def draw(self, task: Task) -> list[Message]:
        """The chat that training's answers are drawn from."""
        if self.drawn_style is None or task.id in self.prompts:
            return self.ask(task)
        return messages(task, self.drawn_style)

    def learnt(self, task: Task, chat: list[Message], turn: int) -> list[Message]:
        """The chat that a turn's answer is learnt to, of the one it was drawn from: what was said in it stays."""
        return chat if self.drawn_style is None else [*self.ask(task), *chat[len(chat) - 2 * (turn - 1) :]]

    def settled(self, verdict: Verdict) -> bool:
        """Whether nothing is left to say of an answer: it is right and not slow.

        Slow is what is not clearly faster than the kernel that was given; where none was, what is clearly slower than
        PyTorch.
        """
        given = self.given.get(verdict.task)
        if given is None:
            return verdict.correct and reward.speedup(verdict) >= 1.0
        return reward.beats(verdict, given)


def frontend(config: Config) -> Stage:
    """The agent that answers tasks."""
    return Stage(models.prompt_style(config.model), drawn_style=config.best_of_n.drawn_style)
