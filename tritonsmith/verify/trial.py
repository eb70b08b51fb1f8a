"""One candidate on its way through the stages: what is asked in each, and what is decided.

Runs the task's code, never the candidate's. On a GPU the values are computed beside other candidates and timed
alone; see `gpu`. The order of the stages is `funnel`'s, what candidates are tried on `material`'s; their values are
compared by `comparing`, and once more with other contents by `replayed`.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import TaskError
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding, Task
from tritonsmith.verify import policy, roofline, tried
from tritonsmith.verify.comparing import Comparing
from tritonsmith.verify.compiling import Compiling
from tritonsmith.verify.conversation import Conversation, RunnerFailed
from tritonsmith.verify.dynamic import conduct, share, unrun
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.funnel import Outcome, invalid, refused
from tritonsmith.verify.own_sizes import OwnSizes
from tritonsmith.verify.process.gpu import Gpu
from tritonsmith.verify.process.sanitizer import AT_ONCE, Sanitizer
from tritonsmith.verify.reference.material import Supply
from tritonsmith.verify.replayed import Replayed
from tritonsmith.verify.room import Room
from tritonsmith.verify.sizing import Sizes
from tritonsmith.verify.static import drawing, stateless
from tritonsmith.verify.static.unwrapped import unwrapped
from tritonsmith.verify.timed import Timed
from tritonsmith.verify.upkeep import Upkeep
from tritonsmith.verify.watching import Watching

_SLOW = 2.5
"""Seconds of the interpreter's for the task as given from which on variants are of smaller sizes: there are some twenty
of them, a few of which take longer than it does, and a candidate has 60 s."""

_ASKS = re.compile(r"get_device_(name|properties|capability)|get_current_target|multiprocessor_count|is_bf16_supported")
"""What a text has in it that asks which GPU there is."""


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
        self._upkeep = Upkeep(talk, self._forwards.mode)
        self._eyes = Watching(settings.policy, self._forwards, lambda: self._prepared().tiny.task)
        self._compiling = Compiling(settings, self._forwards, talk, target, cuda)
        self._values = Comparing(
            task,
            lambda: self._prepared(),
            self._forwards,
            self._eyes,
            self._compiling,
            self._room,
            self._upkeep,
            target,
            cuda,
        )
        most = unrun.MOST if extensions.multi_input else unrun.FEWER
        calls = 0 if stateless.keeps_nothing(source) else most
        self._replayed = Replayed(lambda: self._prepared(), self._forwards, self._eyes, self._upkeep, calls)
        self._own = OwnSizes(
            task,
            prepared,
            self._forwards,
            self._eyes,
            self._compiling,
            cuda,
            self._values.compared,
            calls,
            extensions.multi_input and settings.own_values,
            lambda: max(self._prepared().large().bound, tried.least(source or "")),
            self._upkeep.renewed,
        )

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
            tiny = self._prepared().tiny.task
            if self._gpu is None and scaling.is_heavy(tiny):
                self._talk.grant()
            outcome = self._compiling.stage(variant := Variant("as given", tiny))
            if not outcome.ok or not drawing.draws(self._source) or not (names := self._forwards.drawn(variant)):
                return outcome
            message = f"{names[0]} of ModelNew is another one under another seed: draw weights alone"
            return refused([Finding(rule="observed", message=message)])
        except RunnerFailed as failure:
            return self._upkeep.failed(failure)
        except TaskError as error:
            return invalid(str(error))
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
        outcome = self._values.on(lambda p: [Variant("as given", p.tiny.task)], lambda p: p.tiny.shapes, again=True)
        # At the same sizes a candidate runs what it showed to the compiler, or it knows where it is.
        if outcome.ok and self._compiling.compiled is not None:
            findings = conduct.launched_otherwise(self._compiling.compiled, self._values.seen)
            if findings:
                return refused(findings)
        rebuilt = outcome.ok and self._eyes.made_by_torch(self._values.seen)
        if rebuilt and self._made_again(self._prepared().tiny.task):
            return refused([conduct.COPIED])
        replayed = self._replayed.outcome(self._values.seen, self._values.held, rebuilt) if outcome.ok else outcome
        if replayed.ok and self._compiling.later:
            return self._assembled(outcome)
        return outcome if replayed.ok else replayed

    def full(self) -> Outcome:
        """Values at the task's own sizes, or at what the interpreter bears, on every variant."""

        def sizes(prepared: Sizes) -> str:
            scaled = "" if prepared.full.cap is None else f" (scaled to {prepared.full.cap} for the interpreter)"
            return prepared.full.shapes + scaled

        outcome = self._values.on(self._borne, sizes)
        if not outcome.ok:
            return outcome
        if idle := self._eyes.idle():
            return refused(idle)
        if self._eyes.made_by_torch(self._values.seen) and self._made_again(self._prepared().full.task):
            return refused([conduct.COPIED])
        try:
            own = self._own.outcome(self._values.seen)
            if not own.ok:
                return own
            findings = self._upkeep.integrity() or self._sanitized()
            elsewhere = None if findings else self._elsewhere()
        except RunnerFailed as failure:
            return self._upkeep.failed(failure)
        if elsewhere is not None and not elsewhere.ok:
            return elsewhere
        return refused(findings) if findings else outcome

    def _elsewhere(self) -> Outcome | None:
        """Values where a candidate finds another GPU, if its text asks for one's properties and there is none; None
        where it turned that one down."""
        if self._gpu is not None or not _ASKS.search(self._source):
            return None
        if findings := self._upkeep.renewed():
            return refused(findings)
        seen, self._forwards.elsewhere = self._values.seen, True
        try:
            return self._values.compared(Variant("on another GPU", self._prepared().tiny.task, fresh_seed=True))
        except RunnerFailed as failure:
            if failure.finding.rule != "exception":
                raise
            self._upkeep.turned_down(failure)  # it is for one kind, and says so
            return None
        finally:
            self._values.seen, self._forwards.elsewhere = seen, False
            self._talk.leave(self._forwards.mode)

    def _tried_on(self, prepared: Sizes) -> list[Variant]:
        multi_input = self._extensions.multi_input
        growth = self._room.growth(prepared) if multi_input else None
        cuda, named = self._gpu is not None, self._forwards.named
        strided = self._settings.strided
        return tried.variants_of(self._task, self._source, prepared.large(), multi_input, growth, strided, named, cuda)

    def _borne(self, prepared: Sizes) -> Iterator[Variant]:
        """What the candidate is tried on, at smaller sizes where it takes the interpreter long: sizes go by what the
        reference costs, and one program for each output element is honest."""
        given, *others = self._tried_on(prepared)
        if self._gpu is not None:
            yield from (given, *others)
            return
        yield replace(given, bounded=True)
        took = self._values.took
        lighter = prepared.lighter if took > _SLOW else None
        if took < math.inf and lighter is None:
            yield from others
        elif took < math.inf and lighter is not None:
            yield from self._tried_on(lighter)[1:]
            # Fewer steps are among what is smaller there; those of the task are stopped where they take long.
            yield from (one for one in others if one.label == tried.STEPS)
        elif lighter is not None:
            self._prepared = lambda: lighter
            yield from self._borne(lighter)
        else:
            yield from (given, *others)

    def timing(self) -> Outcome:
        """Measured on a GPU, predicted by roofline elsewhere."""
        timed = Timed(
            self._settings, self._extensions, self._task, self._talk, self._forwards, self._room, self._target
        )
        try:
            if self._gpu is not None:
                return timed.measured(
                    self._gpu, self._values.seen, self._eyes.habits().remembers, self._upkeep.integrity
                )
            return timed.predicted(self._prepared().full.task, self._values.seen, self._compiling.launched)
        except RunnerFailed as failure:
            return refused([failure.finding])
        except TaskError as error:
            return invalid(str(error))

    def triton_share(self) -> float | None:
        """The share of the last forward's work that was Triton's."""
        if not self._values.seen:
            return None
        found = roofline.footprint(self._task if self._gpu is not None else self._prepared().full.task)
        return share.triton_share(self._values.seen, self._target, found.flops if found else None)

    def close(self) -> None:
        """Be done with what the candidate was tried on; before its runners are ended or given back."""
        self._forwards.leave()

    def _assembled(self, outcome: Outcome) -> Outcome:
        """The tiny stage's outcome with the back end's figures, or the failure of what was put off until now."""
        try:
            return self._compiling.assembled(outcome)
        except RunnerFailed as failure:
            return replace(self._upkeep.failed(failure), stands="ast")
        finally:
            self._talk.leave("capture")

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

    def _made_again(self, task: Task) -> bool:
        """Whether torch makes the output of very different inputs too; see `conduct.made_by_torch`."""
        variant = Variant("values x -1000", task, factor=-1000.0)
        try:
            with self._room.taken(needs := self._room.needs(variant)):
                material = self._forwards.existing(variant)
                self._room.settle(needs)
                seen, _ = self._forwards.run(variant, material)
                if self._room.large(needs):
                    self._upkeep.release()
        except RunnerFailed:
            return True
        return self._eyes.made_by_torch(seen)
