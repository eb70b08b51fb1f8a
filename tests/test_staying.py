"""What of that which some programs stored stays whatever the others do."""

import numpy as np
import pytest
import torch

from tritonsmith.verify.dynamic.observe import address
from tritonsmith.verify.dynamic.staying import Stored


def _places(out: torch.Tensor, *elements: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(elements, np.int64) * out.element_size()


class _Forward:
    """What programs of a forward do, in words; element 0 to 3 of `out` and of `lock`."""

    def __init__(self) -> None:
        self.out, self.lock, self.stored = torch.zeros(4), torch.zeros(4), Stored()
        self.launch()

    def launch(self) -> None:
        self.stored.launch({address(one): one.untyped_storage().nbytes() for one in (self.out, self.lock)})
        self.stored.begin()

    def does(self, *what: str) -> "_Forward":
        for one in what:
            act, _, element = one.partition(" ")
            if act == "store":
                self.stored.store(address(self.out), _places(self.out, int(element)))
            elif act == "add":
                self.stored.used(address(self.out))
                self.stored.changed(address(self.out), _places(self.out, int(element)))
            elif act == "unlock":
                self.stored.used(address(self.lock))
                self.stored.changed(address(self.lock), _places(self.lock, 0))
            elif act == "launch":
                self.launch()
            else:
                {"begin": self.stored.begin, "waits": self.stored.undone}[act]()
        return self

    def found(self, stays: bool) -> list[int] | None:
        where = self.stored.elements(self.out, stays)
        return None if where is None else where.nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("what", "stays", "parts"),
    [
        (["store 1", "begin", "store 2"], [1, 2], []),
        (["unlock", "store 1"], [1], []),
        (["store 1", "unlock"], [], [1]),
        (["store 1", "unlock", "store 2"], [2], [1]),
        (["store 1", "unlock", "store 1"], [1], []),
        (["store 1", "begin", "unlock", "store 2"], [1, 2], []),
        (["store 1", "begin", "store 2", "unlock"], [1], [2]),
        (["store 1", "add 1"], [], [1]),
        (["store 1", "begin", "store 2", "waits"], [1], []),
        (["store 1", "store 2", "begin", "add 1"], [2], [1]),
    ],
)
def test_what_was_stored_before_an_atomic_that_changed_anything_may_be_a_part(
    what: list[str], stays: list[int], parts: list[int]
) -> None:
    forward = _Forward().does(*what)
    assert (forward.found(True), forward.found(False)) == (stays, parts)


@pytest.mark.parametrize(
    ("what", "added"),
    [(["add 1"], True), (["store 1", "add 1"], False), (["store 1", "launch", "add 1"], True), (["store 1"], False)],
)
def test_what_atomics_made_is_known(what: list[str], added: bool) -> None:
    forward = _Forward().does(*what)
    assert forward.stored.added(forward.out) is added


@pytest.mark.parametrize("second", ["store 1", "store 2", "add 3"])
def test_what_two_launches_wrote_to_is_not_told(second: str) -> None:
    forward = _Forward().does("store 1", "launch", second)
    assert forward.found(True) is None and forward.found(False) is None
