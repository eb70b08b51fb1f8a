"""What is trained on next: tasks drawn by the curriculum in the order that TRL's groups need, and rows by length.

Both orders are of what all processes train on together; accelerate deals each process its part, side by side. They
know nothing of processes, so they are the same on each, and with any number of them.
"""

import random
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import TypedDict, cast

import torch
from torch.utils.data import Sampler
from transformers.trainer_pt_utils import get_length_grouped_indices
from trl.trainer.utils import RepeatSampler

from tritonsmith.curriculum import Curriculum


class Place(TypedDict):
    """Where a `CurriculumSampler` is, as plain JSON data."""

    rng: list[object]
    """`random.Random.getstate()`."""
    drawn: list[list[int]]
    """The epoch's generation batches so far, those that the loader has read ahead among them."""


class CurriculumSampler(Sampler[int]):
    """The order of TRL's `RepeatSampler`, with each generation batch drawn by the curriculum as it is then.

    Each of `batch` distinct tasks comes `repeat` times in a row (its group), and the whole batch `again` times.
    """

    def __init__(
        self, levels: Sequence[int], curriculum: Curriculum, batch: int, repeat: int, again: int, seed: int
    ) -> None:
        """`levels[i]` is the level of the data set's row i."""
        self.curriculum = curriculum
        self.batch = batch
        self.repeat = repeat
        self.again = again
        self.rng = random.Random(seed)
        self.drawn: list[list[int]] = []
        self.replayed: deque[list[int]] = deque()
        self.by_level: dict[int, list[int]] = {}
        for index, level in enumerate(levels):
            self.by_level.setdefault(curriculum.level(level), []).append(index)
        self.rows = len(levels)

    def draw(self) -> list[int]:
        """Draw distinct rows for one generation batch."""
        wanted = Counter(self.curriculum.sample_levels(self.batch, self.rng, set(self.by_level)))
        chosen: list[int] = []
        for level, count in sorted(wanted.items()):
            there = self.by_level[level]
            chosen += self.rng.sample(there, min(count, len(there)))
        if len(chosen) < self.batch:  # levels with too few are filled up from the others
            taken = set(chosen)
            chosen += self.rng.sample(
                [index for index in range(self.rows) if index not in taken], self.batch - len(chosen)
            )
        self.rng.shuffle(chosen)
        return chosen

    def __iter__(self) -> Iterator[int]:
        for _ in range(max(1, self.rows // self.batch)):
            chosen = self.replayed.popleft() if self.replayed else self.draw()
            self.drawn.append(chosen)
            for _ in range(self.again):
                for index in chosen:
                    yield from [index] * self.repeat
        self.drawn.clear()

    def __len__(self) -> int:
        return max(1, self.rows // self.batch) * self.batch * self.repeat * self.again

    def place(self) -> Place:
        """What a checkpoint must hold to go on with the very batches that come next."""
        return {"rng": list(self.rng.getstate()), "drawn": self.drawn}

    def go_to(self, place: Place) -> None:
        """Let the next epoch be that of a `place`, from its beginning: the trainer skips what it has done of it."""
        version, internal, gauss = place["rng"]
        self.rng.setstate((version, tuple(cast("list[int]", internal)), gauss))
        self.replayed = deque(place["drawn"])


class Reshuffled(Sampler[int]):
    """TRL's order, which in each epoch follows from the seed and the epoch's number alone.

    TRL's own goes on from the epoch before, so that a process that goes on in the third begins with the first again.
    """

    def __init__(self, order: RepeatSampler) -> None:
        self.order = order
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        if self.order.shuffle:
            self.order.generator.manual_seed(1_000_003 * self.epoch + (self.order.seed or 0))
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.order)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next order is of; whoever loads the data does."""
        self.epoch = epoch


class LengthOrder(Sampler[int]):
    """Rows in random order, those of a step about equally long; another order each epoch, the same in each process.

    An epoch's last step is filled up with rows of its first: what is learnt in it would else depend on how many
    processes share it, for each of them needs something to do.
    """

    def __init__(self, lengths: Sequence[int], batch: int, seed: int) -> None:
        """`lengths[i]` is that of the data set's row i in tokens; `batch` rows make a step."""
        self.lengths, self.batch, self.seed = list(lengths), batch, seed
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(1_000_003 * self.epoch + self.seed)
        order = get_length_grouped_indices(self.lengths, self.batch, generator=generator)
        return islice(cycle(order), len(self))

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch) * self.batch

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next order is of; whoever loads the data does."""
        self.epoch = epoch
