"""The timing stage of one candidate: measured on a GPU, predicted by roofline elsewhere.

Times nothing itself: that is `measure`'s. Whether the candidate is right was found before.
"""

from collections.abc import Callable

import torch
from torch import nn

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.dry import runs_without_data
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding, Mismatch, Task
from tritonsmith.verify import baselines, measure, roofline
from tritonsmith.verify.conversation import Conversation, rows
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.funnel import Outcome, refused, wrong
from tritonsmith.verify.process.gpu import Gpu
from tritonsmith.verify.rechecked import Subject
from tritonsmith.verify.room import Room


class Timed:
    """Times one candidate, or says how long it would take."""

    def __init__(
        self,
        settings: VerifyConfig,
        extensions: ExtensionsConfig,
        task: Task,
        talk: Conversation,
        forwards: Forwards,
        room: Room,
        target: str,
    ) -> None:
        self._settings, self._preset = settings, measure.preset(settings, extensions)
        self._task, self._talk, self._forwards, self._room, self._target = task, talk, forwards, room, target

    def predicted(self, scaled: Task, seen: dict[str, object], own: list[dict[str, object]] | None) -> Outcome:
        """What the roofline says of the launches that were `seen` on the `scaled` task, and of its `own` launches."""
        if self._settings.target not in roofline.HARDWARE:
            return Outcome(True, f"no prediction: what {self._settings.target} can do is not known here")
        small, real = roofline.footprint(scaled), roofline.footprint(self._task)
        if small is None or not seen:
            return Outcome(True, "no prediction: the reference does not run on tensors without data")
        operators = seen.get("operators")
        found = roofline.predict(
            rows(seen, "launches"),
            operators if isinstance(operators, dict) else {},
            small,
            real or small,
            self._settings.target,
            whole=own,
        )
        detail = f"predicted {found.speedup.median:.2f}x by roofline for {self._settings.target}"
        return Outcome(True, detail, timing=found)

    def measured(
        self, gpu: Gpu, seen: dict[str, object], remembers: bool, integrity: Callable[[], list[Finding]]
    ) -> Outcome:
        """Reference and candidate in turns; `integrity` asks afterwards what the candidate changed in its process.

        `remembers`: the reference has a state that it changes. Raises RunnerFailed.
        """
        variant = Variant("as given", self._task)
        needs = self._room.needs(variant)
        recordable = runs_without_data(self._task) and self._room.spare(needs)
        with self._room.taken(self._room.needs(variant, recordable)):
            self._forwards.ready()
            subject = Subject(
                talk=self._talk,
                beside=self._room.beside,
                model=lambda: self._forwards.draws.model(variant),
                draw=lambda like: self._forwards.draws.inputs_like(variant, like),
                build=lambda model: self._forwards.build("cuda", variant, model),
                truth=self._forwards.truth,
                sets=1 if self._room.large(needs) else 3,
                compiled=self._compiled_ms(gpu) if self._settings.compile_baseline else None,
                remembers=remembers,
                recordable=recordable,
            )
            found = measure.measure(subject, gpu, self._preset)
            changes = integrity()
        if isinstance(found, Mismatch):
            # Wrong while it was timed: what the earlier stages saw was not what it does.
            return wrong(found, stands="tiny")
        if changes:
            return refused(changes)
        if isinstance(found, Finding):
            return refused([found])
        timing = roofline.beside(found, self._task, rows(seen, "launches"), self._target, torch.cuda.get_device_name())
        return Outcome(True, f"measured {found.speedup.median:.2f}x", timing=timing)

    def _compiled_ms(self, gpu: Gpu) -> Callable[[nn.Module, list[list[object]], bool], float | None]:
        """Time `torch.compile` of the reference, once a task; kept beside the cache of verdicts."""
        kept = self._settings.cache.with_name("baselines.jsonl") if self._settings.cache else None
        return lambda model, sets, recorded: baselines.compiled_ms(
            self._task, model, sets, recorded, gpu, self._preset, kept
        )
