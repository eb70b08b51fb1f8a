"""Runners that wait with a GPU context: one that could not start is tried again only where that may help."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import cast

import pytest

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.process import stable, wire
from tritonsmith.verify.process.limits import runner_limits
from tritonsmith.verify.process.stable import Stable
from tritonsmith.verify.process.zygote import Runner, Zygote


class Zygotes:
    """Starts what answers as it is told, one answer a runner, and no process."""

    def __init__(self, answers: list[dict[str, object]]) -> None:
        self.answers, self.ended = answers, 0
        self._theirs: list[socket.socket] = []

    def start(self, limits: object, folder: Path | None = None, gpu: int | None = None) -> Runner:
        ours, theirs = socket.socketpair()
        self._theirs.append(theirs)
        wire.send(theirs, self.answers.pop(0))
        return Runner(pid=0, channel=ours, folder=folder)

    @property
    def asked(self) -> int:
        """How many of its runners have been asked for something."""
        return sum(wire.comes(theirs, 0.0) for theirs in self._theirs)

    def end(self, runner: Runner) -> int:
        self.ended += 1
        return 0


def _stable(
    zygotes: Zygotes,
    monkeypatch: pytest.MonkeyPatch,
    changing: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Stable:
    monkeypatch.setattr(stable, "_PAUSE", 0.01)
    limits, settings = runner_limits, VerifyConfig(device="cpu")
    return Stable(cast(Zygote, zygotes), lambda folder: limits(settings, 1.0, folder), 0, True, 0, changing)


def test_a_runner_begins_and_ends_when_nobody_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    zygotes, told = Zygotes([{"warm": True}]), []

    @contextmanager
    def changing() -> Iterator[None]:
        told.append(("from", zygotes.asked, zygotes.ended))
        yield
        told.append(("to", zygotes.asked, zygotes.ended))

    runners = _stable(zygotes, monkeypatch, changing)
    warm = runners.take()
    warm.served = stable.MOST
    runners.give_back(warm, clean=True)
    assert told == [("from", 0, 0), ("to", 1, 0), ("from", 1, 0), ("to", 1, 1)]
    runners.close()


def test_a_runner_whose_kernel_may_run_on_is_ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    zygotes, told = Zygotes([{"warm": True}]), []

    @contextmanager
    def changing() -> Iterator[None]:
        told.append(zygotes.ended)
        yield

    runners = _stable(zygotes, monkeypatch, changing)
    runners.give_back(runners.take(), clean=False)
    assert zygotes.ended == 1 and told == [0]
    runners.close()


FULL: dict[str, object] = {"error": {"message": "CUDA error: out of memory"}}


def test_a_start_for_which_there_is_no_memory_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    zygotes = Zygotes([FULL, FULL, {"warm": True}])
    runners = _stable(zygotes, monkeypatch)
    runners.take()
    assert zygotes.ended == 2 and not zygotes.answers
    runners.close()


def test_a_start_that_failed_is_not_raised_where_starting_works_again(monkeypatch: pytest.MonkeyPatch) -> None:
    zygotes = Zygotes([{"error": {"message": "CUDA error: no device"}}, {"warm": True}])
    runners = _stable(zygotes, monkeypatch)
    runners._start()
    wait(list(runners._starting))
    runners.take()
    runners.close()


def test_another_failure_of_a_start_is_the_verifier_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    runners = _stable(Zygotes([{"error": {"message": "CUDA error: no device"}}, {}]), monkeypatch)
    with pytest.raises(RuntimeError, match="no device"):
        runners.take()
    runners.close()


def test_a_runner_that_dies_while_it_warms_up_is_no_candidates_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The candidate that waited for it was refused, and the runner stayed."""

    class Dying(Zygotes):
        def start(self, limits: object, folder: Path | None = None, gpu: int | None = None) -> Runner:
            runner = super().start(limits, folder, gpu)
            if self.answers:
                wire.receive(runner.channel, time.monotonic() + 5.0)
                self._theirs[-1].close()
            return runner

    zygotes = Dying([{}, {"warm": True}])
    runners = _stable(zygotes, monkeypatch)
    runners.take()
    assert zygotes.ended == 1 and not zygotes.answers
    runners.close()
