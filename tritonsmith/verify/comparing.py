"""One candidate's values against the reference's, variant by variant.

Knows which refusals of a candidate's are facts about it and no wrong answers: sizes that it says it is not made for,
other precisions, other numbers. Which variants there are is `tried`'s and `tasks.variants`', when a value is right
`numerics`'. What else a forward shows is `watching`'s.
"""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

import torch

from tritonsmith.tasks.dry import runs_without_data
from tritonsmith.tasks.format import TaskError
from tritonsmith.tasks.variants import Variant, usable, variants
from tritonsmith.types import Finding, KernelStats, Task
from tritonsmith.verify import compile as compiler
from tritonsmith.verify import numerics
from tritonsmith.verify.compiling import Compiling, plural
from tritonsmith.verify.conversation import RunnerFailed, rows
from tritonsmith.verify.dynamic import conduct, replay
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.funnel import Outcome, invalid, refused, wrong
from tritonsmith.verify.reference.given import Fails
from tritonsmith.verify.room import Room
from tritonsmith.verify.sizing import Sizes
from tritonsmith.verify.upkeep import Upkeep
from tritonsmith.verify.watching import Watching

_OTHER_SIZES = {"odd sizes", "larger dimensions", "equal sizes told apart", "a batch of one"}
"""Labels of variants whose sizes are no version of the task's own."""


@dataclass
class _TurnedDown:
    """What a candidate did not take, and what it said."""

    # Findings and not exceptions, which would keep what the variant was tried on.
    beyond: Finding | None = None
    """Of dimensions that are larger than the hardware allows."""
    sizes: dict[str, Finding] = field(default_factory=dict)
    """Of sizes that are no version of the task's own, by the variant's label."""
    precision: Finding | None = None
    """Of another precision than the task's."""

    def in_words(self) -> str:
        """What to say of it beside what was right."""
        said = f"; larger dimensions are beyond the hardware ({self.beyond.message})" if self.beyond is not None else ""
        said += "".join(f"; it turns {label} down ({finding.message})" for label, finding in self.sizes.items())
        precision = self.precision
        return said + (f"; it turns another precision down ({precision.message})" if precision is not None else "")


