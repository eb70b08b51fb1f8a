"""Progress of long work: a bar on a terminal, a plain log line now and then elsewhere.

Training has the trainer's own bar; this is for drawing and judging.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tritonsmith.types import Candidate, Task, Verdict

log = logging.getLogger(__name__)

QUIET = 10.0
"""Seconds between two plain lines."""


@contextmanager
def bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show how far work of `total` items (None: nobody knows) is; call what is yielded with the number just done."""
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(),
        )  # fmt: skip
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task(label, total=total)
            yield lambda count: progress.advance(task, count)
        return
    done, last = 0, time.monotonic()

    def advance(count: int) -> None:
        nonlocal done, last
        done += count
        if time.monotonic() - last >= QUIET and done != total:
            last = time.monotonic()
            log.info("%s: %d of %s", label, done, total or "?")

    yield advance


class _Judge(Protocol):
    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]: ...


class Watched:
    """A verifier whose `verify_many` shows its progress."""

    def __init__(self, judge: _Judge) -> None:
        self.judge = judge

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """Judge all jobs as the verifier inside does."""
        with bar("judging", len(jobs) if isinstance(jobs, Sized) else None) as advance:

            def ended(index: int, verdict: Verdict) -> None:
                advance(1)
                if on_verdict is not None:
                    on_verdict(index, verdict)

            return self.judge.verify_many(jobs, ended)
