"""Conditions that hold at a task's own sizes and never where values were compared."""

import numpy as np
import pytest

from tritonsmith.verify.dynamic import unseen
from tritonsmith.verify.interpreter.comparisons import BOTH, FALSE, TRUE, Comparisons, Outcomes, rows

PLACE = (14, 9)


def _own(number: int, before: int | None, spread: bool = True) -> dict[str, object]:
    """An index that is compared with a number is true at last, and was false with what it was compared `before`."""
    return {
        "compared": [[*PLACE, BOTH, None, number, spread]],
        "compared_before": [[*PLACE, FALSE, None, before, False]],
    }


def test_an_outcome_is_unseen_that_is_at_the_tasks_own_sizes_alone() -> None:
    wanted = unseen.unseen(_own(6000, 6000))
    assert wanted == {PLACE: TRUE}
    assert unseen.without(wanted, {"compared": [[*PLACE, FALSE, None, 6000, True]]}) == wanted
    assert unseen.without(wanted, {"compared": [[*PLACE, TRUE, None, 6000, True]]}) == {}
    assert unseen.unseen({"compared": [[*PLACE, FALSE, None, 6000, True]], **_before(FALSE)}) == {}
    assert unseen.unseen({"compared": [[*PLACE, TRUE, None, 6000, True]]}) == {PLACE: TRUE}
    assert unseen.unseen({}) == {}


def _before(outcome: int) -> dict[str, object]:
    return {"compared_before": [[*PLACE, outcome, None, 6000, True]]}


@pytest.mark.parametrize(
    ("own", "named", "refused"),
    [
        (_own(6000, 6000), (), True),
        (_own(6000, 512), (), False),  # it hangs on sizes
        (_own(6000, None), (), False),
        (_own(6000, 6000, spread=False), (), False),  # a size
        (_own(6000, 6000), (6000,), False),  # the operator's own
        (_own(6000, 6000), (5999,), False),
        (_own(132, 132), (), False),  # a count of processors
        (_own(1 << 31, 1 << 31), (), False),
        ({**_own(6000, 6000), "compared_before": []}, (), False),  # never came by
    ],
)
def test_one_number_of_a_kernels_own_is_held_against_it(
    own: dict[str, object], named: tuple[int, ...], refused: bool
) -> None:
    found = unseen.hard_coded(own, unseen.unseen(own), named)
    assert [(one.rule, one.line) for one in found] == ([("hard-coded", PLACE[0])] if refused else [])


def test_numbers_of_a_task_are_those_of_its_source() -> None:
    assert unseen.named("x = torch.randn(64, 2 * 32)\ny = 0.5 if True else -3") == {64, 2, 32, 3}
    assert {4096, 6144} <= unseen.named("window, other = 1 << 12, 64 * 64 + 2048")


def test_sides_are_one_number_or_several() -> None:
    noted, lanes = Comparisons(), np.arange(8)
    for program in (0, 1):
        noted.note(PLACE, lanes + 8 * program < 20, lanes + 8 * program, 20)
    assert rows(noted.most) == [[*PLACE, TRUE, None, 20, False]]
    noted.note(PLACE, lanes < 4, lanes, np.array([4]))
    assert rows(noted.taken()) == [[*PLACE, BOTH, None, None, False]] and not noted.most


def test_what_a_followed_program_compares_tells_whether_values_are_in_it() -> None:
    noted = Comparisons()
    noted.launch({})
    found = []
    for place in (3, 3, 4):
        with noted.followed() as compared:
            noted.note(PLACE, np.array([place < 4]), np.array([place]), 4)
        found.append(compared)
    assert found[0][PLACE].digest == found[1][PLACE].digest != found[2][PLACE].digest
    assert noted.new(found[2]) == {PLACE} and not noted.most
    noted.add(found[0], set())
    assert noted.new(found[1]) == set() and noted.new(found[2]) == {PLACE}
    noted.add(found[2], {PLACE})
    assert noted.taken() == {PLACE: Outcomes(TRUE, noted_several(), 4, True)}


def noted_several() -> object:
    """What stands for a side of several numbers."""
    return Outcomes().joined(Outcomes(0, 3)).joined(Outcomes(0, 4)).left
