"""What a candidate is given and held against, as plain data: see `material`, which makes it."""

from dataclasses import dataclass

from torch import nn

from tritonsmith.verify import numerics
from tritonsmith.verify.dynamic import observe, replay
from tritonsmith.verify.reference.by_name import Weights
from tritonsmith.verify.reference.passing import Passed


@dataclass(frozen=True)
class Material:
    """One variant, drawn."""

    inputs: list[object]
    model: nn.Module
    truth: numerics.Truth
    finite: bool
    """Whether the reference's output holds no NaN and no infinity."""
    usable: bool
    """Whether it can be judged against if the output on the task as given was finite; see `variants.usable`."""


@dataclass(frozen=True)
class Fails:
    """A variant on which the reference's own code fails: it does not exist."""

    reason: Exception


@dataclass(frozen=True)
class Habits:
    """What a reference does besides giving an answer; it depends on no contents."""

    effects: replay.Effects
    """What it does to its inputs and weights."""
    remembers: bool
    """Whether its answer depends on the calls before."""
    passed: Passed
    """Which outputs take no computing."""


@dataclass(frozen=True)
class Replays:
    """Further contents for the storage of a variant's inputs; see `replay`."""

    habits: Habits
    again: list[tuple[list[object], numerics.Truth]]
    """Empty where the reference remembers; see `Draws.following`."""


@dataclass(frozen=True)
class Reuse:
    """What one model is used on for, after it has answered the first of a variant's `Replays`; see `reused`."""

    first: list[object]
    rows: tuple[list[object], numerics.Truth] | None
    """More rows than before."""
    weights: Weights
    """Other contents for its weights, with what they begin with."""
    trained: numerics.Truth | None
    """What it answers with these to the same inputs."""


def size_of(value: Material | Replays | Reuse) -> int:
    """Bytes of its tensors."""
    parts: list[object]
    if isinstance(value, Reuse):
        truths = [truth for truth in (value.rows[1] if value.rows else None, value.trained) if truth is not None]
        parts = [value.rows[0] if value.rows else [], *[[truth.exact, truth.native] for truth in truths]]
        parts += [list(row) for row in value.weights.values()]
    elif isinstance(value, Replays):
        parts = [[inputs, truth.exact, truth.native] for inputs, truth in value.again]
    else:
        truth = value.truth
        parts = [value.inputs, list(value.model.state_dict().values()), truth.exact, truth.native]
    return sum(tensor.nbytes for tensor in observe.tensors(parts))
