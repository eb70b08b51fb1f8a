"""One model of a candidate used on: on more rows than those of its first call, on values of other kinds, and with other
weights: all at once, and one by one (`one_by_one`). And beside another model of it (`beside`).

A model is built once; then its batches differ, and it is trained. What a forward keeps of its first call is old then: a
size, memory of that size, a mask, a number, a row's maximum, what it made of a weight. Held against it is only what
another model of the same candidate gets right that had not been called before: what a constructor prepares is no matter
of this.
"""

from collections.abc import Callable
from functools import partial

import torch

from tritonsmith.tasks.format import TaskModule
from tritonsmith.tasks.values import Values
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding, Task
from tritonsmith.verify import numerics
from tritonsmith.verify.beside import Beside
from tritonsmith.verify.conversation import RunnerFailed
from tritonsmith.verify.dynamic import conduct, observe, replay
from tritonsmith.verify.forwards import Answer, Forwards
from tritonsmith.verify.one_by_one import OneByOne, Pair
from tritonsmith.verify.reference.by_name import Weights
from tritonsmith.verify.reference.given import Fails, Reuse
from tritonsmith.verify.watching import Watching

_KINDS: tuple[tuple[str, Values], ...] = (
    ("other constants", "constants"),
    ("other numbers", "numbers"),
    ("other masks", "masks"),
    ("large values", "large"),
    ("negative values", "negative"),
    ("signed values", "mixed"),
)
_FIRST = "positive values"
"""What a model may be called on first, which has nothing in it that others must be looked through for."""


def unlike(task: Task, larger: Task) -> list[Variant]:
    """What the same model may be called on besides: values of other kinds; where it has no weights, and is constructed
    alike, sizes and precisions too."""
    found = _of_other_kinds(task)
    if not _alike(task, larger):
        return found
    sizes = [Variant("larger sizes", larger, fresh_seed=True)] if larger.source != task.source else []
    return [*found, *sizes, Variant("float16", task, dtype=torch.float16)]


def _of_other_kinds(task: Task) -> list[Variant]:
    return [Variant(label, task, fresh_seed=True, values=values) for label, values in _KINDS]


def _alike(task: Task, other: Task) -> bool:
    """Whether two tasks' models take the same arguments and have no weights."""
    one, two = TaskModule.of(task), TaskModule.of(other)
    return repr(one.init_inputs()) == repr(two.init_inputs()) and not one.model(0).state_dict()


class Reused:
    """Uses on what one candidate's runner has built for a variant, and called."""

    def __init__(self, forwards: Forwards, eyes: Watching) -> None:
        self._forwards, self._eyes = forwards, eyes
        self._one_by_one, self._beside = OneByOne(forwards, self._right), Beside(forwards, self._right)

    def findings(self, variant: Variant, contents: list[Pair], larger: Task) -> list[Finding]:
        """What is held against it; `contents` are what it was right on, one after the other on the same storage, and
        `larger` is the task at other sizes."""
        reuse = self._forwards.draws.reuse(variant, contents[0][0], contents[-1][0])
        findings = self._written_over(variant, contents[0]) or self._more_rows(variant, reuse, contents[0])
        findings = findings or self._weights(variant, reuse, *contents[0])
        findings = findings or self._beside.findings(variant, contents)
        return findings or self._unlike(variant, contents[0], larger)

    def _written_over(self, variant: Variant, known: Pair) -> list[Finding]:
        """Write what differs in more than being drawn anew over the inputs that it was called on last."""
        for other in _of_other_kinds(variant.task):
            pair = self._drawn(other)
            if pair is None or replay.form(pair[0]) != replay.form(known[0]):
                continue
            if [*observe.numbers(pair[0])] != [*observe.numbers(known[0])]:
                continue  # numbers have no storage
            if not self._right(partial(self._forwards.refilled, *pair), pair[1]):
                return [conduct.KEPT] if self._right(partial(self._forwards.anew, *pair), pair[1], other) else []
        return []

    def _more_rows(self, variant: Variant, reuse: Reuse, known: Pair) -> list[Finding]:
        """Call it on more rows, where there are such, then on as many as before (`known`)."""
        if reuse.rows is None:
            return []
        more, as_before = partial(self._forwards.anew, *reuse.rows), partial(self._forwards.anew, *known)
        if not self._right(more, reuse.rows[1]):
            if self._right(more, reuse.rows[1], variant):
                return [conduct.FROZEN]
            self._right(as_before, known[1], variant)  # it is for so many rows alone: what follows asks for no others
            return []
        return [] if self._right(as_before, known[1]) else [conduct.FROZEN]

    def _unlike(self, variant: Variant, known: Pair, larger: Task) -> list[Finding]:
        """Call it on what differs from `known` in more than being drawn anew; then another one on something plain
        first, and on `known` as ever."""
        as_before = partial(self._forwards.anew, *known)
        self._right(as_before, known[1], variant)
        for other in unlike(variant.task, larger):
            if (pair := self._drawn(other)) is None:
                continue
            call = partial(self._forwards.anew, *pair)
            if self._right(call, pair[1]):
                continue
            if self._right(call, pair[1], other):
                return [conduct.KEPT]
            self._right(as_before, known[1], variant)  # it does not take them: `trial` tells whether that is wrong
        first = self._drawn(Variant(_FIRST, variant.task, fresh_seed=True, values="positive"))
        if first is None or not self._right(partial(self._forwards.anew, *first), first[1], variant):
            return []
        return [] if self._right(as_before, known[1]) else [conduct.KEPT]

    def _drawn(self, variant: Variant) -> Pair | None:
        material = self._forwards.material(variant)
        return None if isinstance(material, Fails) or not material.usable else (material.inputs, material.truth)

    def _weights(self, variant: Variant, reuse: Reuse, inputs: list[object], truth: numerics.Truth) -> list[Finding]:
        """Give its weights other contents where they lie, then the first ones in other memory; then one by one."""
        weights, answer = reuse.weights, reuse.trained
        found = self._forwards.retrain(weights) if answer is not None else []
        if found != list(weights):
            weights = Weights({name: weights[name] for name in found})
            answer = self._forwards.draws.trained(variant, weights, inputs) if found else None
        if answer is None:
            return []
        expected = answer

        def changed() -> Answer:
            self._forwards.retrain(weights)
            return self._forwards.anew(inputs, expected)

        as_before = partial(self._forwards.anew, inputs, truth)
        if self._right(partial(self._forwards.anew, inputs, expected), expected):
            back = Weights({name: (now, before) for name, (before, now) in weights.items()})
            self._forwards.retrain(back, moved=True)
            if not self._right(as_before, truth):
                return [conduct.STALE]
        elif self._right(changed, expected, variant):
            return [conduct.STALE]
        # A view that was kept is one of the old memory; or its constructor prepared something, of some weights maybe.
        if not self._right(as_before, truth, variant):
            return []
        return self._one_by_one.findings(variant, weights, (inputs, truth))

    def _right(self, call: Callable[[], Answer], truth: numerics.Truth, built: Variant | None = None) -> bool:
        """Whether a call's answer is right, and nothing it does a finding; `built`: of a model that is built for it."""
        try:
            if built is not None:
                self._forwards.build(self._forwards.mode, built, self._forwards.draws.model(built))
            seen, output = call()
        except RunnerFailed as failure:
            if failure.finding.rule != "exception":
                raise
            return False
        return not self._eyes.watched(seen, anew=True) and numerics.compare(truth, output, "used on") is None
