"""One candidate on its way through the stages: draws the inputs, holds the truth, asks its runners, compares.

Runs the task's code, never the candidate's. On a GPU the values are computed beside other candidates and timed
alone; see `gpu`. The order of the stages is `funnel`'s.
"""

import contextlib
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import nn

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.format import TaskError, TaskModule
from tritonsmith.tasks.variants import Variant, adapt, finite, usable, variants
from tritonsmith.types import Finding, KernelStats, Mismatch, Task, Timing
from tritonsmith.verify import baselines, measure, numerics, observe, policy, replay, roofline, share, wire
from tritonsmith.verify import compile as compiler
from tritonsmith.verify.conversation import SPARE_BYTES, Conversation, RunnerFailed, memory_findings, rows
from tritonsmith.verify.funnel import Outcome
from tritonsmith.verify.gpu import Gpu
from tritonsmith.verify.sizing import Sizes
from tritonsmith.verify.truth import truth_of

_LARGE = 1 << 28
"""Bytes of inputs and outputs from which a variant's memory is given back to the GPU at once."""
_MOST_ELEMENTS = (1 << 31) - 1
"""A kernel whose offsets have 32 bits is right for every tensor it was asked for; larger ones are another task."""
_PEAK = 10
"""Memory a variant takes at most, in multiples of its inputs, weights and outputs: the runner's copies, the
reference in two precisions, and the comparison."""


UNCLEAN = {"timeout", "crash", "exit", "protocol", "memory", "cuda", "out-of-bounds", "integrity", "clock"}
"""Findings after which a runner serves nobody else."""


