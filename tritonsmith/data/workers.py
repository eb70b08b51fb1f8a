"""The processes of a build: some that draw and convert, as many that judge, and a time limit for each thing they do.

A process that crashes or hangs costs what it was at and is replaced (pebble's ProcessPool). They are forked from a
server that has torch already; a program that calls this needs a main guard, as with all of multiprocessing.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

from pebble import ProcessPool

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data import work
from tritonsmith.data.draw import Drawing
from tritonsmith.data.store import Answer, Item, Survey
from tritonsmith.types import Task
from tritonsmith.verify.pool import choose_device

DRAW_SECONDS = 300.0
"""Time limit for a chunk of tasks; generators draw some ten a second."""
CONVERT_SECONDS = 90.0
"""Time limit a source and task."""
SPARE_SECONDS = 60.0
"""What judging may take beyond the verifier's own limit a candidate: a verifier's start, a task's sizes."""
PRELOADED = [
    "tritonsmith.data.build",  # with what a caller's main module imports, which each process imports again
    "torch._dynamo",
    "torch.fx.experimental.proxy_tensor",
    "torch._inductor.graph",
    "torch._inductor.codegen.triton",
]
"""What processes are forked with: seconds of imports that each, and each one's successor, would spend anew."""
RENEWAL = 1000
"""Tasks after which a converting process is replaced: compilers keep what they have seen."""


@dataclass(frozen=True)
class Workers:
    """Two pools; every method gives a future, whose exception says what became of the process."""

    converters: ProcessPool
    judges: ProcessPool
    convert_seconds: float
    judge_seconds: float
    contrastive: bool

    def draw(self, drawing: Drawing, number: int) -> "Future[list[Item] | None]":
        """A chunk of tasks."""
        return self.converters.schedule(work.draw, (drawing, number), timeout=DRAW_SECONDS)

    def convert(self, task: Task, sources: list[str]) -> "Future[tuple[Survey, list[Answer]]]":
        """A survey of a task and the answers of all sources."""
        return self.converters.schedule(work.convert, (task, sources), timeout=self.convert_seconds * len(sources))

    def judge(self, item: Item, answers: list[Answer]) -> "Future[list[Answer]]":
        """The answers with their verdicts, and planted bugs."""
        candidates = sum(answer.kind == "candidate" for answer in answers) * (2 if self.contrastive else 1)
        seconds = SPARE_SECONDS + self.judge_seconds * candidates
        return self.judges.schedule(work.judge, (item.task, answers, self.contrastive, item.key), timeout=seconds)


@contextmanager
def workers(
    count: int,
    settings: VerifyConfig,
    extensions: ExtensionsConfig,
    contrastive: bool = False,
    convert_seconds: float = CONVERT_SECONDS,
) -> Iterator[Workers]:
    """Start `count` processes of each kind; at the end, or at an exception, all of them are ended."""
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    converters = ProcessPool(count, RENEWAL, work.start, context=context)
    # A GPU's context does not survive a fork, and what is preloaded above may have made one.
    apart = get_context("spawn") if choose_device(settings.device) == "cuda" else context
    judges = ProcessPool(count, 0, work.start_judge, (settings, extensions), context=apart)
    try:
        yield Workers(converters, judges, convert_seconds, settings.seconds(), contrastive)
    except BaseException:
        converters.stop()
        judges.stop()
        raise
    else:
        converters.close()
        judges.close()
    finally:
        converters.join()
        judges.join()
