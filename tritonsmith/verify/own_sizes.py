"""What a candidate does at the task's own sizes, where the interpreter computes no value of a whole forward.

Its answer must look like the reference's, leave alone what that one leaves alone and be stored to in every part, and
loops that go round there, and conditions that hold there, must have been compared at a size where they do: see
`unseen` for those that no size shows. On a GPU values tell all that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from tritonsmith.tasks import lengths
from tritonsmith.tasks.dry import Dry, dry, elements, output_without_data, runs_without_data
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding, Mismatch, Task
from tritonsmith.verify import numerics
from tritonsmith.verify.compiling import Compiling
from tritonsmith.verify.conversation import rows
from tritonsmith.verify.dynamic import conduct, outlines, unseen
from tritonsmith.verify.dynamic.observe import tensors
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.funnel import Outcome, refused, wrong
from tritonsmith.verify.reference.given import Fails
from tritonsmith.verify.sizing import Sizes
from tritonsmith.verify.watching import Watching

_TURNS = "a size at which loops go round"
_REST = "a size at which loops go round and leave a rest, rising values"
_HOLDS = "a size at which a condition holds"
_SOME = "some programs at the task's own sizes"
_FLOPS, _ELEMENTS = 140_000_000_000, (1 << 26) + (1 << 20)
"""What a reference may cost that is run at the task's own sizes on a processor, in both precisions."""
_FEWER = 50
"""How many times fewer operations where an answer has fewer than 32 bits: torch makes 0.7 to 1.3 billion a second of
float16 on a processor, and 22 to 51 of float32 (one core, `a @ b` of 256 to 1,024 rows); a product of 34 billion took
the judge minutes, whatever limit the candidate has."""
_EVERY, _EVERY_S = 4.0, 10.0
"""Seconds that all programs may take, as `cover` counts them, for them all to be run there, and what they then have;
some of them are asked where that is not enough."""
_PARTS_S, _DOUBTS_S = 4.0, 30.0
"""The same where some programs tell nothing, for atomics make the answer, and where what they tell is wrong and may be
a part of what is to come: who is not seen to its end is accepted, on a slow processor too."""
_PARTS_HELD, _SPARE_S = 7, 25.0
"""Sizes that are looked at for one whose conditions held nowhere yet, and seconds that it must have left to be run."""
_PARTS, _AFFORDED = 12, 4.0
"""Sizes that are looked at for a candidate whose loops went round once, and seconds that its programs may take there:
as `cover` counts them, without the checks of memory."""


