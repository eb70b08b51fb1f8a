"""The trusted side: draws the inputs, holds the truth, drives a runner through the stages, decides.

It runs the task's code, never the candidate's. What a runner answers is data of a fixed form.
"""

import copy
import functools
import importlib.util
import math
import os
import secrets
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError
from torch import nn

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import TaskError, TaskModule, forward
from tritonsmith.tasks.variants import Variant, adapt, map_tensors, variants
from tritonsmith.types import Candidate, Finding, Task, Verdict
from tritonsmith.verify import compile as compiler
from tritonsmith.verify import funnel, numerics, observe, policy, roofline, timing, wire
from tritonsmith.verify.funnel import Outcome
from tritonsmith.verify.sandbox import Limits
from tritonsmith.verify.zygote import Runner, Zygote, private_folder

_POLICY_RULES = {
    "size", "empty", "syntax", "no-modelnew", "no-forward", "no-kernel", "kernel-unreachable", "import", "builtin",
    "dunder", "frame", "getattr", "torch-attribute", "patch", "torch-compute", "never-launched", "decoy", "no-code",
    "module-value", "host-compute", "uncompiled",
}  # fmt: skip
_SPARE_BYTES = 1 << 20

# One candidate is timed at a time: two on one GPU would time each other.
_gpu = threading.Lock()


@dataclass(frozen=True)
class Prepared:
    """What is found out about a task once: the sizes it is tried at."""

    tiny: scaling.Scaled
    full: scaling.Scaled


class RunnerFailed(Exception):
    """The candidate did not answer; carries the finding for the verdict."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class Judge:
    """Judges candidates one at a time; several judges may share zygotes."""

    def __init__(
        self, settings: VerifyConfig, extensions: ExtensionsConfig, device: str, zygotes: Mapping[str, Zygote]
    ) -> None:
        self._settings, self._extensions, self._zygotes = settings, extensions, zygotes
        self._device = device
        self._prepared: dict[str, Prepared] = {}
        if device == "cuda":
            torch.backends.cudnn.allow_tf32 = False

    @property
    def timeout(self) -> float:
        """Seconds a candidate may take in all."""
        return self._settings.timeout or (30.0 if self._device == "cuda" else 60.0)

    def judge(self, task: Task, candidate: Candidate, began: float | None = None) -> Verdict:
        """Lead one candidate through the funnel.

        The candidate's time runs from its first runner, which waits for a warm zygote. `began`
        (time.monotonic seconds) says that the caller's clock runs already; at least a third of the
        time limit is the candidate's own even then.
        """
        start = time.monotonic()
        verdict = Verdict(
            task=task.id,
            sample=candidate.sample,
            device="cuda" if self._device == "cuda" else "cpu",
            target=self._settings.target,
            policy=self._settings.policy,
        )
        trial = _Trial(self, task, candidate.source or "", began)
        stages: list[funnel.Stage] = [
            ("ast", trial.ast),
            ("compile", trial.compile),
            ("tiny", trial.tiny),
            ("full", trial.full),
        ]
        if self._settings.timing:
            stages.append(("timing", trial.timing))
        try:
            funnel.run(stages, verdict, self._extensions.staged)
        finally:
            trial.close()
        verdict.valid = bool(verdict.stages and verdict.stages[0].ok) and not any(
            finding.rule in _POLICY_RULES for finding in verdict.findings
        )
        verdict.seconds = round(time.monotonic() - start, 4)
        return verdict

    def prepared(self, task: Task) -> Prepared:
        """The task's sizes, found once; raises TaskError where it has none the device can bear."""
        if task.source not in self._prepared:
            small = scaling.tiny(task)
            full = scaling.Scaled(task, None, "as given") if self._device == "cuda" else scaling.full(task)
            self._prepared[task.source] = Prepared(small, full)
        return self._prepared[task.source]


