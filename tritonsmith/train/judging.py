"""Candidates judged in the background: they go to the verifier as they are drawn, while sampling or training goes on.

One thread a batch, which only waits: the work is the verifier's. Batches are judged in the order in which they began.
What is drawn, and what verdicts are worth, is for the caller.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType

from tritonsmith.config import VerifyConfig
from tritonsmith.evaluate import Judge
from tritonsmith.types import Candidate, Task, Verdict

log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Times `verify.timeout` without a verdict after which a batch is given up: a candidate may take eight, where others
take the processors."""


class _Stopped(Exception):
    """Ends the verifier's stream from within."""


class Judging:
    """One batch: `submit` candidates, `close` it, then ask for its `verdicts`."""

    def __init__(
        self,
        judge: Judge,
        workers: int,
        before: "Judging | None" = None,
        on_verdict: Callable[[int, Verdict], None] | None = None,
        timeout: float = VerifyConfig().seconds(),
    ) -> None:
        """Begin. Of a batch `before` that is still being judged, only what it leaves idle of `workers` is taken.

        `on_verdict` gets a candidate's number and its verdict, in another thread. `timeout` is the verifier's, in
        seconds.
        """
        self._patience = PATIENCE * timeout
        self._judge, self._workers, self._before, self._on_verdict = judge, workers, before, on_verdict
        self._jobs: deque[tuple[Task, Candidate]] = deque()
        self._verdicts: dict[int, Verdict] = {}
        self._submitted = self._taken = 0
        self._closed = self._stopped = self._done = False
        self._error: Exception | None = None
        self._began = self._ended = 0.0
        # Shared along the line: a batch waits for what is left of the one before.
        self._change: threading.Condition = before._change if before is not None else threading.Condition()
        self._thread = threading.Thread(target=self._run, name="tritonsmith-judging", daemon=True)
        self._thread.start()

    def submit(self, task: Task, candidate: Candidate) -> int:
        """Hand in a candidate; gives its number in the batch."""
        with self._change:
            self._began = self._began or time.monotonic()
            self._jobs.append((task, candidate))
            self._submitted += 1
            self._change.notify_all()
            return self._submitted - 1

    def close(self) -> None:
        """Say that nothing more is handed in."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def verdicts(self, needed: bool = True) -> list[Verdict | None]:
        """Wait for the verdicts, in the order of `submit`; None where the verifier failed, with a line in the log.

        Waits for the next one no longer than `PATIENCE` says. Where one is `needed` and there is none at all, raises
        what the verifier raised, or TimeoutError.
        """
        with self._change:
            known, heard = len(self._verdicts), time.monotonic()
            while not self._done and time.monotonic() - heard < self._patience:
                self._change.wait(1.0)
                if len(self._verdicts) > known:
                    known, heard = len(self._verdicts), time.monotonic()
            failed = self._submitted - len(self._verdicts)
            self._stopped = True
            self._change.notify_all()
            if needed and failed and not self._verdicts:
                raise self._error or TimeoutError(f"no verdict on any of {failed} candidates in {self._patience:.0f} s")
            if failed:
                log.error("%d of %d candidates were not judged: %r", failed, self._submitted, self._error)
            return [self._verdicts.get(number) for number in range(self._submitted)]

    @property
    def seconds(self) -> float:
        """To the last verdict, from the first candidate handed in or, where that is later, the end of the batch before.

        Seconds of batches in a line never overlap.
        """
        return max(self._ended - self._began, 0.0) if self._submitted else 0.0

    def __enter__(self) -> "Judging":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Give the batch up; the verifier ends what is under way."""
        with self._change:
            self._stopped = True
            self._change.notify_all()
        self._thread.join(timeout=10.0)

    def _run(self) -> None:
        try:
            self._judge.verify_many(self._feed(), self._settle)
        except _Stopped:
            pass
        except Exception as error:  # carried to whoever waits for the verdicts
            self._error = error
        finally:
            with self._change:
                self._forget_before()
                self._done = True
                self._change.notify_all()

    def _settle(self, number: int, verdict: Verdict) -> None:
        if self._on_verdict is not None:
            self._on_verdict(number, verdict)
        with self._change:
            self._verdicts[number] = verdict
            self._ended = time.monotonic()
            self._change.notify_all()

    def _feed(self) -> Iterator[tuple[Task, Candidate]]:
        while True:
            with self._change:
                while not (self._stopped or self._ready()):
                    self._change.wait()
                if self._stopped:
                    raise _Stopped
                if not self._jobs:
                    return
                self._taken += 1
                job = self._jobs.popleft()
            yield job

    def _ready(self) -> bool:
        """Whether the next job may be taken, or there will be none."""
        if not self._jobs:
            return self._closed
        if self._before is None or self._before._finished():
            self._forget_before()
            return True
        return self._taken - len(self._verdicts) + self._before._left() < self._workers

    def _forget_before(self) -> None:
        if self._before is not None:
            self._began = max(self._began, self._before._ended)
            self._before = None

    def _finished(self) -> bool:
        return self._done or self._stopped

    def _left(self) -> int:
        return self._submitted - len(self._verdicts)
