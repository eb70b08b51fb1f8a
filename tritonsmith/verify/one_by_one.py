"""Weights of one model of a candidate changed alone, in part, and often before the next call.

A fine-tuned layer, calibrated statistics, a pruned matrix: training changes a part of a model, and takes many steps
between two calls. What a forward prepared of its weights is old then where it looked at another weight, at a few
numbers, or at whether a version is even. All at once are `reused`'s.
"""

import secrets
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

import torch

from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding
from tritonsmith.verify import numerics
from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.forwards import Answer, Forwards
from tritonsmith.verify.reference.by_name import Weights

Pair = tuple[list[object], numerics.Truth]
"""Inputs with what the reference answers to them."""
_LARGEST, _SMALLEST = 3, 3
"""Weights that are changed alone: a convolution's two and a norm's four are all of them."""
_OFTEN = 12
"""Steps after which nothing is seen of a version that is counted by twos, threes, fours or sixes."""
_PARTS = 0.25, 0.5, 1.0
"""Shares of a weight's numbers that are changed: of four rows of a tiny matrix one may be hidden by a ReLU."""
_SHARE = 0.1
"""Share of what a candidate has left after which no further weight is tried."""


class Right(Protocol):
    """How calls are judged."""

    def __call__(self, call: Callable[[], Answer], truth: numerics.Truth, built: Variant | None = None) -> bool:
        """Whether a call's answer is right; `built`: of a model that is built for it."""
        ...


class OneByOne:
    """Changes on what a candidate's runner has built and called."""

    def __init__(self, forwards: Forwards, right: Right) -> None:
        self._forwards, self._right = forwards, right

    def findings(self, variant: Variant, weights: Weights, known: Pair) -> list[Finding]:
        """What is held against a model that was right on what is `known`, whose weights hold what they begin with.
        Nothing where a model that is built anew is wrong too: its constructor prepared something."""
        groups, ends = _picked(weights), (1.0 - _SHARE) * self._forwards.left
        together = {name for group in groups for name in group}
        begun = Weights({name: (begins, begins) for name, (begins, _) in weights.items()})
        now, (inputs, before) = begun, known
        for names, times in [*((group, 1) for group in groups), (together, _OFTEN)]:
            if self._forwards.left < ends:
                break
            if (other := self._seen(variant, now, weights, names, (inputs, before))) is None:
                continue
            then, answer = other
            steps = Weights({name: (now[name][1], then[name][1]) for name in now})
            self._forwards.retrain(steps, only=names, times=times)
            call = partial(self._forwards.anew, inputs, answer)
            if self._right(call, answer):
                now, before = then, answer
                continue
            if self._right(partial(self._changed, then, call), answer, variant):
                return [conduct.STALE]
            now, before = begun, known[1]
            if not self._right(partial(self._forwards.anew, *known), before, variant):
                break
        return []

    def _seen(
        self,
        variant: Variant,
        now: Weights,
        weights: Weights,
        names: Collection[str],
        known: Pair,
    ) -> tuple[Weights, numerics.Truth] | None:
        """Other contents for some numbers of the named weights, as few as the answer hangs on, and the answer; None
        where it hangs on none of them, or the reference does not bear them."""
        for share in _PARTS:
            then = _partly(now, weights, names, share)
            answer = self._forwards.draws.trained(variant, then, known[0])
            if answer is not None and not _alike(answer, known[1]):
                return then, answer
        return None

    def _changed(self, weights: Weights, call: Callable[[], Answer]) -> Answer:
        self._forwards.retrain(weights)
        return call()


def _alike(one: numerics.Truth, other: numerics.Truth) -> bool:
    """Whether two answers are one by the plain tolerance; how far one hangs on rounding takes long to find out."""
    plain = numerics.Truth(one.native, one.native)
    return numerics.compare(plain, other.native, "other weights") is None  # type: ignore[arg-type]


def _picked(weights: Weights) -> list[set[str]]:
    """The names of some weights, the largest first, then small ones; what is one tensor has its names together."""
    groups: dict[int, set[str]] = {}
    for name, row in weights.items():
        groups.setdefault(id(row), set()).add(name)
    ordered = sorted(groups.values(), key=lambda names: -weights[min(names)][0].numel())
    return ordered if len(ordered) <= _LARGEST + _SMALLEST else [*ordered[:_LARGEST], *ordered[-_SMALLEST:]]


def _partly(now: Weights, weights: Weights, names: Collection[str], share: float) -> Weights:
    """What weights begin with and hold, some of the named ones' numbers others than now; of what is one tensor, too."""
    made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    for name in names:
        begins, contents = row = weights[name]
        if id(row) not in made:
            made[id(row)] = begins, _in_part(now[name][1], begins, contents, share)
    return Weights({name: made[id(weights[name])] if name in names else row for name, row in now.items()})


def _in_part(held: torch.Tensor, begins: torch.Tensor, contents: torch.Tensor, share: float) -> torch.Tensor:
    """A share of the numbers, side by side, changed from what they begin with to what stands in for them, or back;
    neither the first nor the last where there are others: what looks at a few looks at these."""
    others = torch.where(held == contents, begins, contents).flatten()
    count, changed = held.numel(), held.flatten().clone()
    if count < 3:
        return others.reshape(held.shape)
    length = max(1, int(share * (count - 2)))
    first = 1 + secrets.randbelow(count - 1 - length)
    changed[first : first + length] = others[first : first + length]
    return changed.reshape(held.shape)
