"""A task's sizes are found in a sandboxed process of its own, once, and in bounded time."""

import os
import signal
import threading
import time

import pytest
from judging import DOUBLE, SUITE

from tritonsmith.config import VerifyConfig
from tritonsmith.tasks import dry, rescaling, scaling
from tritonsmith.tasks.format import TaskError
from tritonsmith.types import Task
from tritonsmith.verify import sizing as sizing_module
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.sizing import Sizing


def _sizing(verifier: Verifier, whole: bool = False, limit: float = 30.0) -> Sizing:
    return Sizing(verifier._zygotes["capture"], VerifyConfig(device="cpu"), whole, limit)


def _task(forward: str) -> Task:
    return DOUBLE.model_copy(update={"source": DOUBLE.source.replace("return 2.0 * x", forward)})


HANGS = _task("while True: x = x + 1")


@pytest.mark.parametrize("id", ["level1/relu", "level2/gemm_bias_relu"])
def test_finds_what_scaling_finds(verifier: Verifier, id: str) -> None:
    found = _sizing(verifier).of(SUITE[id])
    assert found.tiny == scaling.tiny(SUITE[id]) and found.full == scaling.full(SUITE[id])
    assert found.large().hardening == frozenset()


def test_whole_keeps_the_task_as_it_is(verifier: Verifier) -> None:
    found = _sizing(verifier, whole=True).of(SUITE["level1/relu"])
    assert found.full.task == SUITE["level1/relu"] and found.full.cap is None


def test_a_task_that_is_tried_as_it_is_has_a_size_with_a_rest_too(verifier: Verifier) -> None:
    (rest,) = _sizing(verifier, whole=True).of(SUITE["level1/softmax"]).large().rest
    longest, own = max(rescaling.sizes(rest.task)), max(rescaling.sizes(SUITE["level1/softmax"]))
    assert longest % 2 == 1 and 0.7 < longest / own < 0.8


def test_tells_the_judge_whether_the_reference_runs_without_data(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = _task("return x * float(x.max() > 0.0)")
    for task in (_task("return 2.5 * x"), looks):
        _sizing(verifier).of(task)
    monkeypatch.setattr(dry, "_runs_without_data", lambda source: pytest.fail("it is known"))
    assert dry.runs_without_data(_task("return 2.5 * x")) and not dry.runs_without_data(looks)


def test_says_what_hardens_a_task(verifier: Verifier) -> None:
    task = _task("return torch.clamp(x, min=-9.0)")
    assert _sizing(verifier).of(task).large().hardening == {"large values"}


@pytest.mark.parametrize(
    ("task", "word"),
    [
        (HANGS, "does not end within 1 s"),
        (_task("__import__('os')._exit(0)"), "ended the process"),
        (_task("return x.nothing()"), "cannot be scaled"),
        (_task("return torch.zeros(1 << 50) + x.sum()"), "cannot be scaled"),
        (DOUBLE.model_copy(update={"source": "def broken(:"}), "does not parse"),
    ],
)
def test_a_bad_task_is_one_line(verifier: Verifier, task: Task, word: str) -> None:
    sizing = _sizing(verifier, limit=1.0)
    verifier._zygotes["capture"].wait_until_warm()
    start = time.monotonic()
    with pytest.raises(TaskError, match=word) as raised:
        sizing.of(task)
    assert len(str(raised.value).splitlines()) == 1 and time.monotonic() - start < 5


def test_a_task_that_does_not_end_is_tried_once_more(verifier: Verifier) -> None:
    """The machine may have been busy: one such overrun made all later candidates of a task fail."""
    sizing, seconds = _sizing(verifier, limit=1.0), []
    for _ in range(3):
        start = time.monotonic()
        with pytest.raises(TaskError, match="does not end"):
            sizing.of(HANGS)
        seconds.append(time.monotonic() - start)
    assert min(seconds[:2]) >= 1.0 and seconds[2] < 0.7


def test_a_task_that_hangs_holds_up_no_other(verifier: Verifier) -> None:
    sizing = _sizing(verifier, limit=20.0)
    sizing.of(DOUBLE)

    def hang() -> None:
        with pytest.raises(TaskError):
            sizing.of(HANGS)

    sizing._limit = 4.0
    waiting = threading.Thread(target=hang)
    waiting.start()
    time.sleep(0.2)
    sizing.of(SUITE["level1/relu"])
    assert waiting.is_alive()
    waiting.join()


def test_finds_the_larger_sizes_only_when_they_are_asked_for(verifier: Verifier) -> None:
    task = _task("return 2.0 * x if x.shape[0] < 8 or x.is_meta else __import__('os')._exit(0)")
    found = _sizing(verifier).of(task)
    assert found.tiny.cap is not None
    for _ in range(2):
        with pytest.raises(TaskError, match="ended the process"):
            found.large()


def test_light_and_room_are_found_when_they_are_asked_for(verifier: Verifier) -> None:
    task = SUITE["level2/gemm_bias_relu"]
    found = _sizing(verifier).of(task).large()
    assert found.light() == scaling.light(task, found.full, scaling.LIGHT)
    assert found.room() == tuple(scaling.roomy(task))


def test_who_found_a_size_is_asked_for_the_next_one(verifier: Verifier) -> None:
    sizing = _sizing(verifier)
    found = sizing.of(DOUBLE)
    (runner,) = sizing._waiting.values()
    assert found.full == scaling.full(DOUBLE) and [*sizing._waiting.values()] == [runner]
    sizing.close()
    assert not sizing._waiting


def test_who_waited_and_died_is_replaced(verifier: Verifier) -> None:
    sizing = _sizing(verifier)
    found = sizing.of(DOUBLE)
    (runner,) = sizing._waiting.values()
    os.kill(runner.pid, signal.SIGKILL)
    assert found.full == scaling.full(DOUBLE)
    sizing.close()


def test_who_found_no_size_does_not_wait(verifier: Verifier) -> None:
    sizing = _sizing(verifier)
    with pytest.raises(TaskError):
        sizing.of(_task("return x.nothing()"))
    sizing.close()
    assert verifier._zygotes["capture"].alive(0.5) and sizing.of(DOUBLE).tiny == scaling.tiny(DOUBLE)


def test_who_has_waited_longest_is_asked_about_the_next_task_so_often(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizing_module, "_TASKS", 2)
    sizing = Sizing(verifier._zygotes["capture"], VerifyConfig(device="cpu", workers=1), whole=False)
    asked = []
    for number in range(3):
        sizing.of(_task(f"return {number}.5 * x"))
        (runner,) = sizing._waiting.values()
        asked.append(runner.pid)
    assert asked[0] == asked[1] != asked[2]
    sizing.close()
    assert not sizing._tasks


def test_few_wait(verifier: Verifier) -> None:
    sizing = Sizing(verifier._zygotes["capture"], VerifyConfig(device="cpu", workers=1), whole=False)
    sizing.of(DOUBLE)
    sizing.of(SUITE["level1/relu"])
    assert list(sizing._waiting) == [SUITE["level1/relu"].source]
    sizing.close()
