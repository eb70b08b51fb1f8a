"""The order in which programs of launches with atomics run: see `shuffling`."""

import numpy as np
import pytest

from tritonsmith.verify.interpreter.shuffling import Habit, Habits, Memory, Turns, Waits, other_lanes_first, shuffled


@pytest.mark.parametrize("programs", [2, 3, 4, 5, 17, 1000])
def test_an_order_holds_each_program_once_and_is_not_theirs(programs: int) -> None:
    order = shuffled(programs)
    assert sorted(order) == list(range(programs))
    assert list(order) != list(range(programs))
    assert (order == shuffled(programs)).all()


def test_lanes_come_in_another_order_and_back() -> None:
    tile = np.arange(12).reshape(3, 4)
    assert (other_lanes_first(tile) != tile).any()
    assert (other_lanes_first(other_lanes_first(tile)) == tile).all()


def test_a_program_waits_that_always_finds_the_same() -> None:
    turns, place = Turns(True, True), np.array([8], np.uint64)
    turns.program(0, 4)
    with pytest.raises(Waits):
        for _ in range(10_000):
            turns.asked(place, np.zeros(1))


def test_a_program_does_not_wait_that_finds_something_new() -> None:
    turns, place = Turns(True, True), np.array([8], np.uint64)
    turns.program(0, 4)
    for count in range(10_000):
        turns.asked(place, np.array([count]))


def test_programs_that_wait_in_any_order_are_shuffled() -> None:
    habit = Habit(atomic=True)
    assert habit.turns().program(0, 100) != 0
    habit.waited()
    assert [habit.turns().program(turn, 100) for turn in range(100)] == list(range(100))
    habit.waited()
    assert habit.turns().program(0, 100) != 0
    assert not habit.turns().bounded


def test_programs_of_kernels_without_atomics_run_in_their_order() -> None:
    turns = Habit().turns()
    assert [turns.program(turn, 5) for turn in range(5)] == [0, 1, 2, 3, 4]


def test_memory_is_put_back() -> None:
    data, note = np.arange(4), np.zeros(3, np.bool_)
    memory = Memory([(data.ctypes.data, data.nbytes)], [note])
    data[:], note[:] = 7, True
    memory.put_back()
    assert data.tolist() == [0, 1, 2, 3]
    assert not note.any()


def _kernel(x: object) -> object:
    return add(x)


def add(x: object) -> object:
    """Of another name than what it stands for."""
    return x


def test_an_atomic_is_known_by_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Habits().of(_kernel).atomic
    monkeypatch.setattr(add, "__name__", "atomic_add")
    habits = Habits()
    assert habits.of(_kernel).atomic
    assert habits.of(_kernel) is habits.of(_kernel)