class OwnSizes:
    """Judges one candidate at the task's own sizes."""

    def __init__(
        self,
        task: Task,
        prepared: Callable[[], Sizes],
        forwards: Forwards,
        eyes: Watching,
        compiling: Compiling,
        cuda: bool,
        compare: Callable[[Variant], Outcome | None],
        calls: int,
        values: bool,
        bound: Callable[[], int],
        renewed: Callable[[], list[Finding]],
    ) -> None:
        """`compare` gives the outcome on a variant, None where the candidate turned it down; `calls` is how often one
        is called that might count them, 0 where it cannot; `values`: some programs' are compared; `bound` is that of
        sizes beside a long one, see `lengths`; `renewed` gives it a new runner, or what it changed in its own."""
        self._calls, self._values, self._renewed = calls, values, renewed
        self._bound = bound
        self._task, self._prepared, self._forwards, self._eyes = task, prepared, forwards, eyes
        self._compiling, self._cuda, self._compare = compiling, cuda, compare

    def outcome(self, seen: dict[str, object]) -> Outcome:
        """What is held against it there; `seen` is what the last forward showed. Raises RunnerFailed."""
        if (mismatch := self._looks_otherwise()) is not None:
            return wrong(mismatch)
        findings = conduct.less_precise(self._compiling.launched or [], rows(seen, "launches")) or self._touches()
        findings = findings or self._counts()
        if findings or self._cuda or self._prepared().full.cap is None or not elements(self._task.source):
            return refused(findings) if findings else Outcome(True)
        own = self._forwards.cover(self._task)
        if not runs_without_data(self._task):  # and the candidate does perhaps
            return self._held(own)
        if findings := self._uncovered(own):
            return refused(findings)
        outcome = self._turned(own)
        outcome = self._held(own) if outcome.ok else outcome
        return self._right_there(own) if outcome.ok and self._values else outcome

    def _right_there(self, own: Mapping[str, object]) -> Outcome:
        """Whether some programs of each launch store at the task's own sizes is what the reference gives; of all of
        them where those take few seconds, as `cover` counts them (`own`)."""
        if not _light(self._task.source):
            return Outcome(True)
        variant = Variant(_SOME, self._task, fresh_seed=True)
        material = self._forwards.material(variant)
        if isinstance(material, Fails) or not material.finite:
            return Outcome(True)
        seconds = own.get("seconds")
        every = _EVERY_S if isinstance(seconds, float) and 0.0 < seconds <= _EVERY else 0.0
        some = self._forwards.some_programs(variant, material, every)
        if some.stale:
            if findings := self._renewed():
                return refused(findings)
            some = self._forwards.some_programs(variant, material, every)
        if every and some.found is None:
            every = 0.0
            some = self._forwards.some_programs(variant, material)
        if not every:
            stays, parts = some.found if isinstance(some.found, list) and len(some.found) == 2 else (None, None)
            if (mismatch := self._differs(stays, material.truth)) is not None:
                return wrong(mismatch)
            doubted = self._differs(parts, material.truth) is not None
            every = min(_DOUBTS_S if doubted else _PARTS_S if some.added else 0.0, self._forwards.left / 2)
            if not every or some.seconds > every:
                return Outcome(True)
            if findings := self._renewed():  # atomics have changed what it may keep
                return refused(findings)
            some = self._forwards.some_programs(variant, material, 1.5 * every)
        mismatch = numerics.compare(material.truth, some.found, _SOME) if some.found is not None else None
        return Outcome(True) if mismatch is None else wrong(mismatch)

    @staticmethod
    def _differs(found: object, truth: numerics.Truth) -> Mismatch | None:
        """What is not the reference's of what some programs `found`."""
        if not isinstance(found, list) or len(found) != len(list(tensors(truth.native))):
            return None
        if truth.nearby is not None:
            return numerics.compare(truth, _completed(truth.native, iter(found)), _SOME)
        exact, native = (_chosen(tree, found) for tree in (truth.exact, truth.native))
        given = [part[0] for part in found if isinstance(part, list)]
        return numerics.compare(replace(truth, exact=exact, native=native, scales={}, ranges={}), given, _SOME)

    def _looks_otherwise(self) -> Mismatch | None:
        """What of the answer at the task's own sizes, where no value was computed, is no answer's kind, shape or dtype.

        A reference that looks otherwise without data than with it, at the tiny sizes, tells nothing.
        """
        seen, tiny = self._compiling.own, self._prepared().tiny.task
        if seen is None or "own" not in seen or self._prepared().full.cap is None:
            return None
        material = self._forwards.material(Variant("as given", tiny))
        if isinstance(material, Fails) or not runs_without_data(tiny):
            return None
        if outlines.outline(output_without_data(tiny)) != outlines.outline(material.truth.native):
            return None
        own = seen["own"]
        told = own.get("output") if isinstance(own, Mapping) else None
        return outlines.difference(outlines.outline(output_without_data(self._task)), told, not seen.get("zeros"))

    def _touches(self) -> list[Finding]:
        """What a forward at the task's own sizes changes or shares that the reference leaves alone."""
        own = self._compiling.own.get("own") if self._compiling.own is not None else None
        effects = own.get("effects") if isinstance(own, Mapping) else None
        touched = isinstance(effects, Mapping) and any(effects.values()) and self._prepared().full.cap is not None
        return self._eyes.effects({"effects": effects}) if touched else []

    def _counts(self) -> list[Finding]:
        """What shows after many calls, and only where a grid has several programs."""
        if not self._calls or not runs_without_data(self._task) or self._eyes.habits().remembers:
            return []
        return conduct.did_otherwise(self._forwards.often_at_own_sizes(self._calls))

    def _uncovered(self, own: dict[str, object]) -> list[Finding]:
        """What the kernels leave out at the task's own sizes, where no value was computed."""
        if conduct.covers(own):
            return []
        return conduct.uncovered(own, self._forwards.cover(self._prepared().full.task))

    def _turned(self, own: dict[str, object]) -> Outcome:
        """Values at sizes at which loops go round that did not yet, and do at the task's own; as far as that is cheap.

        What a loop carries from one round to the next is in no value of the first round.
        """
        wanted = conduct.unturned(own)
        found = lengths.parts(self._task, self._prepared().full, self._bound()) if wanted else []
        for task in found[:_PARTS]:
            seen = self._forwards.cover(task)
            seconds = seen.get("seconds")
            if not conduct.turned(seen, wanted) or not isinstance(seconds, float) or seconds > _AFFORDED:
                continue
            outcome = self._compare(Variant(_TURNS, task, fresh_seed=True, brief=True, patient=True))
            if outcome is None:
                continue
            rest = self._with_a_rest(task, wanted) if outcome.ok else outcome
            if not rest.ok:
                return rest
            wanted = {line: count for line, count in wanted.items() if line not in conduct.turned(seen, wanted)}
            if not wanted:
                break
        return Outcome(True)

    def _held(self, own: Mapping[str, object]) -> Outcome:
        """Values at sizes at which comparisons come out as they did at the task's own sizes alone; what no size shows
        may be held against it. One that is too slow there, or turns them down, is let be."""
        full, bound = self._prepared().full, self._bound()
        if unseen.unseen(own) and not own.get("compared_before"):
            # A new runner knows nothing of what was compared in the last one.
            outcome = self._compare(Variant(_HOLDS, full.task, fresh_seed=True, brief=True, patient=True))
            if outcome is None or not outcome.ok:
                return outcome or Outcome(True)
            own = self._forwards.cover(self._task)
        if not (wanted := unseen.unseen(own)):
            return Outcome(True)
        whole = [one.task for one in lengths.lengths(self._task, full, bound)]
        for task in [full.task, *whole, *reversed(lengths.parts(self._task, full, bound))][:_PARTS_HELD]:
            seen = self._forwards.cover(task)
            if (rest := unseen.without(wanted, seen)) == wanted:
                continue
            if task is not full.task and self._forwards.left > _SPARE_S:
                outcome = self._compare(Variant(_HOLDS, task, fresh_seed=True, brief=True, patient=True))
                if outcome is not None and not outcome.ok:
                    return outcome
            wanted = rest
            if not wanted:
                break
        findings = unseen.hard_coded(own, wanted, unseen.named(self._task.source))
        return refused(findings) if findings else Outcome(True)

    def _with_a_rest(self, part: Task, wanted: Mapping[str, int]) -> Outcome:
        """Values where a loop's last round is no whole one, and what it meets there is larger than what came before."""
        step = lengths.DESCRIBED if self._bound() > lengths.LEAST else 1
        task = lengths.with_a_rest(self._task, self._prepared().full, part, step)
        if task is None or not conduct.turned(self._forwards.cover(task), wanted):
            return Outcome(True)
        variant = Variant(_REST, task, fresh_seed=True, values="rising", brief=True, patient=True)
        return self._compare(variant) or Outcome(True)


