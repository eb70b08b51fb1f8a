"""One candidate on its way through the stages: asks for what it is tried on, asks its runners, compares.

Runs the task's code, never the candidate's. On a GPU the values are computed beside other candidates and timed
alone; see `gpu`. The order of the stages is `funnel`'s, what candidates are tried on `material`'s.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import torch

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.dry import runs_without_data
from tritonsmith.tasks.format import TaskError
from tritonsmith.tasks.variants import Variant, usable, variants
from tritonsmith.types import Finding, KernelStats, Task
from tritonsmith.verify import compile as compiler
from tritonsmith.verify import numerics, policy, roofline, tried
from tritonsmith.verify.compiling import Compiling, plural
from tritonsmith.verify.conversation import Conversation, RunnerFailed, rows
from tritonsmith.verify.dynamic import conduct, replay, share, unrun
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.funnel import Outcome, refused, wrong
from tritonsmith.verify.own_sizes import OwnSizes
from tritonsmith.verify.process.gpu import Gpu
from tritonsmith.verify.process.sanitizer import AT_ONCE, Sanitizer
from tritonsmith.verify.reference.material import Fails, Supply
from tritonsmith.verify.room import Room
from tritonsmith.verify.sizing import Sizes
from tritonsmith.verify.static import stateless
from tritonsmith.verify.static.unwrapped import unwrapped
from tritonsmith.verify.timed import Timed
from tritonsmith.verify.watching import Watching

UNCLEAN = {"timeout", "crash", "exit", "protocol", "memory", "cuda", "out-of-bounds", "integrity", "clock"}
"""Findings after which a runner serves nobody else."""
_OTHER_SIZES = {"odd sizes", "larger dimensions", "equal sizes told apart"}
"""Labels of variants whose sizes are no version of the task's own."""


def is_clean(findings: Sequence[Finding]) -> bool:
    """Whether a candidate's runner may serve another one, as far as findings tell."""
    return not any(finding.rule in UNCLEAN for finding in findings)


