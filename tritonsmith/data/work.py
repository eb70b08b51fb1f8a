"""What a build's worker processes do: draw tasks, ask the sources, judge. Each call gets and gives plain data.

Two kinds of workers, so that a source that crashes or hangs takes no warm verifier with it: see `workers`.
"""

import logging
import os
import random
import time
from multiprocessing import parent_process
from multiprocessing.util import Finalize
from threading import Thread

import torch
from torch._inductor import config as inductor

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data import mutate
from tritonsmith.data.draw import Drawing
from tritonsmith.data.pair import Miss
from tritonsmith.data.sources import source
from tritonsmith.data.store import Answer, Item, Survey
from tritonsmith.data.survey import survey
from tritonsmith.tasks.format import one_line
from tritonsmith.types import Candidate, Task
from tritonsmith.verify import form
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import scratch

log = logging.getLogger(__name__)

_verifier: Verifier | None = None
"""A judging worker's own: judges in many threads of one process would wait for its interpreter lock."""


def start() -> None:
    """Make a fresh process one that works on one core, and ends with the process that wants its work."""
    _on_one_core()
    Thread(target=_follow, name="follow", daemon=True).start()


def _on_one_core() -> None:
    torch.set_num_threads(1)
    inductor.compile_threads = 1  # else a pool of compilers in each process


def _follow() -> None:
    """End this process with its parent, in whatever it is at: half a minute of drafts, for one, that nobody keeps."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def start_judge(settings: VerifyConfig, extensions: ExtensionsConfig) -> None:
    """Make a fresh process one that judges."""
    global _verifier
    _on_one_core()
    # Answers of our own making do otherwise at no size: they need not be shown to do.
    settings = settings.model_copy(update={"workers": 1, "own_values": False})
    _verifier = Verifier(settings, extensions=extensions)
    Finalize(None, _end, exitpriority=10)


def _end() -> None:
    """End the verifier, in whatever it may have been interrupted: pebble ends a worker from a signal's handler."""
    if _verifier is not None:
        _verifier.kill()
    scratch.remove()


def draw(drawing: Drawing, number: int) -> list[Item] | None:
    """A chunk of tasks."""
    return drawing.chunk(number)


def convert(task: Task, names: list[str]) -> tuple[Survey, list[Answer]]:
    """What is known of a task, and what each source of answers gives for it."""
    return survey(task), [_ask(name, task) for name in names]


def judge(task: Task, answers: list[Answer], contrastive: bool, seed: str) -> list[Answer]:
    """The answers with their verdicts; with `contrastive`, behind them a planted bug for each right one."""
    told = [_judged(task, answer) for answer in answers]
    if not contrastive:
        return told
    rng = random.Random(seed)
    right = [answer for answer in told if answer.verdict is not None and answer.verdict.correct]
    planted = [bug for answer in right if (bug := _with_bug(answer, rng)) is not None]
    return told + [_judged(task, bug) for bug in planted]


def _with_bug(answer: Answer, rng: random.Random) -> Answer | None:
    bug = mutate.mutate(answer.code, rng)
    if bug is None:
        return None
    program = form.program(bug.source)
    changed = {"code": bug.source, "program": program, "planted": bug.kind, "right": answer.code, "verdict": None}
    return answer.model_copy(update=changed)


def _ask(name: str, task: Task) -> Answer:
    began = time.perf_counter()
    try:
        given = source(name)(task)
    except Exception as error:  # a source's own fault: the other tasks go on, and the report counts it
        log.debug("%s fails on %s", name, task.id, exc_info=True)
        return Answer(source=name, kind="failed", reason=one_line(error)[:200], seconds=_since(began))
    if isinstance(given, Miss):
        return Answer(source=name, kind="miss", reason=given.reason, seconds=_since(began))
    return Answer(
        source=name,
        kind="candidate",
        plan=given.plan,
        code=given.source,
        program=form.program(given.source),
        seconds=_since(began),
    )


def _judged(task: Task, answer: Answer) -> Answer:
    if answer.kind != "candidate":
        return answer
    if _verifier is None:
        raise RuntimeError("only a worker that was started by `start_judge` has a verifier")
    try:
        verdict = _verifier.verify(task, Candidate(task=task.id, source=answer.code))
    except Exception as error:  # the verifier's own fault: likewise
        log.warning("the verifier fails on %s: %s", task.id, one_line(error))
        return answer.model_copy(update={"kind": "failed", "reason": f"verifier: {one_line(error)[:200]}"})
    return answer.model_copy(update={"verdict": verdict})


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 4)