class _Trial:
    """One candidate on its way: the stages share runners and a deadline."""

    def __init__(self, judge: Judge, task: Task, source: str, began: float | None) -> None:
        self._judge, self._task, self._source, self._began = judge, task, source, began
        self._deadline: float | None = None
        self._settings, self._extensions = judge._settings, judge._extensions
        self._runners: dict[str, Runner] = {}
        self._weights = secrets.randbits(31)
        self._seen: dict[str, object] = {}
        self._compiled: set[str] | None = None

    # The stages.

    def ast(self) -> Outcome:
        if not self._source:
            return Outcome(False, "no code", [Finding(rule="no-code", message="there is no code")])
        findings = policy.check_source(self._source, self._settings.policy)
        return Outcome(not findings, findings[0].message if findings else "", findings)

    def compile(self) -> Outcome:
        try:
            prepared = self._judge.prepared(self._task)
            variant = Variant("as given", prepared.tiny.task)
            inputs, model = self._draw(variant, self._weights, "cpu")
            self._load("capture")
            self._build("capture", variant, model)
            seen, _ = self._ask("capture", {"do": "forward", "values": False}, inputs)
            findings = policy.check_run({**seen, "touched": True}, self._settings.policy)
            if findings:
                return Outcome(False, findings[0].message, findings)
            lowered, _ = self._ask("capture", {"do": "compile"})
            self._compiled = set(compiler.launch_counts(_rows(seen, "launches")))
            kernels, findings = compiler.assemble(
                _rows(lowered, "kernels"), self._settings.target, self._deadline or math.inf
            )
        except RunnerFailed as failure:
            return Outcome(False, failure.finding.message, [failure.finding])
        except wire.WireError as error:
            return Outcome(False, str(error), [Finding(rule="protocol", message=str(error))])
        except TaskError as error:
            return Outcome(False, str(error), [Finding(rule="task", message=str(error))])
        finally:
            self._end("capture")
        return Outcome(
            not findings, findings[0].message if findings else _plural(len(kernels)), findings, kernels=kernels
        )

    def tiny(self) -> Outcome:
        outcome = self._compare_on(lambda prepared: [Variant("as given", prepared.tiny.task)], lambda p: p.tiny.shapes)
        # At the same sizes a candidate runs what it showed to the compiler, or it knows where it is.
        ran = set(compiler.launch_counts(_rows(self._seen, "launches")))
        if outcome.ok and self._compiled is not None and not ran <= self._compiled:
            names = ", ".join(sorted(ran - self._compiled))
            message = f"forward launches {names} here, which it did not launch when it was compiled"
            return Outcome(False, message, [Finding(rule="uncompiled", message=message)])
        return outcome

    def full(self) -> Outcome:
        def wanted(prepared: Prepared) -> list[Variant]:
            return variants(
                prepared.full.task, self._extensions.multi_input, 2.0 if prepared.full.cap is None else 1.25
            )

        def sizes(prepared: Prepared) -> str:
            scaled = "" if prepared.full.cap is None else f" (scaled to {prepared.full.cap} for the interpreter)"
            return prepared.full.shapes + scaled

        return self._compare_on(wanted, sizes)

    def timing(self) -> Outcome:
        if self._judge._device == "cuda":
            return self._measure()
        try:
            prepared = self._judge.prepared(self._task)
        except TaskError as error:
            return Outcome(False, str(error), [Finding(rule="task", message=str(error))])
        small, real = roofline.footprint(prepared.full.task), roofline.footprint(self._task)
        if small is None or not self._seen:
            return Outcome(True, "no prediction: the reference does not run on tensors without data")
        launches, operators = _rows(self._seen, "launches"), self._seen.get("operators")
        found = roofline.predict(
            launches, operators if isinstance(operators, dict) else {}, small, real or small, self._settings.target
        )
        return Outcome(
            True, f"predicted {found.speedup.median:.2f}x by roofline for {self._settings.target}", timing=found
        )

    # Running the candidate.

    def _compare_on(self, wanted: Callable[[Prepared], list[Variant]], sizes: Callable[[Prepared], str]) -> Outcome:
        mode = "cuda" if self._judge._device == "cuda" else "interpret"
        ran = 0
        try:
            prepared = self._judge.prepared(self._task)
            for variant in wanted(prepared):
                outcome = self._one(variant, mode, first=ran == 0)
                if outcome is None:
                    continue
                if not outcome.ok:
                    self._end(mode)
                    return outcome
                ran += 1
        except RunnerFailed as failure:
            self._end(mode)
            return Outcome(False, failure.finding.message, [failure.finding])
        except TaskError as error:
            return Outcome(False, str(error), [Finding(rule="task", message=str(error))])
        return Outcome(True, f"{sizes(prepared)}; {_plural(ran, 'variant')}")

    def _one(self, variant: Variant, mode: str, first: bool) -> Outcome | None:
        """Try one variant; None if the reference does not run on it."""
        device = self._judge._device
        try:
            inputs, model = self._draw(variant, self._weights, device)
            truth = _truth(model, inputs)
        except Exception as error:  # the reference's own code fails on this variant, which then does not exist
            if first:
                raise TaskError(f"task {self._task.id}: the reference fails: {error}") from error
            return None
        if mode not in self._runners:
            self._load(mode)
        self._build(mode, variant, model)
        room = _SPARE_BYTES + 4 * sum(t.nbytes for t in observe.tensors(truth.native))
        seen, output = self._ask(mode, {"do": "forward"}, inputs, room)
        if variant.label == "as given":
            self._seen = seen
        if memory := _memory(seen):
            return Outcome(False, memory[0].message, memory)
        findings = policy.check_run(seen, self._settings.policy)
        if findings:
            return Outcome(False, findings[0].message, findings)
        mismatch = numerics.compare(truth, output, variant.label)
        if mismatch is not None:
            return Outcome(False, f"{mismatch.variant}: {mismatch.output}: {mismatch.message}", mismatch=mismatch)
        return Outcome(True)

    def _draw(self, variant: Variant, weights: int, device: str) -> tuple[list[object], nn.Module]:
        module = TaskModule.of(variant.task)
        inputs = adapt(module.inputs(secrets.randbits(31), device), variant)
        model = module.model(weights, device)
        if variant.dtype is not None:
            model = model.to(variant.dtype)
        return inputs, model

    def _load(self, mode: str) -> None:
        zygote = self._judge._zygotes[mode]
        zygote.wait_until_warm()
        if self._deadline is None:
            now, limit = time.monotonic(), self._judge.timeout
            self._deadline = max((self._began or now) + limit, now + limit / 3)
        folder = private_folder() if mode == "cuda" else None
        limits = _limits(self._settings, self._judge.timeout, folder)
        self._runners[mode] = zygote.start(limits, folder)
        self._ask(mode, {"do": "load", "mode": mode, "target": self._settings.target, "source": self._source})

    def _build(self, mode: str, variant: Variant, model: nn.Module) -> None:
        init = TaskModule.of(variant.task).init_inputs()
        dtype = str(variant.dtype).removeprefix("torch.") if variant.dtype else None
        header = {"do": "build", "seed": self._weights, "dtype": dtype}
        self._ask(mode, header, {"init": init, "state": dict(model.state_dict())})

    def _ask(
        self, mode: str, header: dict[str, object], tree: object = None, room: int = _SPARE_BYTES
    ) -> tuple[dict[str, object], wire.Tree]:
        runner = self._runners[mode]
        try:
            wire.send(runner.channel, header, tree, self._deadline or 0.0)  # type: ignore[arg-type]
            reply, result = wire.receive(runner.channel, self._deadline or 0.0, room)
        except wire.WireTimeout as error:
            raise RunnerFailed(
                Finding(rule="timeout", message=f"no answer within {self._judge.timeout:g} s")
            ) from error
        except wire.WireError as error:
            raise RunnerFailed(self._post_mortem(mode, str(error))) from error
        if (error := reply.get("error")) is not None:
            raise RunnerFailed(_finding(error))
        return reply, result

    def _post_mortem(self, mode: str, reason: str) -> Finding:
        status = self._judge._zygotes[mode].end(self._runners.pop(mode))
        if status == 0:
            return Finding(rule="exit", message="the candidate ended its process")
        if status < 0:
            if -status == signal.SIGKILL:
                return Finding(rule="protocol", message=reason)
            known = {int(number) for number in signal.Signals}
            name = signal.Signals(-status).name if -status in known else f"signal {-status}"
            return Finding(rule="crash", message=f"the candidate's process died of {name}")
        return Finding(rule="crash", message=f"the candidate's process ended with status {status}")

    def _end(self, mode: str) -> None:
        if (runner := self._runners.pop(mode, None)) is not None:
            self._judge._zygotes[mode].end(runner)

    def _measure(self) -> Outcome:
        preset = timing.CALIBRATED if self._extensions.calibrated else timing.SINGLE
        variant = Variant("as given", self._task)
        try:
            inputs, model = self._draw(variant, self._weights, "cuda")
            if "cuda" not in self._runners:
                self._load("cuda")
            self._build("cuda", variant, model)
            self._ask("cuda", {"do": "hold"}, inputs)
            waiting = time.monotonic()
            with _gpu, torch.no_grad():
                # Waiting for the GPU is not the candidate's time.
                self._deadline = (self._deadline or 0.0) + time.monotonic() - waiting
                reference = timing.measure(lambda: model(*inputs), preset)
                torch.cuda.synchronize()
                header = {"do": "time", "warmups": preset.warmups, "trials": preset.trials}
                reply, _ = self._ask("cuda", header)
        except RunnerFailed as failure:
            return Outcome(False, failure.finding.message, [failure.finding])
        times = reply.get("milliseconds")
        if (
            not isinstance(times, list)
            or len(times) != preset.trials
            or not all(isinstance(t, float) and t > 0 for t in times)
        ):
            return Outcome(False, "the runner gave no times", [Finding(rule="protocol", message="no times")])
        found = timing.compare(reference, times, preset)
        return Outcome(True, f"measured {found.speedup.median:.2f}x", timing=found)

    def close(self) -> None:
        for mode in list(self._runners):
            self._end(mode)


