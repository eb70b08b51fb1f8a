"""The trusted side: leads a candidate through the stages and decides.

It runs the task's code, never the candidate's. What a runner answers is data of a fixed form. The stages themselves
are in `trial`, the talk with a runner in `conversation`.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch

from tritonsmith.config import ConfigError, ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.format import TaskError
from tritonsmith.types import STAGES, Candidate, Finding, Task, Verdict
from tritonsmith.verify import funnel
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.process import compilers, sanitizer
from tritonsmith.verify.process.compilers import Compilers
from tritonsmith.verify.process.gpu import Gpu, Part, Use
from tritonsmith.verify.process.idle import Idle
from tritonsmith.verify.process.limits import compiler_limits, runner_limits
from tritonsmith.verify.process.sanitizer import Sanitizer
from tritonsmith.verify.process.stable import MOST, Stable
from tritonsmith.verify.process.zygote import Zygote
from tritonsmith.verify.reference.material import Supply
from tritonsmith.verify.sandbox import Limits
from tritonsmith.verify.sizing import Sizing
from tritonsmith.verify.trial import Trial
from tritonsmith.verify.upkeep import is_clean

_POLICY_RULES = {
    "size", "empty", "syntax", "no-modelnew", "no-forward", "no-kernel", "kernel-unreachable", "import", "builtin",
    "dunder", "frame", "getattr", "torch-attribute", "patch", "torch-compute", "never-launched", "decoy", "no-code",
    "module-value", "host-compute", "uncompiled", "argument", "integrity", "clock", "alias", "mutation", "replay",
}  # fmt: skip


_KEPT, _KEPT_SHARE = 128 << 20, 0.03
"""Memory for what candidates are tried on, kept for the next ones: bytes on the CPU, a share of a GPU's."""