class Comparing:
    """Tries one candidate on variants, in the runner of its forwards."""

    def __init__(
        self,
        task: Task,
        prepared: Callable[[], Sizes],
        forwards: Forwards,
        eyes: Watching,
        compiling: Compiling,
        room: Room,
        upkeep: Upkeep,
        target: str,
        cuda: bool,
    ) -> None:
        self._task, self._prepared, self._forwards, self._eyes = task, prepared, forwards, eyes
        self._compiling, self._room, self._upkeep = compiling, room, upkeep
        self._target, self._cuda = target, cuda
        self.seen: dict[str, object] = {}
        """What the last forward on the task as given showed."""
        self.held: list[tuple[torch.Size, torch.dtype]] = []
        """What its inputs are like, which its runner holds; a task may draw sizes."""
        self.took = 0.0
        """Seconds that the last forward on the task as given took; infinite where it was stopped."""
        self._finite = True
        """Whether the reference's answer to the first variant is finite."""

    def on(
        self, wanted: Callable[[Sizes], Iterable[Variant]], sizes: Callable[[Sizes], str], again: bool = False
    ) -> Outcome:
        """The outcome on all variants that are `wanted`, each asked for when those before it are known; `sizes` says
        which they have. `again`: as in `_one`."""
        right: list[str] = []
        kernels: list[KernelStats] = []
        turned = _TurnedDown()
        try:
            for variant in wanted(self._prepared()):
                outcome = self._unless_turned_down(variant, not right, again, turned)
                if outcome is None:
                    continue
                if not outcome.ok:
                    self._upkeep.wrong(outcome.findings)
                    return outcome
                right.append(variant.label)
                kernels = kernels or outcome.kernels
            prepared = self._prepared()  # which a slow candidate has made smaller
            if (refusal := self._held_against_it(prepared, right, turned)) is not None:
                raise RunnerFailed(refusal)
        except RunnerFailed as failure:
            return self._upkeep.failed(failure)
        except TaskError as error:
            return invalid(str(error))
        detail = f"{sizes(prepared)}; {plural(len(right), 'variant')}{turned.in_words()}"
        return Outcome(True, detail, kernels=kernels)

    def compared(self, variant: Variant) -> Outcome | None:
        """The outcome on a variant that a candidate may turn down; None where it did, or where there is no such one."""
        try:
            outcome = self._one(variant, False, False)
        except RunnerFailed as failure:
            if not conduct.may_turn_down(variant, failure.finding):
                raise
            self._upkeep.turned_down(failure)
            return None
        return None if self._describes_none(variant, outcome) else outcome

    def _unless_turned_down(self, variant: Variant, first: bool, again: bool, turned: _TurnedDown) -> Outcome | None:
        """The outcome on a variant; None where there is none, or the candidate did not take it, which `turned` tells
        then."""
        try:
            outcome = self._one(variant, first, again)
        except RunnerFailed as failure:
            if conduct.may_turn_down(variant, failure.finding):
                turned.precision = failure.finding if variant.dtype is not None else turned.precision
                self._upkeep.turned_down(failure)
            elif _of_other_sizes(variant) and conduct.turns_down(failure.finding):
                turned.sizes[variant.label] = failure.finding
                self._upkeep.turned_down(failure)
            elif conduct.beyond_hardware(variant.label, failure.finding, self._cuda):
                turned.beyond = failure.finding
                self._upkeep.release()
            else:
                raise
            return None
        if outcome is None or not self._describes_none(variant, outcome):
            return outcome
        if not variant.brief:
            turned.sizes[variant.label] = outcome.findings[0]
        return None

    def _describes_none(self, variant: Variant, outcome: Outcome | None) -> bool:
        """Whether a candidate did not take a variant, for the hardware describes no tensors of its sizes, and may."""
        described = outcome is None or outcome.ok or not _of_descriptors(outcome)
        if described or not (variant.brief or _of_other_sizes(variant)):
            return False
        self._upkeep.release()
        return True

    def _one(self, variant: Variant, first: bool, again: bool) -> Outcome | None:
        """Try one variant; None if the reference does not run on it. `again`: other contents will follow."""
        if variant.reuse and self._eyes.habits().remembers:
            return None  # the second of two calls has an answer of its own: see `replayed`
        needs, own = self._room.needs(variant), self._cuda and first and not again
        if variant.brief and (findings := self._upkeep.before_it_may_be_stopped()):
            return refused(findings)
        if variant.bounded and (findings := self._upkeep.integrity()):  # others will follow, and then a brief one
            return refused(findings)
        self._forwards.ready()
        with self._room.taken(needs):
            material = self._forwards.existing(variant) if first else self._forwards.material(variant)
            if isinstance(material, Fails):
                return None
            if first:
                self._finite = material.finite
            elif not (material.usable if self._finite else usable(variant, material.truth.native, False)):
                return None
            self._room.settle(needs)
            seen, output = self._forwards.run(variant, material, again, own)
            if variant.label == "as given":
                self.took = math.inf if seen.get("stopped") else self._forwards.seconds
            if seen.get("stopped"):
                self._upkeep.stopped()
                return None
            if variant.label == "as given":
                self.seen, self.held = seen, replay.form(material.inputs)
            if findings := self._eyes.watched(seen, variant.fresh_seed, material.truth) or self._eyes.effects(seen):
                return refused(findings)
            with self._forwards.comparing(material.truth):
                truth = material.truth
                if variant.dtype is not None:
                    output = numerics.narrowed(output, truth.native)
                    truth = numerics.met(truth, output, variant.dtype)
                mismatch = numerics.compare(truth, output, variant.label)
                del truth
            if variant.reuse and mismatch is None and (findings := self._eyes.repeated(seen, material.truth)):
                return refused(findings)
            if own and mismatch is None and (findings := self._eyes.at_own_sizes()):
                return refused(findings)
            del material, output
            if self._room.large(needs):
                self._upkeep.release()
        if mismatch is not None:
            return wrong(mismatch)
        return Outcome(True, kernels=compiler.loaded(rows(seen, "kernels"), self._target) if self._cuda else [])

    def _held_against_it(self, prepared: Sizes, right: Collection[str], turned: _TurnedDown) -> Finding | None:
        """What a candidate turned down that it may not, for it was right (labels) at too few sizes."""
        if turned.beyond is not None and not conduct.told_at_other_sizes(right):
            return turned.beyond
        if turned.sizes and not self._right_at_two(prepared, right) and not self._right_twice_as_large(prepared):
            return next(iter(turned.sizes.values()))
        return None

    def _right_at_two(self, prepared: Sizes, right: Collection[str]) -> bool:
        """Whether a candidate launched its kernels at the task's own size and was right (labels) at two other sizes.

        A kernel that says which sizes it is for, the task's among them, answers the task; one size would not show that
        it computes what it says.
        """
        sizes = len({prepared.tiny.task.source, prepared.full.task.source}) + len(_OTHER_SIZES & {*right})
        return self._launches_at_own_sizes(prepared) and "as given" in right and sizes > 1

    def _launches_at_own_sizes(self, prepared: Sizes) -> bool:
        """As far as that can be seen: a reference that looks at its values runs at no size that no memory holds."""
        seen = self._cuda or self._compiling.launched is not None or prepared.full.cap is None
        return seen or not runs_without_data(self._task)

    def _right_twice_as_large(self, prepared: Sizes) -> bool:
        """The same of a candidate that was tried at one size: powers of two stay such when they are doubled."""
        if not self._launches_at_own_sizes(prepared) or self._cuda:
            return False
        larger = next(one for one in variants(prepared.full.task, True, 2.0) if one.label == "larger dimensions")
        outcome = self._one(larger, False, False)
        return outcome is not None and outcome.ok


def _of_other_sizes(variant: Variant) -> bool:
    """Whether its sizes are no version of the task's own, so that a candidate may say that it is not made for them."""
    return variant.label in _OTHER_SIZES or variant.values == "beyond"


def _of_descriptors(outcome: Outcome) -> bool:
    """Whether all that is held against a candidate is that the hardware describes no such tensor."""
    return bool(outcome.findings) and all(finding.rule == "descriptor" for finding in outcome.findings)
