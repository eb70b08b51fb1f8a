"""One model of a candidate used on: on more rows than those of its first call, and with other weights.

A model is built once; then its batches differ, and it is trained. What a forward keeps of its first call is old then: a
size, memory of that size, what it made of a weight. Held against it is only what another model of the same candidate
gets right that had not been called before: what a constructor prepares is no matter of this.
"""

from collections.abc import Callable
from functools import partial

from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding
from tritonsmith.verify import numerics
from tritonsmith.verify.conversation import RunnerFailed
from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.forwards import Answer, Forwards
from tritonsmith.verify.reference.by_name import Weights
from tritonsmith.verify.reference.material import Reuse
from tritonsmith.verify.watching import Watching

Pair = tuple[list[object], numerics.Truth]
"""Inputs with what the reference answers to them."""


class Reused:
    """Uses on what one candidate's runner has built for a variant, and called."""

    def __init__(self, forwards: Forwards, eyes: Watching) -> None:
        self._forwards, self._eyes = forwards, eyes

    def findings(self, variant: Variant, contents: list[Pair]) -> list[Finding]:
        """What is held against it; `contents` are what it was right on, one after the other on the same storage."""
        reuse = self._forwards.draws.reuse(variant, contents[0][0], contents[-1][0])
        return self._more_rows(variant, reuse, contents[0]) or self._weights(variant, reuse, *contents[0])

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

    def _weights(self, variant: Variant, reuse: Reuse, inputs: list[object], truth: numerics.Truth) -> list[Finding]:
        """Give its weights other contents where they lie, then the first ones in other memory."""
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

        if not self._right(lambda: self._forwards.anew(inputs, expected), expected):
            return [conduct.STALE] if self._right(changed, expected, variant) else []
        back = Weights({name: (now, before) for name, (before, now) in weights.items()})
        self._forwards.retrain(back, moved=True)
        return [] if self._right(lambda: self._forwards.anew(inputs, truth), truth) else [conduct.STALE]

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