class Judge:
    """Judges candidates on one device, one at a time a thread; several judges may share zygotes."""

    def __init__(
        self,
        settings: VerifyConfig,
        extensions: ExtensionsConfig,
        device: str,
        zygotes: Mapping[str, Zygote],
        gpu: int = 0,
        part: Part | None = None,
    ) -> None:
        """`gpu`: its number in this process; `part`: what is this process's of it, where others judge there too."""
        self._settings, self._extensions, self._zygotes = settings, extensions, zygotes
        self._device = device
        self._sizing = Sizing(zygotes["capture"], settings, whole=device == "cuda")
        self.gpu: Gpu | None = None
        self._stable: Stable | None = None
        self._idle = Idle(zygotes) if device != "cuda" and settings.isolation == "pooled" else None
        self._compilers: Compilers | None = None
        self._sanitizer: Sanitizer | None = None
        self.target = settings.target
        budget = _KEPT
        if device == "cuda":
            torch.backends.cudnn.allow_tf32 = False
            self.gpu = Gpu(gpu, part)
            pooled = settings.isolation == "pooled"
            self._stable = Stable(
                zygotes["cuda"],
                lambda folder: runner_limits(settings, self.timeout, folder, MOST if pooled else 1),
                gpu,
                pooled,
                settings.spare,
                self.gpu.changing,
            )
            self.target = "sm_{}{}".format(*torch.cuda.get_device_capability(gpu))
            budget = int(_KEPT_SHARE * self.gpu.memory / self.gpu.part.judges)
            self._sanitizer = self._sanitize(gpu)
            if settings.compilers:
                self._compilers = self._compiling(self.gpu.part.gates / "kernels")
        self._supply = Supply(device == "cuda", budget)

    @property
    def timeout(self) -> float:
        """Seconds a candidate may take in all."""
        return self._settings.seconds(self._device == "cuda")

    @property
    def use(self) -> Use:
        """How its GPU was used so far, and its compilers."""
        asked = self._compilers
        used = Use() if asked is None else Use(kernels=asked.kernels, known=asked.known)
        return used + self.gpu.use if self.gpu is not None else used

    def judge(self, task: Task, candidate: Candidate, began: float | None = None) -> Verdict:
        """Lead one candidate through the funnel.

        The candidate's time runs from its first runner, which waits for a warm zygote. `began`
        (time.monotonic seconds) says that the caller's clock runs already; at least a third of the
        time limit is the candidate's own even then.
        """
        if self.gpu is None:
            return self._judge(task, candidate, began)[0]
        # A stream of its own: on the default one, candidates that are judged side by side would wait for each other.
        gpu = self.gpu.index
        with torch.cuda.device(gpu), _stream(gpu) as stream, torch.cuda.stream(stream):
            verdict, wanting = self._judge(task, candidate, began)
            if wanting:
                # What others took says nothing of this one.
                torch.cuda.empty_cache()
                with self.gpu.room(self.gpu.memory):
                    self.gpu.wait_until_free()
                    verdict, wanting = self._judge(task, candidate, None)
                    if wanting:  # beside the reference in float64 there is no room for what is judged
                        torch.cuda.empty_cache()
                        verdict, _ = self._judge(task, candidate, None, wide=False)
            return verdict

    def _judge(self, task: Task, candidate: Candidate, began: float | None, wide: bool = True) -> tuple[Verdict, bool]:
        """The verdict, and whether it stands on memory that was wanting for no fault of the candidate's.

        Not `wide`: the reference is its own truth, which takes a third of the memory.
        """
        start = time.monotonic()
        verdict = Verdict(
            task=task.id,
            sample=candidate.sample,
            device="cuda" if self._device == "cuda" else "cpu",
            target=self.target,
            policy=self._settings.policy,
        )
        talk = self.conversation(began)
        trial = Trial(
            self._settings,
            self._extensions,
            task,
            candidate.source or "",
            lambda: self._sizing.of(task),
            talk,
            self._supply,
            self.gpu,
            self.target,
            self._sanitizer,
            wide,
        )
        stages: list[funnel.Stage] = [
            ("ast", trial.ast),
            ("compile", trial.compile),
            ("tiny", trial.tiny),
            ("full", trial.full),
        ]
        if self._settings.timing:
            stages.append(("timing", trial.timing))
        stages = [stage for stage in stages if STAGES.index(stage[0]) <= STAGES.index(self._settings.until)]
        clean = False
        try:
            funnel.run(stages, verdict, self._extensions.staged)
            clean = is_clean(verdict.findings)
        except TaskError as error:
            verdict.findings.append(Finding(rule="task", message=str(error)))
        except torch.OutOfMemoryError as error:
            # The judge's own: others on the GPU have taken what this task needs.
            talk.wanting = True
            message = f"the GPU has no memory left for the reference: {str(error).splitlines()[0]}"
            verdict.findings.append(Finding(rule="memory", message=message))
        finally:
            trial.close()
            talk.close(clean)
            if self.gpu is not None:
                self.gpu.tidy()
        verdict.valid = bool(verdict.stages and verdict.stages[0].ok) and not any(
            finding.rule in _POLICY_RULES for finding in verdict.findings
        )
        verdict.triton_share = trial.triton_share() if verdict.correct else None
        verdict.seconds = round(time.monotonic() - start, 4)
        return verdict, talk.wanting

    def conversation(self, began: float | None = None) -> Conversation:
        """The talk with one candidate's runners; whoever starts it closes it."""
        scarce = self.gpu.scarce if self.gpu is not None else lambda: False
        return Conversation(
            self._settings,
            self.timeout,
            self._zygotes,
            self._stable,
            began,
            scarce,
            self._idle,
            self._compilers,
        )

    def _sanitize(self, gpu: int) -> Sanitizer | None:
        """The tools that the settings ask for; raises ConfigError where they are not installed."""
        if not self._settings.sanitizer:
            return None
        program = sanitizer.find()
        if program is None:
            raise ConfigError("verify.sanitizer is set, but compute-sanitizer is neither on PATH nor below CUDA_HOME")
        return Sanitizer(
            program,
            tuple(self._settings.sanitizer),
            self._zygotes["cuda"],
            lambda folder: runner_limits(self._settings, sanitizer.SECONDS, folder),
            gpu,
        )

    def _compiling(self, kept: Path) -> Compilers:
        """What compiles for this judge's runners, and keeps it in a folder."""

        def limits(folder: Path) -> Limits:
            return compiler_limits(self._settings, self.timeout, folder, compilers.MOST)

        return Compilers(self._zygotes["capture"], limits, kept, int(self.target.removeprefix("sm_")))

    def close(self) -> None:
        """End the runners that wait for candidates, and those that wait for questions on tasks, or for kernels."""
        self._sizing.close()
        if self._compilers is not None:
            self._compilers.close()
        if self._stable is not None:
            self._stable.close()
        if self._idle is not None:
            self._idle.close()


_streams: dict[int, list[torch.cuda.Stream]] = defaultdict(list)
"""Those that no thread has, by GPU. Torch has 32, which it gives out in turns: of two threads with the same one, each
would wait for the other's work, and record it."""


@contextmanager
def _stream(gpu: int) -> Iterator[torch.cuda.Stream]:
    """A stream on a GPU that no other thread has."""
    free = _streams[gpu]
    try:
        stream = free.pop()
    except IndexError:
        stream = torch.cuda.Stream(gpu)
    try:
        yield stream
    finally:
        free.append(stream)
