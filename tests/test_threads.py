"""Threads of one program: who may read or overwrite what, before all of them have met."""

import numpy as np

from tritonsmith.verify.interpreter.threads import Addresses, Threads

HERE = 7
UP: Addresses = np.arange(1000, 1064, 4, dtype=np.uint64)
ALL = np.ones(16, bool)


def test_what_another_lane_stored_is_found() -> None:
    threads = Threads()
    assert threads.stored(HERE, UP, ALL) is None
    crossed = threads.loaded(HERE, UP[::-1], ALL)
    assert crossed is not None and crossed.all()


def test_lanes_that_are_masked_do_not_count() -> None:
    threads = Threads()
    threads.stored(HERE, UP, np.arange(16) < 4)
    crossed = threads.loaded(HERE, UP[::-1], np.arange(16) < 13)
    assert crossed is not None and crossed.tolist() == [lane == 12 for lane in range(16)]


def test_a_lane_may_use_what_it_used_itself() -> None:
    threads = Threads()
    threads.loaded(HERE, UP, ALL)
    assert threads.stored(HERE, UP.copy(), ALL) is None
    assert threads.loaded(HERE, UP.copy(), ALL) is None


def test_a_tile_of_another_shape_lies_otherwise() -> None:
    threads = Threads()
    threads.stored(HERE, UP, ALL)
    assert threads.loaded(HERE, UP.reshape(4, 4), ALL.reshape(4, 4)) is not None


def test_behind_a_barrier_everything_is_there() -> None:
    threads = Threads()
    threads.stored(HERE, UP, ALL)
    threads.meet()
    assert threads.loaded(HERE, UP[::-1], ALL) is None


def test_overwriting_what_another_lane_still_reads_is_found() -> None:
    threads = Threads()
    threads.loaded(HERE, UP, ALL)
    assert threads.stored(HERE, UP[::-1], ALL) is not None


def test_other_places_and_other_storages_are_no_crossing() -> None:
    threads = Threads()
    threads.stored(HERE, UP, ALL)
    assert threads.loaded(HERE, UP[::-1] + np.uint64(64), ALL) is None
    assert threads.loaded(HERE + 1, UP[::-1], ALL) is None
