"""Recorded calls, on a GPU: what a trial of them times, what they answer, and what torch is left like."""

import functools
import threading
from collections.abc import Callable, Sequence

import pytest
import torch
import triton
import triton.language as tl

from tritonsmith.tasks.format import seeded
from tritonsmith.verify.cuda_graph import Recording, waits
from tritonsmith.verify.timing import Stopwatch

pytestmark = pytest.mark.gpu


def _recorded(calls: Sequence[Callable[[], object]], repeats: int = 3, trials: int = 3) -> Recording | None:
    found = Stopwatch().record(calls)
    if found is not None:
        assert found.estimate() is not None and found.make(repeats, trials, singly=True)
    return found


def test_the_recorded_work_answers_to_contents_that_came_after_it() -> None:
    held = [torch.randn(4096, device="cuda") for _ in range(3)]
    outputs = [torch.empty(0)] * 3

    def call(place: int) -> None:
        outputs[place] = torch.relu(held[place] + 1.0)

    found = _recorded([lambda place=place: call(place) for place in range(3)])
    assert found is not None
    for place, tensor in enumerate(held):
        tensor.copy_(torch.randn_like(tensor))
        assert not torch.equal(outputs[place], torch.relu(tensor + 1.0))
        found.begin(place)
        assert found.ended([place])[0] > 0
        assert torch.equal(outputs[place], torch.relu(tensor + 1.0))


def test_an_answer_that_is_kept_is_an_old_one() -> None:
    x = torch.randn(4096, device="cuda")
    kept = torch.relu(x)
    found = _recorded([lambda: kept])
    assert found is not None
    x.copy_(torch.randn_like(x))
    found.begin(0)
    torch.cuda.synchronize()
    assert not torch.equal(kept, torch.relu(x))


def test_a_trial_times_all_of_its_calls() -> None:
    a = torch.randn(2048, 2048, device="cuda")
    one, many = _recorded([lambda: a @ a] * 3, 1), _recorded([lambda: a @ a] * 3, 8)
    assert one is not None and many is not None
    short, long = sorted(one.block(9))[4], sorted(many.block(9))[4]
    assert long == pytest.approx(short, rel=0.15)
    watch = Stopwatch()
    watch.warm([lambda: a @ a], 10)
    assert sorted(watch.block([lambda: a @ a], 9, 8))[4] == pytest.approx(long, rel=0.15)


@pytest.mark.parametrize("trials", [1, 4, 10])
def test_as_many_trials_are_told_as_were_asked_for(trials: int) -> None:
    a = torch.randn(2048, 2048, device="cuda")
    found = _recorded([lambda: a @ a] * 3, 2, 4)
    assert found is not None
    times = found.block(trials)
    assert len(times) == trials and max(times) < 1.5 * min(times)


@pytest.mark.parametrize("wrong", [lambda x: x.sum().item(), lambda x: x[x > 0], lambda x: x.cpu(), lambda x: 1 // 0])
def test_what_a_graph_cannot_hold_is_told_and_leaves_torch_as_it_was(wrong: Callable[[torch.Tensor], object]) -> None:
    x = torch.randn(4096, device="cuda")
    ready: list[None] = []

    def call() -> None:
        torch.randn(8, device="cuda")
        if ready:  # the call that sets libraries up
            wrong(x)
        ready.append(None)

    assert _recorded([call]) is None
    torch.cuda.empty_cache()
    with seeded(7):
        one = torch.randn(8, device="cuda")
    with seeded(7):
        assert torch.equal(one, torch.randn(8, device="cuda"))
    torch.cuda.synchronize()
    found = _recorded([lambda: torch.relu(x)])
    assert found is not None and min(found.block(3)) > 0


def test_what_waits_for_a_value_is_known_before_it_is_recorded() -> None:
    x = torch.randn(4096, device="cuda")
    assert waits([lambda: x.relu(), lambda: x.sum().item()]) and waits([lambda: x[x > 0]])
    assert not waits([lambda: x.relu()])
    assert x.sum().item() == x.sum().item()


def test_other_threads_go_on_while_calls_are_recorded() -> None:
    ended = threading.Event()
    faults: list[str] = []

    def beside() -> None:
        turns = 0
        with torch.cuda.stream(torch.cuda.Stream()):
            while not ended.is_set() or turns < 20:
                turns += 1
                try:
                    with seeded(turns):
                        x = torch.randn(1 << 20, device="cuda")
                    (x @ x).item()
                    torch.cuda.current_stream().synchronize()
                    torch.cuda.empty_cache()
                except RuntimeError as error:
                    faults.append(str(error))

    others = [threading.Thread(target=beside) for _ in range(3)]
    for thread in others:
        thread.start()
    x = torch.randn(1 << 20, device="cuda")
    try:
        found = [_recorded([lambda: torch.relu(x)] * 3) for _ in range(30)]
    finally:
        ended.set()
        for thread in others:
            thread.join()
    assert not faults, faults[:3]
    assert None not in found


def test_what_was_recorded_keeps_the_memory_that_it_works_in() -> None:
    held = [torch.randn(1 << 24, device="cuda")]
    found = _recorded([functools.partial(torch.relu, held.pop())])
    assert found is not None
    torch.cuda.empty_cache()
    others = [torch.empty(1 << 24, device="cuda") for _ in range(8)]
    assert found.make(5, 5)
    assert min(found.block(5)) > 0 and len(others) == 8


def test_what_cannot_be_recorded_keeps_no_memory() -> None:
    x = torch.randn(1 << 20, device="cuda")

    def call() -> None:
        torch.empty(1 << 26, device="cuda")
        if torch.cuda.is_current_stream_capturing():
            x.sum().item()

    reserved = []
    for _ in range(6):
        assert _recorded([call]) is None
        torch.cuda.empty_cache()
        reserved.append(torch.cuda.memory_reserved())
    assert reserved[-1] - reserved[0] < 1 << 26


@triton.jit
def _remembering(x_ptr, kept_ptr, y_ptr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    differs = tl.sum((x != tl.load(kept_ptr + offsets)).to(tl.int32), axis=0)
    if differs > 0:
        y = x
        for _ in range(20000):
            y = y * 0.999 + 0.5
        tl.store(y_ptr + offsets, y)
        tl.store(kept_ptr + offsets, x)


@pytest.mark.parametrize("keeps", [True, False])
def test_who_keeps_answers_by_contents_takes_longer_on_new_ones(keeps: bool) -> None:
    x, kept, y = (torch.zeros(1 << 16, device="cuda") for _ in range(3))

    def call() -> None:
        if not keeps:
            kept.fill_(-1.0)
        _remembering[(64,)](x, kept, y, BLOCK=1024)

    found = _recorded([call], 1)
    assert found is not None
    x.copy_(torch.rand_like(x))
    times = []
    for _ in range(2):
        found.begin(0)
        times += found.ended([0])
    first, second = times
    assert first > 3 * second if keeps else second == pytest.approx(first, rel=0.2)
