"""The curriculum: how often a level-2 task is drawn, by how well level 1 goes. Pure state, no tasks, no trainer.

p(level 2) = p_min + (p_max - p_min) * min(acc / threshold, 1), where acc is a moving average of the level-1 correct
rate (the report on modular extensions of TritonRL: 0.1 to 0.5, threshold 40 %). It falls again when acc does.
"""

import math
import random
from collections.abc import Collection, Mapping
from typing import Self

from tritonsmith.config import CurriculumConfig


class Curriculum:
    """Weights of the levels, learned from what is observed."""

    def __init__(self, p_min: float = 0.1, p_max: float = 0.5, threshold: float = 0.4, decay: float = 0.9) -> None:
        """Start with nothing observed, at `p_min`; `decay` is the weight of the past at each observation."""
        if not 0 <= p_min <= p_max <= 1 or threshold <= 0 or not 0 <= decay < 1:
            raise ValueError("a curriculum needs 0 <= p_min <= p_max <= 1, threshold > 0 and 0 <= decay < 1")
        self.p_min, self.p_max, self.threshold, self.decay = p_min, p_max, threshold, decay
        self.accuracy: dict[int, float] = {}
        """Moving average of the correct rate by level, for the levels observed so far."""

    @classmethod
    def from_config(cls, config: CurriculumConfig) -> Self:
        """A curriculum as the configuration's section says."""
        return cls(config.p_min, config.p_max, config.threshold, config.decay)

    @property
    def p_level2(self) -> float:
        """Probability of a level-2 task."""
        share = min(self.accuracy.get(1, 0.0) / self.threshold, 1.0)
        return self.p_min + (self.p_max - self.p_min) * share

    def weights(self) -> dict[int, float]:
        """Probability of each level; they add up to 1."""
        return {1: 1.0 - self.p_level2, 2: self.p_level2}

    def observe(self, level: int, correct: bool | float) -> None:
        """Take in one batch's correct rate (0 to 1) at a level, or one candidate's outcome.

        The first observation sets the average, so that a run of few rounds does not start from a made-up 0.
        """
        rate = float(correct)
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"a correct rate lies between 0 and 1, not {rate}")
        before = self.accuracy.get(level, rate)
        self.accuracy[level] = self.decay * before + (1.0 - self.decay) * rate

    def sample_levels(self, n: int, rng: random.Random, available: Collection[int] = (1, 2)) -> list[int]:
        """Draw the levels of `n` tasks, shuffled; levels that have no tasks are left out.

        The number at level 2 is n * p rounded up or down at random, so that its mean is exact: 8 tasks at p = 0.1
        hold one at level 2 in 80 % of the batches, where truncation would never draw one.
        """
        if set(available) >= {1, 2}:
            exact = n * self.p_level2
            whole = math.floor(exact)
            second = whole + (rng.random() < exact - whole)
        elif 1 in available or 2 in available:
            second = n if 2 in available else 0
        else:
            raise ValueError("a curriculum needs tasks at level 1 or 2")
        levels = [2] * second + [1] * (n - second)
        rng.shuffle(levels)
        return levels

    def state_dict(self) -> dict[str, dict[str, float]]:
        """What a checkpoint must hold, as plain JSON data."""
        return {"accuracy": {str(level): value for level, value in sorted(self.accuracy.items())}}

    def load_state_dict(self, state: Mapping[str, Mapping[str, float]]) -> None:
        """Continue from a `state_dict`."""
        self.accuracy = {int(level): float(value) for level, value in state["accuracy"].items()}

    def metrics(self) -> dict[str, float]:
        """What to log: `curriculum/p_level2` and the averages `curriculum/acc_level1`, ..."""
        logged = {f"curriculum/acc_level{level}": value for level, value in sorted(self.accuracy.items())}
        return {"curriculum/p_level2": self.p_level2, **logged}
