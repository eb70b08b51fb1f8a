"""Who may use a GPU when; no GPU is needed to wait for one."""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tritonsmith.verify.process.gpu import Gpu, Part, parts
from tritonsmith.verify.process.keeping import runner_keeps


def _start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _waits_for(gpu: Gpu, first: Callable[[], object], second: Callable[[], object]) -> bool:
    """Whether the second use begins only when the first has ended."""
    begun = threading.Event()

    def late() -> None:
        with second():  # type: ignore[attr-defined]
            begun.set()

    with first():  # type: ignore[attr-defined]
        thread = _start(late)
        waited = not begun.wait(0.05)
    thread.join(2)
    assert begun.is_set()
    return waited


def test_several_share() -> None:
    gpu = Gpu(0, memory=100)
    assert not _waits_for(gpu, gpu.shared, gpu.shared)


def test_alone_excludes_everybody() -> None:
    gpu = Gpu(0, memory=100)
    assert _waits_for(gpu, gpu.alone, gpu.shared)
    assert _waits_for(gpu, gpu.alone, gpu.alone)
    assert _waits_for(gpu, gpu.shared, gpu.alone)


def _ordered(gpu: Gpu, first: Callable[[], object] | None = None) -> list[str]:
    """Who comes when, where one wants to be alone while the GPU is shared, and then another to share it."""
    order: list[str] = []

    def alone() -> None:
        with gpu.alone(first and (lambda: (order.append("first"), first()))):
            order.append("alone")

    def shared() -> None:
        with gpu.shared():
            order.append("shared")

    with gpu.shared():
        threads = [_start(alone)]
        time.sleep(0.2)
        threads.append(_start(shared))
        time.sleep(0.05)
        order.append("left")
    for thread in threads:
        thread.join(2)
    return order


def test_who_has_waited_to_be_alone_goes_before_new_sharers() -> None:
    assert _ordered(Gpu(0, memory=100)) == ["left", "alone", "shared"]


def test_what_is_done_first_is_done_beside_who_shares_still_and_nobody_new_comes() -> None:
    assert _ordered(Gpu(0, memory=100), lambda: None) == ["first", "left", "alone", "shared"]


def test_what_is_done_first_is_not_done_beside_who_is_alone() -> None:
    gpu, begun = Gpu(0, memory=100), threading.Event()

    def other() -> None:
        with gpu.alone(begun.set):
            pass

    with gpu.alone():
        thread = _start(other)
        assert not begun.wait(0.05)
    thread.join(2)
    assert begun.is_set()


def test_who_fails_before_it_is_alone_leaves_the_gpu_to_others_and_is_counted() -> None:
    gpu = Gpu(0, memory=100)

    def fails() -> None:
        time.sleep(0.02)
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"), gpu.alone(fails):
        pass
    assert gpu.use.shared >= 0.02 and gpu.use.alone == 0.0
    assert _waits_for(gpu, gpu.alone, gpu.shared)


def test_who_was_alone_may_go_on_beside_others() -> None:
    gpu, entered = Gpu(0, memory=100), threading.Event()

    def other() -> None:
        with gpu.shared():
            entered.set()

    with gpu.alone() as share:
        thread = _start(other)
        assert not entered.wait(0.05)
        share()
        assert entered.wait(2)
    thread.join(2)


def test_time_alone_and_beside_others_is_told_apart() -> None:
    gpu, began = Gpu(0, memory=100), time.monotonic()
    with gpu.alone(lambda: time.sleep(0.02)) as share:
        time.sleep(0.03)
        share()
        time.sleep(0.05)
    use, whole = gpu.use, time.monotonic() - began
    assert use.alone >= 0.03 and use.shared >= 0.07 and use.waited >= 0
    assert use.alone + use.shared + use.waited <= whole  # none of it counts twice


def test_a_process_begins_beside_those_who_share_and_not_beside_who_is_alone() -> None:
    gpu = Gpu(0, memory=100)
    assert not _waits_for(gpu, gpu.shared, gpu.changing)
    assert _waits_for(gpu, gpu.alone, gpu.changing)
    assert _waits_for(gpu, gpu.changing, gpu.alone)


