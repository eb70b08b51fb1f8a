"""Many candidates at once: a zygote, a judge, and a thread for each candidate under way.

Threads suffice: a judge waits for its runner, for ptxas, or for torch, all of which let others run.
Equal sources for one task are judged once.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType

import torch

from tritonsmith.config import ConfigError, ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.compile import parse_target
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.zygote import Zygote

Job = tuple[Task, Candidate]


class Verifier:
    """Judges candidates; use it as a context manager, or call `close`.

    `score` turns a verdict into its `reward` field, which stays 0 without it.
    """

    def __init__(
        self,
        settings: VerifyConfig,
        *,
        extensions: ExtensionsConfig | None = None,
        score: Callable[[Verdict], float] | None = None,
    ) -> None:
        try:
            parse_target(settings.target)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        self.device = choose_device(settings.device)
        self.workers = settings.workers or os.cpu_count() or 1
        self._score = score
        compiling = Zygote(interpret=False)
        self._zygotes = {"capture": compiling, "cuda": compiling}
        if self.device == "cpu":
            self._zygotes["interpret"] = Zygote(interpret=True)
        self._judge = Judge(settings, extensions or ExtensionsConfig(), self.device, self._zygotes)

    def verify(self, task: Task, candidate: Candidate, began: float | None = None) -> Verdict:
        """Judge one candidate; `began` (time.monotonic seconds) counts against its time limit."""
        verdict = self._judge.judge(task, candidate, began)
        if self._score is not None:
            verdict.reward = self._score(verdict)
        return verdict

    def verify_many(
        self, jobs: Sequence[Job], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """Judge candidates side by side; `on_verdict(index, verdict)` is called in this thread as each ends."""
        groups: dict[tuple[str, str | None], list[int]] = {}
        for index, (task, candidate) in enumerate(jobs):
            groups.setdefault((task.source, candidate.source), []).append(index)
        verdicts: dict[int, Verdict] = {}
        with ThreadPoolExecutor(self.workers) as threads:
            waiting: dict[Future[Verdict], list[int]] = {
                threads.submit(self.verify, *jobs[indices[0]]): indices for indices in groups.values()
            }
            try:
                while waiting:
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        for index in waiting.pop(future):
                            task, candidate = jobs[index]
                            verdicts[index] = future.result().model_copy(
                                update={"task": task.id, "sample": candidate.sample}, deep=True
                            )
                            if on_verdict is not None:
                                on_verdict(index, verdicts[index])
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                raise
        return [verdicts[index] for index in range(len(jobs))]

    def close(self) -> None:
        """End the zygotes and every runner."""
        for zygote in set(self._zygotes.values()):
            zygote.close()

    def __enter__(self) -> "Verifier":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def choose_device(wanted: str) -> str:
    """`auto` is `cuda` where there is a GPU; raises ConfigError if `cuda` is asked for without one."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise ConfigError("verify.device=cuda, but torch sees no CUDA device; use --device cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