class Trial:
    """The stages of one candidate; they share runners and a deadline."""

    def __init__(
        self,
        settings: VerifyConfig,
        extensions: ExtensionsConfig,
        task: Task,
        source: str,
        prepared: Callable[[], Sizes],
        talk: Conversation,
        supply: Supply,
        gpu: Gpu | None,
        target: str,
        sanitizer: Sanitizer | None = None,
        wide: bool = True,
    ) -> None:
        source = unwrapped(source)  # for the rules and the runners alike
        self._settings, self._extensions, self._task, self._source = settings, extensions, task, source
        self._prepared, self._talk, self._gpu, self._target = prepared, talk, gpu, target
        self._sanitizer, self._room = sanitizer, Room(gpu)
        cuda = gpu is not None
        self._forwards = Forwards(task, source, settings.policy, talk, supply, self._room, target, cuda, wide)
        self._eyes = Watching(settings.policy, self._forwards, lambda: self._prepared().tiny.task)
        self._seen: dict[str, object] = {}
        self._compiling = Compiling(settings, self._forwards, talk, target, cuda)
        most = unrun.MOST if extensions.multi_input else unrun.FEWER
        self._calls = 0 if stateless.keeps_nothing(source) else most
        """How often the candidate is called to see whether it counts."""
        self._own = OwnSizes(
            task,
            prepared,
            self._forwards,
            self._eyes,
            self._compiling,
            cuda,
            self._compared,
            self._calls,
            extensions.multi_input and settings.own_values,
        )
        self._held: list[tuple[torch.Size, torch.dtype]] = []
        """What the inputs are like that its runner holds; a task may draw sizes."""
        self._finite = True
        self._looked = False
        """Whether its runner was asked what the candidate changed, before anything that may be stopped."""

    # The stages.

    def ast(self) -> Outcome:
        """The static rules."""
        if not self._source:
            return refused([Finding(rule="no-code", message="there is no code")])
        findings = policy.check_source(self._source, self._settings.policy)
        return refused(findings) if findings else Outcome(True)

    def compile(self) -> Outcome:
        """Every launch of a forward, compiled for the target: at tiny sizes, and without a GPU at the task's own."""
        outcome = self._compile()
        while self._makes_room(outcome):
            outcome = self._compile()
        return outcome

    def _compile(self) -> Outcome:
        try:
            return self._compiling.stage(Variant("as given", self._prepared().tiny.task))
        except RunnerFailed as failure:
            return self._failed(failure)
        except TaskError as error:
            return _invalid(error)
        finally:
            if not self._compiling.later:
                self._talk.leave("capture")

    def tiny(self) -> Outcome:
        """Values at tiny sizes, then with new contents in the same storage."""
        outcome = self._tiny()
        while self._makes_room(outcome):
            self._talk.end("capture")
            compiled = self._compile()
            if not compiled.ok:
                return replace(compiled, stands="ast")
            outcome = self._tiny()
        return outcome

    def _makes_room(self, outcome: Outcome) -> bool:
        """Whether a candidate turned the tiny sizes down, and is to be tried at larger ones from here on."""
        turned = any(conduct.turns_down(one) or one.rule == "descriptor" for one in outcome.findings)
        try:
            roomy = self._prepared().roomy if turned and not outcome.ok else None
        except TaskError:  # it has this size alone
            roomy = None
        if roomy is None:
            return False
        self._prepared = lambda: roomy
        return True

    def _tiny(self) -> Outcome:
        outcome = self._compare_on(lambda p: [Variant("as given", p.tiny.task)], lambda p: p.tiny.shapes, again=True)
        # At the same sizes a candidate runs what it showed to the compiler, or it knows where it is.
        if outcome.ok and self._compiling.compiled is not None:
            findings = conduct.launched_otherwise(self._compiling.compiled, self._seen)
            if findings:
                return refused(findings)
        rebuilt = outcome.ok and self._made(self._seen)
        if rebuilt and self._made_again(self._prepared().tiny.task):
            return refused([conduct.COPIED])
        replayed = self._replayed(rebuilt) if outcome.ok else outcome
        if replayed.ok and self._compiling.later:
            return self._assembled(outcome)
        return outcome if replayed.ok else replayed

    def full(self) -> Outcome:
        """Values at the task's own sizes, or at what the interpreter bears, on every variant."""

        def wanted(prepared: Sizes) -> list[Variant]:
            multi_input = self._extensions.multi_input
            growth = self._room.growth(prepared) if multi_input else None
            cuda, named = self._gpu is not None, self._forwards.named
            strided = self._settings.strided
            return tried.variants_of(
                self._task, self._source, prepared.large(), multi_input, growth, strided, named, cuda
            )

        def sizes(prepared: Sizes) -> str:
            scaled = "" if prepared.full.cap is None else f" (scaled to {prepared.full.cap} for the interpreter)"
            return prepared.full.shapes + scaled

        outcome = self._compare_on(wanted, sizes)
        if not outcome.ok:
            return outcome
        if self._made(self._seen) and self._made_again(self._prepared().full.task):
            return refused([conduct.COPIED])
        try:
            own = self._own.outcome(self._seen)
            if not own.ok:
                return own
            findings = self._integrity() or self._sanitized()
        except RunnerFailed as failure:
            return self._failed(failure)
        return refused(findings) if findings else outcome

    def timing(self) -> Outcome:
        """Measured on a GPU, predicted by roofline elsewhere."""
        timed = Timed(
            self._settings, self._extensions, self._task, self._talk, self._forwards, self._room, self._target
        )
        try:
            if self._gpu is not None:
                return timed.measured(self._gpu, self._seen, self._eyes.habits().remembers, self._integrity)
            return timed.predicted(self._prepared().full.task, self._seen, self._compiling.launched)
        except RunnerFailed as failure:
            return refused([failure.finding])
        except TaskError as error:
            return _invalid(error)

    def triton_share(self) -> float | None:
        """The share of the last forward's work that was Triton's."""
        if not self._seen:
            return None
        found = roofline.footprint(self._task if self._gpu is not None else self._prepared().full.task)
        return share.triton_share(self._seen, self._target, found.flops if found else None)

    def close(self) -> None:
        """Be done with what the candidate was tried on; before its runners are ended or given back."""
        self._forwards.leave()

    def _assembled(self, outcome: Outcome) -> Outcome:
        """The tiny stage's outcome with the back end's figures, or the failure of what was put off until now."""
        try:
            return self._compiling.assembled(outcome)
        except RunnerFailed as failure:
            return replace(self._failed(failure), stands="ast")
        finally:
            self._talk.leave("capture")

    # Values.

    def _compare_on(
        self, wanted: Callable[[Sizes], list[Variant]], sizes: Callable[[Sizes], str], again: bool = False
    ) -> Outcome:
        right: list[str] = []
        kernels: list[KernelStats] = []
        # Findings and not exceptions, which would keep what the variant was tried on.
        beyond: Finding | None = None
        declined: dict[str, Finding] = {}
        precise: Finding | None = None
        try:
            prepared = self._prepared()
            for variant in wanted(prepared):
                try:
                    outcome = self._one(variant, not right, again)
                except RunnerFailed as failure:
                    if conduct.may_turn_down(variant, failure.finding):
                        precise = failure.finding if variant.dtype is not None else precise
                        self._let_go(failure)
                        continue
                    if variant.label in _OTHER_SIZES and conduct.turns_down(failure.finding):
                        declined[variant.label] = failure.finding
                        self._let_go(failure)
                        continue
                    if not conduct.beyond_hardware(variant.label, failure.finding, self._gpu is not None):
                        raise
                    beyond = failure.finding
                    self._talk.ask(self._forwards.mode, {"do": "release"})
                    continue
                if outcome is None:
                    continue
                if not outcome.ok and variant.label in _OTHER_SIZES and _of_descriptors(outcome):
                    declined[variant.label] = outcome.findings[0]
                    self._talk.ask(self._forwards.mode, {"do": "release"})
                    continue
                if not outcome.ok:
                    self._talk.leave("interpret", is_clean(outcome.findings))
                    return outcome
                right.append(variant.label)
                kernels = kernels or outcome.kernels
            if beyond is not None and not conduct.told_at_other_sizes(right):
                raise RunnerFailed(beyond)
            if declined and not self._right_at_two(prepared, right) and not self._right_twice_as_large(prepared):
                raise RunnerFailed(next(iter(declined.values())))
        except RunnerFailed as failure:
            return self._failed(failure)
        except TaskError as error:
            return _invalid(error)
        beside = f"; larger dimensions are beyond the hardware ({beyond.message})" if beyond is not None else ""
        beside += "".join(f"; it turns {label} down ({finding.message})" for label, finding in declined.items())
        beside += f"; it turns another precision down ({precise.message})" if precise is not None else ""
        return Outcome(True, f"{sizes(prepared)}; {plural(len(right), 'variant')}{beside}", kernels=kernels)

    def _stopped(self) -> None:
        """Be done with a runner that was stopped in the midst of whatever it did: what the interpreter, or torch, had
        changed for the while of a call may stand (1 of 1,300 stops), and is not the candidate's."""
        if self._gpu is None:
            self._talk.end(self._forwards.mode)
            self._looked = False

    def _let_go(self, failure: RunnerFailed) -> None:
        """Go on after a candidate that turned a variant down."""
        self._failed(failure)
        if self._talk.has(self._forwards.mode):
            self._talk.ask(self._forwards.mode, {"do": "release"})

    def _one(self, variant: Variant, first: bool, again: bool) -> Outcome | None:
        """Try one variant; None if the reference does not run on it. `again`: other contents will follow."""
        if variant.reuse and self._eyes.habits().remembers:
            return None  # the second of two calls has an answer of its own: see `_replayed`
        needs, own = self._room.needs(variant), self._gpu is not None and first and not again
        if variant.brief and not self._looked and (findings := self._integrity()):
            return refused(findings)
        self._looked = self._looked or variant.brief
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
            if seen.get("stopped"):
                self._stopped()
                return None
            if variant.label == "as given":
                self._seen, self._held = seen, replay.form(material.inputs)
            if findings := self._eyes.watched(seen, variant.fresh_seed) or self._eyes.effects(seen):
                return refused(findings)
            with self._room.beside():
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
                self._talk.ask(self._forwards.mode, {"do": "release"})
        if mismatch is not None:
            return wrong(mismatch)
        return Outcome(True, kernels=compiler.loaded(rows(seen, "kernels"), self._target) if self._gpu else [])

    def _right_at_two(self, prepared: Sizes, right: Collection[str]) -> bool:
        """Whether a candidate launched its kernels at the task's own size and was right (labels) at two other sizes.

        A kernel that says which sizes it is for, the task's among them, answers the task; one size would not show that
        it computes what it says.
        """
        sizes = len({prepared.tiny.task.source, prepared.full.task.source}) + len(_OTHER_SIZES & {*right})
        return self._launches_at_own_sizes(prepared) and "as given" in right and sizes > 1

    def _launches_at_own_sizes(self, prepared: Sizes) -> bool:
        """As far as that can be seen: a reference that looks at its values runs at no size that no memory holds."""
        seen = self._gpu is not None or self._compiling.launched is not None or prepared.full.cap is None
        return seen or not runs_without_data(self._task)

    def _right_twice_as_large(self, prepared: Sizes) -> bool:
        """The same of a candidate that was tried at one size: powers of two stay such when they are doubled."""
        if not self._launches_at_own_sizes(prepared) or self._gpu is not None:
            return False
        larger = next(one for one in variants(prepared.full.task, True, 2.0) if one.label == "larger dimensions")
        outcome = self._one(larger, False, False)
        return outcome is not None and outcome.ok

    def _replayed(self, rebuild: bool) -> Outcome:
        """Call a candidate again and again on the same storage with other contents; see `replay`.

        `rebuild`: the runner no longer holds the model and the inputs that it was tried on at these sizes.
        """
        variant = Variant("as given", self._prepared().tiny.task)
        try:
            with self._room.beside():
                replays = self._forwards.draws.replays(variant)
            seen, again, remembers = self._seen, replays.again, replays.habits.remembers
            if rebuild or remembers:
                material = self._forwards.existing(variant)
                seen, _ = self._forwards.run(variant, material, again=True)
                self._held = replay.form(material.inputs)
                again = self._forwards.draws.following(variant, material.inputs) if remembers else again
            findings = self._eyes.effects(seen)
            again = [(inputs, truth) for inputs, truth in again if replay.form(inputs) == self._held]
            for inputs, truth in [] if findings else again:
                seen, output = self._forwards.refilled(inputs, truth)
                if findings := self._eyes.watched(seen):
                    break
                if mismatch := numerics.compare(truth, output, "new contents in the same storage"):
                    return wrong(mismatch)
                if findings := self._eyes.effects(seen):
                    break
            if not findings and again and not remembers:
                findings = self._eyes.repeated(seen, again[-1][1])
            findings = findings or self._integrity()
            if not findings and again and not remembers and self._eyes.counted:
                findings = self._eyes.much_later(again)
            if not findings and again and not remembers and self._calls:
                findings = self._eyes.often(self._calls, *again[0])
            self._talk.ask(self._forwards.mode, {"do": "release"})
        except RunnerFailed as failure:
            return self._failed(failure)
        return refused(findings) if findings else Outcome(True)

    def _integrity(self) -> list[Finding]:
        """What a candidate changed in its process, if it has one; to be asked at the end of a stage."""
        if not self._talk.has(self._forwards.mode):
            return []
        reply, _ = self._talk.ask(self._forwards.mode, {"do": "check"})
        changes = reply.get("changes")
        found = [str(change) for change in changes] if isinstance(changes, list) else ["the check gave no answer"]
        message = f"the candidate changed its process: {'; '.join(found)}"
        return [Finding(rule="integrity", message=message)] if found else []

    def _sanitized(self) -> list[Finding]:
        """What compute-sanitizer finds at tiny sizes, where it was asked for."""
        if self._sanitizer is None:
            return []
        variant = Variant("as given", self._prepared().tiny.task)
        # The memory first: who has all of it would else wait here for who waits for memory.
        with self._room.taken(self._room.needs(variant)), AT_ONCE, self._room.beside():
            model, inputs = self._forwards.draws.model(variant), self._forwards.draws.inputs(variant)
            header, tree = self._forwards.plan(variant, model)
            header |= {"mode": self._forwards.mode, "source": self._source, "target": self._target}
            return self._sanitizer.check(header, {**tree, "inputs": inputs})

    def _compared(self, variant: Variant) -> Outcome | None:
        """The outcome on a variant that a candidate may turn down; None where it did, or where there is no such one."""
        try:
            return self._one(variant, False, False)
        except RunnerFailed as failure:
            if not conduct.may_turn_down(variant, failure.finding):
                raise
            self._let_go(failure)
            return None

    def _made_again(self, task: Task) -> bool:
        """Whether torch makes the output of very different inputs too; see `conduct.made_by_torch`."""
        variant = Variant("values x -1000", task, factor=-1000.0)
        try:
            with self._room.taken(needs := self._room.needs(variant)):
                material = self._forwards.existing(variant)
                self._room.settle(needs)
                seen, _ = self._forwards.run(variant, material)
                if self._room.large(needs):
                    self._talk.ask(self._forwards.mode, {"do": "release"})
        except RunnerFailed:
            return True
        return self._made(seen)

    def _made(self, seen: dict[str, object]) -> bool:
        """Whether torch made the output. Where it computes the rest, a kernel must do more to it than to multiply it by
        a number, to add one, or to bring the values to other places, unless the task ends so."""
        if self._settings.policy != "lenient":
            return conduct.made_by_torch(seen)
        passed = self._eyes.habits().passed
        return conduct.made_by_torch(seen, not passed.resembles, not passed.rearranges)

    def _failed(self, failure: RunnerFailed) -> Outcome:
        """The outcome where a runner gave no answer; one on a GPU that answered with an exception is still of use."""
        self._talk.end("interpret")
        self._looked = False
        if failure.finding.rule in UNCLEAN:
            self._talk.end("cuda")
        return refused([failure.finding])


def _of_descriptors(outcome: Outcome) -> bool:
    """Whether all that is held against a candidate is that the hardware describes no such tensor."""
    return bool(outcome.findings) and all(finding.rule == "descriptor" for finding in outcome.findings)


def _invalid(error: TaskError) -> Outcome:
    return refused([Finding(rule="task", message=str(error))])
