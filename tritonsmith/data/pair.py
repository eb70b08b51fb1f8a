"""What a source of answers gives for a task: a pair, or why there is none. Says nothing of correctness: see `build`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """An answer to a task that nobody has judged yet."""

    plan: str
    """Short, true reasoning: operators, fusion, tiling, masks, numerics."""
    source: str
    """The candidate's source, with `ModelNew`."""


@dataclass(frozen=True)
class Miss:
    """A task that a source has no answer to."""

    reason: str
    """A few words, the same for the same cause: histograms are made of them."""
