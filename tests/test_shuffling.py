"""The order in which programs of launches with atomics run: see `shuffling`."""

import numpy as np
import pytest

from tritonsmith.verify.shuffling import Habits, Memory, Turns, Waits, other_lanes_first, shuffled


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
    habits = Habits(atomic={"kernel": True})
    assert habits.turns("kernel").program(0, 100) != 0
    habits.waited("kernel")
    assert [habits.turns("kernel").program(turn, 100) for turn in range(100)] == list(range(100))
    habits.waited("kernel")
    assert habits.turns("kernel").program(0, 100) != 0
    assert not habits.turns("kernel").bounded


def test_programs_of_kernels_without_atomics_run_in_their_order() -> None:
    turns = Habits().turns("kernel")
    assert [turns.program(turn, 5) for turn in range(5)] == [0, 1, 2, 3, 4]


def test_memory_is_put_back() -> None:
    data, note = np.arange(4), np.zeros(3, np.bool_)
    memory = Memory([(data.ctypes.data, data.nbytes)], [note])
    data[:], note[:] = 7, True
    memory.put_back()
    assert data.tolist() == [0, 1, 2, 3]
    assert not note.any()