def _light(source: str) -> bool:
    """Whether a task's reference is run at its own sizes on a processor."""
    seen = dry(source)
    if not isinstance(seen, Dry) or elements(source) > _ELEMENTS:
        return False
    halves = any(one.is_floating_point() and one.itemsize < 4 for one in tensors(seen.output))
    return seen.flops <= (_FLOPS // _FEWER if halves else _FLOPS)


def _chosen(tree: object, found: Sequence[object]) -> list[torch.Tensor]:
    """The elements of a tree, in a row, that some program stored, tensor by tensor; a small share of what there is."""
    pairs = zip(tensors(tree), found, strict=True)
    return [tensor.flatten()[part[1].flatten()] for tensor, part in pairs if isinstance(part, list)]


def _completed(native: object, found: Iterator[object]) -> object:
    """The reference's output with the elements in it that some program stored, which are `found` tensor by tensor."""
    if isinstance(native, torch.Tensor):
        if not isinstance(part := next(found), list):
            return native
        whole = native.flatten().clone()
        whole[part[1].flatten()] = part[0]
        return whole.view(native.shape)
    if isinstance(native, dict):
        return {key: _completed(value, found) for key, value in native.items()}
    if isinstance(native, (list, tuple)):
        return [_completed(one, found) for one in native]
    return native
