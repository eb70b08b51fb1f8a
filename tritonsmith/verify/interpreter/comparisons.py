"""Which outcomes a kernel's comparisons of whole numbers had: a condition that is no branch leaves no line unrun.

`tl.where(index >= 67108864, cheap, right)`, or the same in a mask, is wrong where it is true, and where that is at the
task's own sizes alone no value shows it. So each comparison of the candidate's is noted by its place: whether some lane
was true, some false, and what each side was where all its lanes are one number. Where a forward's programs are followed
without data (`cover`), it is also noted what a program compared, so that the same program can be run on other values:
what then is otherwise hangs on values, and tells nothing of sizes.

Not here: what is no comparison (`offsets // 67108864`, `tl.minimum`, shifts), and what Python itself compares.
"""

import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter

from tritonsmith.verify.interpreter import recorded
from tritonsmith.verify.process.loading import CANDIDATE

TRUE, FALSE, BOTH = 1, 2, 3
"""Outcomes, as bits."""
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq,
    "NotEq": operator.ne,
}  # fmt: skip
"""Those of Python's syntax that compare numbers."""

Place = tuple[int, int]
"""Line and column of the candidate's source."""
Data = npt.NDArray[np.generic]


class Many:
    """Stands for a side that was more than one number."""


class Outcomes(NamedTuple):
    """What is known of one comparison."""

    seen: int = 0
    left: int | type[Many] | None = None
    """The number that this side was, wherever it was compared; None before it was."""
    right: int | type[Many] | None = None
    spread: bool = False
    """Whether a side was several numbers within one launch; told of followed launches alone."""

    def joined(self, other: "Outcomes") -> "Outcomes":
        """Both."""
        left, right = _same(self.left, other.left), _same(self.right, other.right)
        return Outcomes(self.seen | other.seen, left, right, self.spread or other.spread)


@dataclass
class Followed:
    """What the program that is followed compared."""

    outcomes: Outcomes = field(default_factory=Outcomes)
    digest: int = 0
    """Of all that was compared at a place, in its order."""


@dataclass
class Comparisons:
    """The outcomes of all forwards, by place."""

    most: dict[Place, Outcomes] = field(default_factory=dict)
    _now: dict[Place, Followed] | None = None
    """What the program compares that is followed; None where none is."""
    _ends: dict[tuple[Place, int], tuple[int, int]] = field(default_factory=dict)
    """By place and side, the least and the largest number in the launch that is followed."""
    _known: Mapping[Place, Outcomes] = field(default_factory=dict)

    def taken(self) -> dict[Place, Outcomes]:
        """What was noted, which is forgotten."""
        found, self.most = self.most, {}
        return found

    def note(self, place: Place, found: Data, left: Data | int, right: Data | int) -> None:
        """One comparison of one program, or of many at once."""
        if self._now is not None:
            self._follow(self._now, place, found, left, right)
            return
        before = self.most.get(place, _NOTHING)
        if before.seen == BOTH:
            return
        now = Outcomes(before.seen | _outcome(found), _number(left), _number(right))
        if now != before:
            self.most[place] = before.joined(now)

    # Following programs one by one.

    def launch(self, known: Mapping[Place, Outcomes]) -> None:
        """A launch is followed from here on; nothing more is to be learnt of what is `known` to have both outcomes."""
        self._known = known
        self._ends.clear()

    @contextmanager
    def followed(self) -> Iterator[dict[Place, Followed]]:
        """What a program compares that is run within."""
        self._now = now = dict[Place, Followed]()
        try:
            yield now
        finally:
            self._now = None

    def new(self, found: Mapping[Place, Followed]) -> set[Place]:
        """Places with outcomes in what a program compared that are new."""
        return {
            place
            for place, one in found.items()
            if one.outcomes.seen & ~(self.most.get(place, _NOTHING).seen | self._known.get(place, _NOTHING).seen)
        }

    def add(self, found: Mapping[Place, Followed], by_values: set[Place]) -> None:
        """Keep what a followed program compared; at places `by_values` outcomes may be anything."""
        for place, one in found.items():
            told = one.outcomes._replace(seen=0 if place in by_values else one.outcomes.seen)
            self.most[place] = self.most.get(place, _NOTHING).joined(told)

    def _follow(
        self, now: dict[Place, Followed], place: Place, found: Data, left: Data | int, right: Data | int
    ) -> None:
        if self._known.get(place, _NOTHING).seen == BOTH:
            return
        one = now.setdefault(place, Followed())
        spread = [self._varies((place, side), given) for side, given in enumerate((left, right))]
        outcomes = Outcomes(_outcome(found), _number(left, True), _number(right, True), any(spread))
        one.outcomes = one.outcomes.joined(outcomes)
        one.digest = hash((one.digest, *(np.asarray(given).tobytes() for given in (left, right))))

    def _varies(self, side: tuple[Place, int], given: Data | int) -> bool:
        """Whether a side is several numbers in this launch."""
        low, high = int(np.min(given)), int(np.max(given))
        least, most = self._ends.get(side, (low, high))
        self._ends[side] = ends = min(least, low), max(most, high)
        return ends[0] < ends[1]


_NOTHING = Outcomes()
comparisons = Comparisons()


def compared(kind: str, column: int, left: object, right: object) -> object:
    """`left < right` of a kernel, and its like; which outcomes it has is noted."""
    found = OPERATORS[kind](left, right)
    if not isinstance(found, tl.tensor) or not (_whole(left) and _whole(right)):
        return found
    frame = sys._getframe(1)
    if frame.f_code.co_filename == CANDIDATE:
        recorded.noted(_Note((frame.f_lineno, column)), *map(_bare, (found, left, right)))
    return found


class _Note:
    """Notes one comparison, for whoever does it for one program or for many."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __call__(self, found: Any, left: Any, right: Any) -> None:  # noqa: ANN401
        comparisons.note(self._place, found.data, getattr(left, "data", left), getattr(right, "data", right))


def _whole(side: object) -> bool:
    """Whether a side is whole numbers."""
    if isinstance(side, tl.tensor):
        return side.dtype.is_int()
    return isinstance(getattr(side, "value", side), int)


def _bare(side: Any) -> interpreter.TensorHandle | int:  # noqa: ANN401
    """A side's handle, or its number."""
    return side.handle if isinstance(side, tl.tensor) else int(getattr(side, "value", side))


def _outcome(found: Data) -> int:
    true = np.count_nonzero(found)  # which costs a tenth of what `all` does
    return TRUE if true == found.size else BOTH if true else FALSE


def _number(given: Data | int, surely: bool = False) -> int | type[Many]:
    """The number that all lanes are; the first and the last alone are looked at if not `surely`."""
    if isinstance(given, int):
        return given
    first = given.item(0)
    if first != given.item(-1) or (surely and not (given == first).all()):
        return Many
    return int(first)


def _same(one: int | type[Many] | None, other: int | type[Many] | None) -> int | type[Many] | None:
    return other if one is None else one if other is None or one == other else Many


def rows(outcomes: Mapping[Place, Outcomes]) -> list[list[int | bool | None]]:
    """Line, column, outcomes, the number of each side (None: several), and whether it spreads over a launch."""
    return [
        [*place, one.seen, *(side if isinstance(side, int) else None for side in (one.left, one.right)), one.spread]
        for place, one in sorted(outcomes.items())
    ]
