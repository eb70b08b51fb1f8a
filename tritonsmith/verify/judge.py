"""The trusted side: leads a candidate through the stages and decides.

It runs the task's code, never the candidate's. What a runner answers is data of a fixed form. The stages themselves
are in `trial`, the talk with a runner in `conversation`.
"""

import threading
import time
from collections.abc import Mapping

import torch

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate, Finding, Task, Verdict
from tritonsmith.verify import funnel
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.gpu import Gpu
from tritonsmith.verify.limits import runner_limits
from tritonsmith.verify.sizing import Sizing
from tritonsmith.verify.stable import MOST, Stable
from tritonsmith.verify.trial import UNCLEAN, Trial
from tritonsmith.verify.zygote import Zygote

_POLICY_RULES = {
    "size", "empty", "syntax", "no-modelnew", "no-forward", "no-kernel", "kernel-unreachable", "import", "builtin",
    "dunder", "frame", "getattr", "torch-attribute", "patch", "torch-compute", "never-launched", "decoy", "no-code",
    "module-value", "host-compute", "uncompiled", "argument", "integrity", "clock", "alias", "mutation", "replay",
}  # fmt: skip


class Judge:
    """Judges candidates on one device, one at a time a thread; several judges may share zygotes."""

    def __init__(
        self,
        settings: VerifyConfig,
        extensions: ExtensionsConfig,
        device: str,
        zygotes: Mapping[str, Zygote],
        gpu: int = 0,
    ) -> None:
        self._settings, self._extensions, self._zygotes = settings, extensions, zygotes
        self._device = device
        self._sizing = Sizing(zygotes["capture"], settings, whole=device == "cuda")
        self.gpu: Gpu | None = None
        self._stable: Stable | None = None
        self.target = settings.target
        if device == "cuda":
            torch.backends.cudnn.allow_tf32 = False
            self.gpu = Gpu(gpu)
            pooled = settings.isolation == "pooled"
            self._stable = Stable(
                zygotes["cuda"],
                lambda folder: runner_limits(settings, self.timeout, folder, MOST if pooled else 1),
                gpu,
                pooled,
                settings.spare,
            )
            self.target = "sm_{}{}".format(*torch.cuda.get_device_capability(gpu))

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
        if self.gpu is None:
            return self._judge(task, candidate, began)
        # A stream of its own: on the default one, candidates that are judged side by side would wait for each other.
        with torch.cuda.device(self.gpu.index), torch.cuda.stream(_stream(self.gpu.index)):
            return self._judge(task, candidate, began)

    def _judge(self, task: Task, candidate: Candidate, began: float | None) -> Verdict:
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
            self.gpu,
            self.target,
        )
        stages: list[funnel.Stage] = [
            ("ast", trial.ast),
            ("compile", trial.compile),
            ("tiny", trial.tiny),
            ("full", trial.full),
        ]
        if self._settings.timing:
            stages.append(("timing", trial.timing))
        clean = False
        try:
            funnel.run(stages, verdict, self._extensions.staged)
            clean = not any(finding.rule in UNCLEAN for finding in verdict.findings)
        except torch.OutOfMemoryError as error:
            # The judge's own: others on the GPU have taken what this task needs. It says nothing of the candidate.
            message = f"the GPU has no memory left for the reference: {str(error).splitlines()[0]}"
            verdict.findings.append(Finding(rule="memory", message=message))
        finally:
            talk.close(clean)
        verdict.valid = bool(verdict.stages and verdict.stages[0].ok) and not any(
            finding.rule in _POLICY_RULES for finding in verdict.findings
        )
        verdict.triton_share = trial.triton_share() if verdict.correct else None
        verdict.seconds = round(time.monotonic() - start, 4)
        return verdict

    def conversation(self, began: float | None = None) -> Conversation:
        """The talk with one candidate's runners; whoever starts it closes it."""
        return Conversation(self._settings, self.timeout, self._zygotes, self._stable, began)

    def close(self) -> None:
        """End the runners that wait for candidates."""
        if self._stable is not None:
            self._stable.close()


_streams = threading.local()


def _stream(gpu: int) -> torch.cuda.Stream:
    """This thread's stream on a GPU."""
    known: dict[int, torch.cuda.Stream] = _streams.__dict__.setdefault("by_gpu", {})
    if gpu not in known:
        known[gpu] = torch.cuda.Stream(gpu)
    return known[gpu]
