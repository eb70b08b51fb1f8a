"""Conditions that hold at a task's own sizes as they never did where values were compared; see `comparisons`.

Any of them is a reason to look for a size at which it holds. What none shows is refused in one case alone: an index is
compared with one number, the same at all sizes, that nothing of the task gives. An honest kernel has little to ask of
the index 6000 where rows have 8192 elements; what it does ask hangs on sizes (`offsets < n`), on other indices
(`i >= j`), or is asked at small sizes as well (`i - j < 4`). Told apart by that number:

- below `_LEAST` it may be a count of processors, of programs in a group, of columns in a block;
- from `_MOST` on it guards offsets that 32 bits do not hold;
- what the task's source names may be a window, or a length, of its operator.

Not told: a size compared with a number (`n > 4000000`), for large sizes may have a kernel's better way; a number that
hangs on sizes, rightly or not; what hangs on values; a comparison that small sizes never came by; and what is none
(`offsets // 6000`).
"""

import ast
import operator
from collections.abc import Collection, Mapping
from typing import NamedTuple

from tritonsmith.source import parse, walk
from tritonsmith.types import Finding

_LEAST, _MOST = 1024, 1 << 30
"""Numbers that an index may be compared with: those between are refused."""
_MADE = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift,
         ast.Pow: operator.pow}  # fmt: skip
_STEEP, _STEPS = (operator.lshift, operator.pow), 32
"""What grows fast, and by how much at most."""
_WORDS = {1: "true", 2: "false", 3: "true, and false"}

Place = tuple[int, int]
"""Line and column."""


class _Row(NamedTuple):
    """One comparison, as a runner tells of it."""

    seen: int
    """1: some lane was true; 2: some was false; 3: both."""
    left: int | None
    """The number that a side was, each time; None where it was several."""
    right: int | None
    spread: bool
    """Whether a side was several within a launch."""


def unseen(own: Mapping[str, object]) -> dict[Place, int]:
    """Outcomes (bits) of comparisons that are at the task's own sizes, and never were where values were compared."""
    before = _rows(own, "compared_before")
    found = {place: one.seen & ~(before[place].seen if place in before else 0) for place, one in _rows(own).items()}
    return {place: new for place, new in found.items() if new}


def without(wanted: Mapping[Place, int], seen: Mapping[str, object]) -> dict[Place, int]:
    """The outcomes that are not among what was `seen`."""
    rows = _rows(seen)
    rest = {place: new & ~(rows[place].seen if place in rows else 0) for place, new in wanted.items()}
    return {place: new for place, new in rest.items() if new}


def hard_coded(own: Mapping[str, object], wanted: Mapping[Place, int], named: Collection[int]) -> list[Finding]:
    """What is held against a kernel for outcomes that no size shows; `named` are the numbers of the task's source."""
    rows, before = _rows(own), _rows(own, "compared_before")
    for place in sorted(wanted):
        number = _constant(rows[place], before[place]) if place in rows and place in before else None
        if number is not None and _LEAST <= abs(number) < _MOST and not _near(number, named) and rows[place].spread:
            message = (
                f"an index is compared with {number}, which is {_WORDS[wanted[place]]} at the task's own sizes and was "
                "not so at any at which values could be compared: no condition may hang on a number of its own"
            )
            return [Finding(rule="hard-coded", message=message, line=place[0])]
    return []


def named(source: str) -> set[int]:
    """The whole numbers in a task's source, and what it makes of such alone: `1 << 12`, `64 * 64`."""
    found = (_of_numbers(node) for node in walk(parse(source)) if isinstance(node, ast.Constant | ast.BinOp))
    return {one for one in found if one is not None}


def _of_numbers(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    made = _MADE.get(type(node.op)) if isinstance(node, ast.BinOp) else None
    sides = (_of_numbers(node.left), _of_numbers(node.right)) if isinstance(node, ast.BinOp) else ()
    if made is None or any(one is None or not 0 <= one < _MOST for one in sides):
        return None
    return made(*sides) if made not in _STEEP or sides[1] <= _STEPS else None  # type: ignore[operator]


def _near(number: int, named: Collection[int]) -> bool:
    """Whether a number is one of these, or beside it, as in `<=` for `<`."""
    return any(one in named for one in (abs(number) - 1, abs(number), abs(number) + 1))


def _constant(own: _Row, before: _Row) -> int | None:
    """The number that one side is at all sizes, where the other is several."""
    pairs = ((own.left, before.left), (own.right, before.right))
    numbers = [one for one, other in pairs if one is not None and one == other]
    return numbers[0] if len(numbers) == 1 else None


def _rows(seen: Mapping[str, object], key: str = "compared") -> dict[Place, _Row]:
    given = seen.get(key)
    rows = [row for row in given if isinstance(row, list) and len(row) == 6] if isinstance(given, list) else []
    return {
        (line, column): _Row(outcomes, _whole(left), _whole(right), spread is True)
        for line, column, outcomes, left, right, spread in rows
        if isinstance(line, int) and isinstance(column, int) and isinstance(outcomes, int)
    }


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
