"""The curriculum: how often each level is drawn, by how well those below it go. Pure state, no tasks, no trainer.

With two levels, p(level 2) = p_min + (p_max - p_min) * min(acc_1 / threshold, 1), where acc_1 is a moving average of
the level-1 correct rate (the report on modular extensions of TritonRL: 0.1 to 0.5, threshold 40 %). With more, the
same goes for each level and the next: p(at least k + 1 | at least k) is that formula of acc_k. A share falls again when
its accuracy does, so that tasks return to the level that has been forgotten.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Self

from tritonsmith.config import CurriculumConfig


class Curriculum:
    """Weights of the levels, learned from what is observed."""

    def __init__(
        self, p_min: float = 0.1, p_max: float = 0.5, threshold: float = 0.4, decay: float = 0.9, levels: int = 2
    ) -> None:
        """Start with nothing observed, each level at `p_min`; `decay` is the weight of the past at each observation."""
        if not 0 <= p_min <= p_max <= 1 or threshold <= 0 or not 0 <= decay < 1 or levels < 1:
            raise ValueError(
                "a curriculum needs 0 <= p_min <= p_max <= 1, threshold > 0, 0 <= decay < 1 and a level or more"
            )
        self.p_min, self.p_max, self.threshold, self.decay, self.levels = p_min, p_max, threshold, decay, levels
        self.accuracy: dict[int, float] = {}
        """Moving average of the correct rate by level, for the levels observed so far."""

    @classmethod
    def from_config(cls, config: CurriculumConfig) -> Self:
        """A curriculum as the configuration's section says."""
        return cls(config.p_min, config.p_max, config.threshold, config.decay, config.levels)

    def level(self, task: int) -> int:
        """The curriculum's level of a task's level: all above the last count as the last."""
        return min(max(task, 1), self.levels)

    def onward(self, level: int) -> float:
        """The share of what reaches a level that goes on to the next."""
        share = min(self.accuracy.get(level, 0.0) / self.threshold, 1.0)
        return self.p_min + (self.p_max - self.p_min) * share

    @property
    def p_level2(self) -> float:
        """Probability of a task above level 1."""
        return self.onward(1) if self.levels > 1 else 0.0

    def weights(self) -> dict[int, float]:
        """Probability of each level; they add up to 1."""
        found: dict[int, float] = {}
        left = 1.0
        for level in range(1, self.levels):
            found[level] = left * (1.0 - self.onward(level))
            left *= self.onward(level)
        return {**found, self.levels: left}

    def observe(self, level: int, correct: bool | float) -> None:
        """Take in one batch's correct rate (0 to 1) at a level, or one candidate's outcome.

        The first observation sets the average, so that a run of few rounds does not start from a made-up 0.
        """
        rate = float(correct)
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"a correct rate lies between 0 and 1, not {rate}")
        before = self.accuracy.get(level, rate)
        self.accuracy[level] = self.decay * before + (1.0 - self.decay) * rate

    def sample_levels(self, n: int, rng: random.Random, available: Collection[int] | None = None) -> list[int]:
        """Draw the levels of `n` tasks, shuffled; the weight of a level that has no tasks goes to the others.

        Systematic sampling: the number at each level is its mean rounded up or down, and its mean is exact. 8 tasks at
        p = 0.1 hold one at level 2 in 80 % of the batches, where truncation would never draw one.
        """
        weights = {level: w for level, w in self.weights().items() if available is None or level in available}
        if not weights:
            raise ValueError(f"a curriculum needs tasks at one of the levels 1 to {self.levels}")
        total = sum(weights.values())
        shares = weights if total > 0 else dict.fromkeys(weights, 1.0)
        total = total or float(len(shares))
        start, edge, counts = rng.random(), 0.0, Counter[int]()
        before = 0
        for level, weight in shares.items():
            edge += n * weight / total
            upto = min(n, int(edge - start) + 1) if edge > start else 0
            counts[level] = upto - before
            before = upto
        counts[level] += n - before  # what rounding left
        levels = [level for level, number in counts.items() for _ in range(number)]
        rng.shuffle(levels)
        return levels

    def state_dict(self) -> dict[str, dict[str, float]]:
        """What a checkpoint must hold, as plain JSON data."""
        return {"accuracy": {str(level): value for level, value in sorted(self.accuracy.items())}}

    def load_state_dict(self, state: Mapping[str, Mapping[str, float]]) -> None:
        """Continue from a `state_dict`."""
        self.accuracy = {int(level): float(value) for level, value in state["accuracy"].items()}

    def metrics(self) -> dict[str, float]:
        """What to log: the weights `curriculum/p_level2`, ... and the averages `curriculum/acc_level1`, ..."""
        logged = {f"curriculum/p_level{level}": weight for level, weight in self.weights().items() if level > 1}
        logged |= {f"curriculum/acc_level{level}": value for level, value in sorted(self.accuracy.items())}
        return logged
