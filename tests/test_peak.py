"""What a reference holds at once is counted without running it."""

import time

import pytest
from judging import DOUBLE

from tritonsmith.types import Task
from tritonsmith.verify.reference.peak import Peak, peak

GIVEN = 4 * 64 * 48


def _peak(forward: str) -> Peak:
    source = DOUBLE.source.replace("return 2.0 * x", forward)
    assert source != DOUBLE.source
    found = peak(Task(id="peak", level=1, source=source))
    assert found is not None
    return found


def test_one_operator_holds_what_is_given_and_what_it_makes() -> None:
    assert _peak("return 3.0 * x") == Peak(given=GIVEN, made=GIVEN, most=2 * GIVEN, largest=64 * 48)


def test_what_is_let_go_of_counts_no_more() -> None:
    assert _peak("return (((x + 1) * 2).exp() - 3).abs()").most == 3 * GIVEN


@pytest.mark.parametrize("kept", ["a = x + 1\n        b = a * 2\n        c = b.exp()\n        return a + b + c"])
def test_what_is_held_counts(kept: str) -> None:
    assert _peak(kept).most >= 5 * GIVEN


def test_an_intermediate_larger_than_all_that_is_given_and_made_counts() -> None:
    found = _peak("return (x[:, :, None] + x[:, None, :]).sum(-1)")
    assert found.largest == 64 * 48 * 48
    assert found.most > 48 * GIVEN


def test_views_take_nothing() -> None:
    assert _peak("return x.view(48, 64).T.reshape(64, 48) + 1").most <= 3 * GIVEN
    assert _peak("return x.view(48, 64).T").most == GIVEN


def test_a_reference_that_needs_data_is_guessed_by_what_it_is_given() -> None:
    found = _peak("return 2.0 * x if x.sum() > 0 else x")
    assert (found.given, found.made, found.most, found.whole) == (GIVEN, GIVEN, 3 * GIVEN, False)


def test_a_forward_of_very_many_operators_is_not_followed_to_its_end() -> None:
    began = time.monotonic()
    found = _peak("for _ in range(10**6):\n            x = x + 1\n        return x")
    assert not found.whole and found.most == 3 * GIVEN
    assert time.monotonic() - began < 5


def test_a_task_whose_inputs_need_data_has_no_peak() -> None:
    broken = DOUBLE.source.replace(
        "return [torch.randn(64, 48)]", "return [torch.randn(int(torch.randn(1).item()), 48)]"
    )
    assert peak(Task(id="peak", level=1, source=broken)) is None