_REPLAYS = 2
"""Calls with new contents in the same storage."""


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
        gpu: Gpu | None,
        target: str,
    ) -> None:
        self._settings, self._extensions, self._task, self._source = settings, extensions, task, source
        self._prepared, self._talk, self._gpu, self._target = prepared, talk, gpu, target
        self._weights = secrets.randbits(31)
        self._seen: dict[str, object] = {}
        self._compiled: set[str] | None = None
        self._finite = True

    # The stages.

    def ast(self) -> Outcome:
        """The static rules."""
        if not self._source:
            return Outcome(False, "no code", [Finding(rule="no-code", message="there is no code")])
        findings = policy.check_source(self._source, self._settings.policy)
        return Outcome(not findings, findings[0].message if findings else "", findings)

    def compile(self) -> Outcome:
        """Every launch of a forward at tiny sizes, compiled for the target."""
        try:
            variant = Variant("as given", self._prepared().tiny.task)
            kernels, findings = self._compile_here(variant) if self._gpu else self._compile_ahead(variant)
        except RunnerFailed as failure:
            return self._failed(failure)
        except wire.WireError as error:
            return Outcome(False, str(error), [Finding(rule="protocol", message=str(error))])
        except TaskError as error:
            return Outcome(False, str(error), [Finding(rule="task", message=str(error))])
        finally:
            self._talk.end("capture")
        return Outcome(
            not findings, findings[0].message if findings else _plural(len(kernels)), findings, kernels=kernels
        )

    def tiny(self) -> Outcome:
        """Values at tiny sizes."""
        outcome = self._compare_on(lambda prepared: [Variant("as given", prepared.tiny.task)], lambda p: p.tiny.shapes)
        # At the same sizes a candidate runs what it showed to the compiler, or it knows where it is.
        ran = set(compiler.launch_counts(rows(self._seen, "launches")))
        if outcome.ok and self._compiled is not None and not ran <= self._compiled:
            names = ", ".join(sorted(ran - self._compiled))
            message = f"forward launches {names} here, which it did not launch when it was compiled"
            return Outcome(False, message, [Finding(rule="uncompiled", message=message)])
        if outcome.ok and policy.made_by_torch(self._seen) and self._made_again():
            return Outcome(False, policy.COPIED.message, [policy.COPIED])
        replayed = self._replayed() if outcome.ok else outcome
        return outcome if replayed.ok else replayed

    def full(self) -> Outcome:
        """Values at the task's own sizes, or at what the interpreter bears, on every variant."""

        def wanted(prepared: Sizes) -> list[Variant]:
            growth = self._growth(prepared)
            multi_input, strided = self._extensions.multi_input, self._settings.strided
            return variants(prepared.full.task, multi_input, growth, prepared.hardening, strided)

        def sizes(prepared: Sizes) -> str:
            scaled = "" if prepared.full.cap is None else f" (scaled to {prepared.full.cap} for the interpreter)"
            return prepared.full.shapes + scaled

        outcome = self._compare_on(wanted, sizes)
        if not outcome.ok:
            return outcome
        try:
            changes = self._integrity("interpret" if self._gpu is None else "cuda")
        except RunnerFailed as failure:
            return self._failed(failure)
        return Outcome(False, changes[0].message, changes) if changes else outcome

    def timing(self) -> Outcome:
        """Measured on a GPU, predicted by roofline elsewhere."""
        if self._gpu is not None:
            return self._measure(self._gpu)
        try:
            prepared = self._prepared()
        except TaskError as error:
            return Outcome(False, str(error), [Finding(rule="task", message=str(error))])
        small, real = roofline.footprint(prepared.full.task), roofline.footprint(self._task)
        if small is None or not self._seen:
            return Outcome(True, "no prediction: the reference does not run on tensors without data")
        launches, operators = rows(self._seen, "launches"), self._seen.get("operators")
        found = roofline.predict(
            launches, operators if isinstance(operators, dict) else {}, small, real or small, self._settings.target
        )
        return Outcome(
            True, f"predicted {found.speedup.median:.2f}x by roofline for {self._settings.target}", timing=found
        )

    def triton_share(self) -> float | None:
        """The share of the last forward's work that was Triton's."""
        found = roofline.footprint(self._task) if self._gpu is not None else None
        return share.triton_share(self._seen, self._target, found.flops if found else 0.0)

    # Compiling.

    def _compile_ahead(self, variant: Variant) -> tuple[list[KernelStats], list[Finding]]:
        inputs, model = self._draw(variant, "cpu")
        self._talk.load("capture", self._source, self._target)
        self._build("capture", variant, model)
        seen, _ = self._talk.ask("capture", {"do": "forward", "values": False}, inputs)
        if findings := policy.check_run({**seen, "touched": True}, self._settings.policy):
            return [], findings
        lowered, _ = self._talk.ask("capture", {"do": "compile"})
        self._compiled = set(compiler.launch_counts(rows(seen, "launches")))
        return compiler.assemble(rows(lowered, "kernels"), self._target, self._talk.deadline)

    def _compile_here(self, variant: Variant) -> tuple[list[KernelStats], list[Finding]]:
        with self._beside():
            inputs, model = self._draw(variant, "cuda")
        self._ready("cuda")
        self._build("cuda", variant, model)
        seen, _ = self._talk.ask("cuda", {"do": "compile"}, inputs)
        if not rows(seen, "launches"):
            return [], [Finding(rule="never-launched", message="forward launches no Triton kernel")]
        return compiler.loaded(rows(seen, "kernels")), []

    # Values.

    def _compare_on(self, wanted: Callable[[Sizes], list[Variant]], sizes: Callable[[Sizes], str]) -> Outcome:
        mode = "interpret" if self._gpu is None else "cuda"
        ran, kernels = 0, []
        try:
            prepared = self._prepared()
            for variant in wanted(prepared):
                outcome = self._one(variant, mode, first=ran == 0)
                if outcome is None:
                    continue
                if not outcome.ok:
                    self._talk.end("interpret")
                    return outcome
                ran += 1
                kernels = kernels or outcome.kernels
        except RunnerFailed as failure:
            return self._failed(failure)
        except TaskError as error:
            return Outcome(False, str(error), [Finding(rule="task", message=str(error))])
        return Outcome(True, f"{sizes(prepared)}; {_plural(ran, 'variant')}", kernels=kernels)

    def _one(self, variant: Variant, mode: str, first: bool) -> Outcome | None:
        """Try one variant; None if the reference does not run on it."""
        needs = self._needs(variant)
        with self._room(needs):
            try:
                with self._beside():
                    inputs, model = self._draw(variant, mode)
                    truth = truth_of(model, inputs)
            except Exception as error:  # the reference's own code fails on this variant, which then does not exist
                if first:
                    raise TaskError(f"task {self._task.id}: the reference fails: {error}") from error
                return None
            if first:
                self._finite = finite(truth.native)
            elif not usable(variant, truth.native, self._finite):
                return None
            seen, output = self._run(variant, mode, model, inputs, truth)
            if variant.label == "as given":
                self._seen = seen
            findings = memory_findings(seen) or policy.check_run(seen, self._settings.policy)
            if findings:
                return Outcome(False, findings[0].message, findings)
            with self._beside():
                mismatch = numerics.compare(truth, output, variant.label)
            del truth, inputs, output, model
            if needs > _PEAK * _LARGE:
                self._talk.ask(mode, {"do": "release"})
                torch.cuda.empty_cache()
        if mismatch is not None:
            return _mismatched(mismatch)
        return Outcome(True, kernels=compiler.loaded(rows(seen, "kernels")) if self._gpu else [])

    def _replayed(self) -> Outcome:
        """Call a candidate again and again on the same storage with other contents; see `replay`."""
        mode = "interpret" if self._gpu is None else "cuda"
        variant = Variant("new contents in the same storage", self._prepared().tiny.task, fresh_seed=True)
        try:
            with self._beside():
                model, first = self._model(variant, mode), self._inputs(variant, mode)
                others = [self._inputs(variant, mode) for _ in range(_REPLAYS)]
                allowed = replay.reference_effects(model, first)
                again = [(inputs, truth_of(model, inputs)) for inputs in others]
                again = [] if replay.has_memory(model, first, others[0]) else again
            self._build(mode, variant, model)
            header: dict[str, object] = {"do": "forward", "keep": True, "effects": True}
            if self._gpu is None:
                seen, _ = self._talk.ask(mode, {**header, "values": False}, first)
            else:
                self._talk.ask(mode, {"do": "compile"}, first)
                seen, _ = self._talk.ask(mode, {**header, "values": False, "kept": True})
            findings = replay.findings(seen.get("effects"), allowed)
            for inputs, truth in [] if findings else again:
                room = SPARE_BYTES + 4 * sum(t.nbytes for t in observe.tensors(truth.native))
                seen, output = self._talk.ask(mode, {**header, "kept": True, "refill": True}, inputs, room)
                if mismatch := numerics.compare(truth, output, variant.label):
                    return _mismatched(mismatch)
                if findings := replay.findings(seen.get("effects"), allowed):
                    break
            self._talk.ask(mode, {"do": "release"})
            findings = findings or self._integrity(mode)
        except RunnerFailed as failure:
            return self._failed(failure)
        return Outcome(not findings, findings[0].message if findings else "", findings)

    def _integrity(self, mode: str) -> list[Finding]:
        """What a candidate changed in its process; to be asked at the end of a stage."""
        reply, _ = self._talk.ask(mode, {"do": "check"})
        changes = reply.get("changes")
        found = [str(change) for change in changes] if isinstance(changes, list) else ["the check gave no answer"]
        message = f"the candidate changed its process: {'; '.join(found)}"
        return [Finding(rule="integrity", message=message)] if found else []

    def _made_again(self) -> bool:
        """Whether torch makes the output of very different inputs too; see `policy.made_by_torch`."""
        mode = "interpret" if self._gpu is None else "cuda"
        variant = Variant("values x -1000", self._prepared().tiny.task, factor=-1000.0)
        try:
            inputs, model = self._draw(variant, mode)
            seen, _ = self._run(variant, mode, model, inputs, truth_of(model, inputs))
        except RunnerFailed:
            return True
        return policy.made_by_torch(seen)

    def _run(
        self, variant: Variant, mode: str, model: nn.Module, inputs: list[object], truth: numerics.Truth
    ) -> tuple[dict[str, object], wire.Tree]:
        self._ready(mode)
        room = SPARE_BYTES + 4 * sum(t.nbytes for t in observe.tensors(truth.native))
        with self._beside():
            self._build(mode, variant, model)
        if variant.reuse:
            return self._run_again(variant, mode, inputs, room)
        if self._gpu is None:
            return self._talk.ask(mode, {"do": "forward"}, inputs, room)
        # Compiling takes seconds, in which another candidate may be timed; running takes milliseconds.
        self._talk.ask(mode, {"do": "compile"}, inputs)
        with self._beside():
            return self._talk.ask(mode, {"do": "forward", "kept": True}, None, room)

    def _failed(self, failure: RunnerFailed) -> Outcome:
        """The outcome where a runner gave no answer; one on a GPU that answered with an exception is still of use."""
        self._talk.end("interpret")
        if failure.finding.rule in UNCLEAN:
            self._talk.end("cuda")
        return Outcome(False, failure.finding.message, [failure.finding])

    def _run_again(
        self, variant: Variant, mode: str, inputs: list[object], room: int
    ) -> tuple[dict[str, object], wire.Tree]:
        """The second of two calls, for which `inputs` were written to the storage of the first one's."""
        with self._beside():
            earlier, _ = self._draw(variant, mode)
            self._talk.ask(mode, {"do": "forward", "keep": True, "values": False}, earlier)
            return self._talk.ask(mode, {"do": "forward", "kept": True, "refill": True}, inputs, room)

    def _draw(self, variant: Variant, mode: str) -> tuple[list[object], nn.Module]:
        return self._inputs(variant, mode), self._model(variant, mode)

    def _inputs(self, variant: Variant, mode: str) -> list[object]:
        drawn = TaskModule.of(variant.task).inputs(secrets.randbits(31), "cuda" if mode == "cuda" else "cpu")
        return adapt(drawn, variant)

    def _model(self, variant: Variant, mode: str) -> nn.Module:
        model = TaskModule.of(variant.task).model(self._weights, "cuda" if mode == "cuda" else "cpu")
        return model.to(variant.dtype) if variant.dtype is not None else model

    def _ready(self, mode: str) -> None:
        if not self._talk.has(mode):
            self._talk.load(mode, self._source, self._target)

    def _build(self, mode: str, variant: Variant, model: nn.Module) -> None:
        init = TaskModule.of(variant.task).init_inputs()
        dtype = str(variant.dtype).removeprefix("torch.") if variant.dtype else None
        header: dict[str, object] = {"do": "build", "seed": self._weights, "dtype": dtype}
        self._talk.ask(mode, header, {"init": init, "state": dict(model.state_dict())})

    # The GPU.

    def _beside(self) -> AbstractContextManager[None]:
        """Use of the GPU beside other candidates."""
        return contextlib.nullcontext() if self._gpu is None else self._gpu.shared()

    def _room(self, needs: int) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if self._gpu is None else self._gpu.room(needs)

    def _needs(self, variant: Variant) -> int:
        """Bytes of GPU memory that a variant takes at its peak; 0 on the CPU."""
        if self._gpu is None:
            return 0
        found = roofline.footprint(variant.task)
        return int(_PEAK * found.memory) if found else _LARGE

    def _growth(self, prepared: Sizes) -> float:
        """The factor of the larger dimensions: less on the interpreter, and where offsets would outgrow 32 bits."""
        if self._gpu is None:
            return 2.0 if prepared.full.cap is None else 1.25
        room = min(_MOST_ELEMENTS / max(_largest(self._task), 1), 0.1 * self._gpu.memory / max(1, self._needs_given()))
        return next((growth for growth in (2.0, 1.5, 1.25, 1.1) if growth**2 <= room), 1.05)

    def _needs_given(self) -> int:
        return self._needs(Variant("as given", self._task)) // _PEAK

    def _measure(self, gpu: Gpu) -> Outcome:
        variant = Variant("as given", self._task)
        needs = self._needs(variant)
        preset = measure.preset(self._settings, self._extensions)
        try:
            with self._room(needs):
                self._ready("cuda")
                found = measure.measure(
                    measure.Subject(
                        talk=self._talk,
                        beside=self._beside,
                        model=lambda: self._model(variant, "cuda"),
                        draw=lambda: self._inputs(variant, "cuda"),
                        build=lambda model: self._build("cuda", variant, model),
                        truth=truth_of,
                        sets=1 if needs > _PEAK * _LARGE else 3,
                        compiled=self._compiled_ms(gpu, preset) if self._settings.compile_baseline else None,
                    ),
                    gpu,
                    preset,
                )
                changes = self._integrity("cuda")
        except RunnerFailed as failure:
            return Outcome(False, failure.finding.message, [failure.finding])
        if isinstance(found, Mismatch):
            return _mismatched(found)
        if changes:
            return Outcome(False, changes[0].message, changes)
        if isinstance(found, Finding):
            return Outcome(False, found.message, [found])
        return Outcome(True, f"measured {found.speedup.median:.2f}x", timing=self._against_roofline(found))

    def _compiled_ms(
        self, gpu: Gpu, preset: measure.timing.Preset
    ) -> Callable[[nn.Module, list[list[object]]], float | None]:
        kept = self._settings.cache.with_name("baselines.jsonl") if self._settings.cache else None
        return lambda model, sets: baselines.compiled_ms(self._task, model, sets, gpu, preset, kept)

    def _against_roofline(self, found: Timing) -> Timing:
        """The measured times with the work they were needed for, and the share of the hardware's limit."""
        real = roofline.footprint(self._task)
        if real is None:
            return found
        launches = rows(self._seen, "launches")
        moved = sum(int(str(row.get(key, 0))) for row in launches for key in ("bytes_loaded", "bytes_stored"))
        floor = roofline.floor_seconds(real, self._target)
        return found.model_copy(
            update={
                "bytes_moved": moved or None,
                "flops": int(real.flops),
                "roofline_share": min(1.0, 1e3 * floor / found.candidate_ms) if found.candidate_ms else None,
            }
        )


def _largest(task: Task) -> int:
    """Elements of the largest input, found without allocating it."""
    try:
        drawn = TaskModule.of(task).inputs(0, "meta")
    except Exception:  # not every get_inputs runs on meta tensors
        return 0
    return max((t.numel() for t in observe.tensors(drawn)), default=0)


def _mismatched(mismatch: Mismatch) -> Outcome:
    return Outcome(False, f"{mismatch.variant}: {mismatch.output}: {mismatch.message}", mismatch=mismatch)


def _plural(count: int, word: str = "kernel") -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
