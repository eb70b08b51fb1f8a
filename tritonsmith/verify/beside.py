"""A second model of a candidate beside its first: with other weights, and constructed with other numbers.

A network has many layers of one class. What one of them keeps in its class or its module, all share: the last one's
weights, the first one's numbers. Held against a candidate is only an answer that was right until there was another
model, or that is right where there was none before.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch

from tritonsmith.tasks.format import TaskError
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding
from tritonsmith.verify.conversation import RunnerFailed
from tritonsmith.verify.dynamic import conduct, outlines
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.one_by_one import Pair, Right
from tritonsmith.verify.reference.given import Fails
from tritonsmith.verify.reference.other_numbers import other_counts, other_fractions

_LABEL = "constructed with other numbers"


@dataclass(frozen=True)
class _Second:
    """Another model."""

    header: dict[str, object]
    tree: dict[str, object]
    """What a runner needs for building it."""
    pair: Pair | None
    """What it is called on; None: it is there, and no more is asked of it."""


class Beside:
    """Second models in a candidate's runner."""

    def __init__(self, forwards: Forwards, right: Right) -> None:
        self._forwards, self._right = forwards, right

    def findings(self, variant: Variant, contents: list[Pair]) -> list[Finding]:
        """What is held against a candidate that was right on the contents, which are of the same form."""
        first, last = contents[0], contents[-1]
        ready = False
        for second in self._seconds(variant, first):
            if not ready and not self._right(partial(self._forwards.anew, *first), first[1], variant):
                return []
            wrong = self._is_wrong(second)
            if not self._right(partial(self._forwards.anew, *last), last[1]):
                return [conduct.SHARED]
            if wrong and second.pair is not None and self._is_right_alone(second, second.pair):
                return [conduct.SHARED]
            ready = not wrong  # else another module was imported
        return []

    def _is_wrong(self, second: _Second) -> bool:
        """Whether a second model gives a wrong answer; one that the candidate does not build gives none."""
        try:
            self._forwards.second(second.header, second.tree)
        except RunnerFailed as failure:
            if failure.finding.rule != "exception":
                raise
            return False
        wrong = second.pair is not None and not self._right(partial(self._forwards.anew, *second.pair), second.pair[1])
        self._forwards.first_again()
        return wrong

    def _is_right_alone(self, second: _Second, pair: Pair) -> bool:
        """Whether the same is right where the candidate's module has seen no other model."""
        try:
            self._forwards.second(second.header, second.tree, alone=True)
        except RunnerFailed as failure:
            if failure.finding.rule != "exception":
                raise
            return False
        return self._right(partial(self._forwards.anew, *pair), pair[1])

    def _seconds(self, variant: Variant, known: Pair) -> Iterator[_Second]:
        if (found := self._named(variant) if self._forwards.named else self._drawn(variant, known[0])) is not None:
            yield found
        if (task := other_fractions(variant.task)) is not None:
            yield from self._constructed(Variant(_LABEL, task, fresh_seed=True), known)
        if (task := other_counts(variant.task)) is not None:
            other = Variant(_LABEL, task)
            # It is built and not called: its kernels may be for the task's own counts, and go beyond memory for others.
            yield _Second(*self._forwards.plan(other, self._forwards.draws.model(other)), None)

    def _named(self, variant: Variant) -> _Second | None:
        """One whose weights are all others."""
        other = replace(variant, weights=True, named=True)
        try:
            self._forwards.draws.by_name(other)
        except TaskError:  # it has none, or none that may be others
            return None
        material = self._forwards.material(other)
        if isinstance(material, Fails) or not material.usable:
            return None
        return _Second(*self._forwards.plan(other, material.model), (material.inputs, material.truth))

    def _drawn(self, variant: Variant, inputs: list[object]) -> _Second | None:
        """One whose weights were drawn under another seed, where a candidate calls them otherwise."""
        seed = secrets.randbits(31)
        if not self._forwards.draws.model(variant).state_dict():
            return None
        try:
            with self._forwards.drawing(variant):
                model = self._forwards.draws.under_seed(variant, seed)
                truth = self._forwards.truth(model, inputs)
        except torch.OutOfMemoryError:
            raise
        except Exception:  # the task's own code, which may fail under some seeds
            return None
        header, tree = self._forwards.plan(variant, model)
        return _Second({**header, "seed": seed}, tree, (inputs, truth))

    def _constructed(self, other: Variant, known: Pair) -> Iterator[_Second]:
        """One that is constructed with other fractions; called where its answer is of the same form, for a kernel that
        has a scale of sizes written in goes beyond memory."""
        material = self._forwards.material(other)
        if isinstance(material, Fails):
            return
        alike = outlines.outline(material.truth.native) == outlines.outline(known[1].native)
        pair = (material.inputs, material.truth) if alike and material.usable else None
        yield _Second(*self._forwards.plan(other, material.model), pair)