def _truth(model: nn.Module, inputs: list[object]) -> numerics.Truth:
    native = forward(model, inputs)
    double = copy.deepcopy(model).double()
    try:
        exact = forward(double, [map_tensors(item, _widen) for item in inputs])
    except Exception:  # a reference that insists on its dtype is its own truth
        exact = native
    return numerics.Truth(exact, native)


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def _limits(settings: VerifyConfig, timeout: float, folder: Path | None) -> Limits:
    gpu = folder is not None
    python = {sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), os.path.realpath(sys.executable)}
    libraries = {str(_package_folder(name).parent) for name in ("torch", "triton", "numpy", "safetensors")}
    libraries.add(str(_package_folder("tritonsmith")))
    system = {"/usr", "/lib", "/lib64", "/bin", "/etc", "/sys", "/dev/null", "/dev/urandom"}
    system |= {f"/proc/{name}" for name in ("self", "cpuinfo", "meminfo", "stat")}
    writable = ("/dev/null",)
    if gpu:
        system |= {"/proc", "/dev"}
        writable = ("/dev", "/proc/self", str(folder))
    return Limits(
        cpu_seconds=int(timeout) + 5,
        memory_bytes=None if gpu else settings.memory_mb << 20,
        file_bytes=(256 << 20) if gpu else (1 << 20),
        readable=tuple(sorted(python | system | libraries)),
        writable=writable,
        processes=gpu,
    )


@functools.cache
def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{name} is not installed")
    return Path(spec.origin).resolve().parent


def _finding(error: object) -> Finding:
    row = error if isinstance(error, dict) else {}
    kind, line = str(row.get("kind", "error")), row.get("line")
    memory = kind in ("MemoryError", "OutOfMemoryError") or "DefaultCPUAllocator" in str(row.get("message"))
    rule = "memory" if memory else "exception"
    text = f"{kind}: {row.get('message', '')}".strip()[:2000]
    return Finding(rule=rule, message=text, line=line if isinstance(line, int) else None)


def _memory(seen: dict[str, object]) -> list[Finding]:
    try:
        return [Finding.model_validate(row) for row in _rows(seen, "memory")]
    except ValidationError:
        return [Finding(rule="protocol", message="the runner's answer has no known form")]


def _rows(reply: dict[str, object], key: str) -> list[dict[str, object]]:
    rows = reply.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _plural(count: int, word: str = "kernel") -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