def test_a_process_that_begins_for_who_is_alone_does_not_wait_for_its_end() -> None:
    gpu = Gpu(0, memory=100)
    with gpu.alone(), gpu.changing():
        pass
    with gpu.shared(), gpu.changing():
        pass
    assert _waits_for(gpu, gpu.alone, gpu.changing)


def test_a_process_waits_for_who_is_alone_for_so_long_and_begins_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tritonsmith.verify.process.gpu"], "_AWAITED", 0.1)
    gpu, begun = Gpu(0, memory=100), threading.Event()

    def begin() -> None:
        with gpu.changing():
            begun.set()

    with gpu.alone():
        thread = _start(begin)
        assert not begun.wait(0.05) and begun.wait(1.0)
    thread.join(2)
    assert not _waits_for(gpu, gpu.shared, gpu.shared)


def test_memory_is_planned() -> None:
    gpu = Gpu(0, memory=100)
    assert not _waits_for(gpu, lambda: gpu.room(40), lambda: gpu.room(40))
    assert _waits_for(gpu, lambda: gpu.room(60), lambda: gpu.room(40))


def test_more_memory_than_there_is_gets_it_alone() -> None:
    gpu = Gpu(0, memory=100)
    assert _waits_for(gpu, lambda: gpu.room(10_000), lambda: gpu.room(1))


def test_a_thread_that_has_memory_does_not_wait_for_itself() -> None:
    gpu = Gpu(0, memory=100)
    with gpu.room(10_000):
        assert gpu.whole
        with gpu.room(60):
            assert gpu.whole
    assert not gpu.whole


def test_a_thread_that_has_some_memory_may_not_wait_for_more() -> None:
    gpu = Gpu(0, memory=100)
    with gpu.room(10), pytest.raises(RuntimeError, match="may not wait for more"), gpu.room(20):
        pass


def test_runners_and_judges_take_memory_before_any_work(tmp_path: Path) -> None:
    few, many = (Gpu(0, Part(tmp_path, judges=4, runners=count), memory=100 << 30) for count in (1, 25))
    assert few.usable - many.usable == 24 * ((1 << 30) + runner_keeps(100 << 30))
    assert Gpu(0, Part(tmp_path, runners=1000), memory=100 << 30).usable > 20 << 30


def test_a_runner_keeps_little_of_a_small_gpu_s_memory() -> None:
    assert runner_keeps(24 << 30) < 100 << 20 < runner_keeps(141 << 30) == 512 << 20


@pytest.mark.parametrize(("kept", "given_back"), [(4 << 30, True), (2 << 30, False)])
def test_memory_that_is_kept_in_vain_is_given_back(
    monkeypatch: pytest.MonkeyPatch, kept: int, given_back: bool
) -> None:
    emptied: list[bool] = []
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 5 * kept)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 4 * kept)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(True))
    gpu = Gpu(0, memory=100 << 30)
    with gpu.room(10 << 30):
        assert not emptied
    assert bool(emptied) == given_back


def test_who_has_all_memory_waits_until_others_have_given_theirs_back(monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([1 << 30, 1 << 30, 90 << 30])
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (next(left), 100 << 30))
    gpu = Gpu(0, memory=100 << 30)
    gpu.wait_until_free()
    assert next(left, None) is None
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (0, 100 << 30))
    began = time.monotonic()
    gpu.wait_until_free(0.1)
    assert 0.1 <= time.monotonic() - began < 1.0


def test_who_is_alone_knows_that_others_wait() -> None:
    gpu = Gpu(0, memory=100)

    def shared() -> None:
        with gpu.shared():
            pass

    with gpu.alone():
        assert not gpu.wanted
        waiting = _start(shared)
        time.sleep(0.05)
        assert gpu.wanted
    waiting.join(2)
    assert not gpu.wanted


def test_threads_take_short_turns_while_somebody_times_on_one_of_several_gpus() -> None:
    before, (one, other) = sys.getswitchinterval(), (Gpu(0, memory=100), Gpu(1, memory=100))
    with one.alone():
        with other.alone():
            assert sys.getswitchinterval() < before
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


def test_runners_of_all_judges_on_a_gpu_are_counted(tmp_path: Path) -> None:
    gates = [tmp_path / "0", tmp_path / "1"]
    assert [one.runners for one in parts(gates, seats=5, spare=1, judges=3)] == [12, 12]
    assert parts([], seats=5, spare=1) == []
