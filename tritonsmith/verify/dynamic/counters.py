"""Numbers by which a candidate counts its calls, and the same candidate after many more of them.

Who counts may do otherwise at the hundredth call, when nobody compares any more. What rises by the same step with every
call, in the model or in its module, is set to what it would be much later; the answer must stay right. Looks at whole
numbers (in closures, defaults and slots, too), lists that grow, and `itertools.count`. Who counts by anything else is
found by many calls, see `unrun`, as far as these go. `watching` asks, and compares.
"""

import itertools
from collections.abc import Iterator
from types import CellType, FunctionType, ModuleType

from torch import nn

FAR = (36_036_000, 10_000_019)
"""Calls to go on from: a multiple of what people divide by, and a prime."""
_LONG = 5000
"""Length that lists are grown to."""
_DEPTH, _MOST, _STEP = 4, 4096, 64
_SEEN = 3
"""Looks that tell a step."""

_Key = tuple[int, object]


class Counters:
    """What one model and its module count, look by look."""

    def __init__(self) -> None:
        self._looks: list[dict[_Key, int]] = []
        self._places: dict[_Key, tuple[object, object]] = {}

    def look(self, model: nn.Module, module: ModuleType) -> None:
        """A call has ended."""
        found: dict[_Key, int] = {}
        self._places = {}
        roots: list[object] = [vars(module), *(vars(inner) for inner in _modules(model))]
        for root in roots:
            self._walk(root, found, _DEPTH, module)
        for kind in [value for value in vars(module).values() if _is_own(value, module)]:
            for name, value in list(vars(kind).items()):
                if type(value) is int and not name.startswith("__"):
                    found[id(kind), name] = value
                    self._places[id(kind), name] = kind, name
                elif type(value) in (dict, list, FunctionType):
                    self._walk(value if type(value) is not FunctionType else (value,), found, _DEPTH, module)
        self._looks = [*self._looks[1 - _SEEN :], found]

    def rising(self) -> list[_Key]:
        """What rose by the same step in the last calls."""
        if len(self._looks) < _SEEN:
            return []
        first, second, third = self._looks[-_SEEN:]
        both = first.keys() & second.keys() & third.keys()
        return [key for key in both if 0 < second[key] - first[key] == third[key] - second[key] <= _STEP]

    def advance(self, far: int) -> int:
        """Let everything that counts be one step before `far`; gives the calls which that would have taken at most."""
        calls = 0
        for key in self.rising():
            owner, name = self._places[key]
            step = self._looks[-1][key] - self._looks[-2][key]
            calls = max(calls, (far - self._looks[-1][key]) // step - 1, key=abs)
            if isinstance(owner, list) and name is None:
                owner.extend(owner[-1:] * max(0, _LONG - len(owner) - step))
            elif isinstance(owner, (dict, list)):
                owner[name] = self._stepped(owner[name], far, step)  # type: ignore[index]
            elif isinstance(name, str):
                setattr(owner, name, far - step)
        return calls

    @staticmethod
    def _stepped(value: object, far: int, step: int) -> object:
        return itertools.count(far - step, step) if isinstance(value, itertools.count) else far - step

    def _walk(self, holder: object, found: dict[_Key, int], depth: int, module: ModuleType) -> None:
        if depth == 0 or len(found) >= _MOST:
            return
        if isinstance(holder, list):
            found[id(holder), None] = len(holder)
            self._places[id(holder), None] = holder, None
        pairs = list(holder.items()) if isinstance(holder, dict) else list(enumerate(holder))  # type: ignore[arg-type]
        for name, value in pairs[:_MOST]:
            if isinstance(name, str) and name.startswith("__"):
                continue
            if type(value) is int or isinstance(value, itertools.count):
                number = value if type(value) is int else int(repr(value).strip("count()").split(",")[0] or 0)
                found[id(holder), name] = number
                self._places[id(holder), name] = holder, name
            elif type(value) in (dict, list):
                self._walk(value, found, depth - 1, module)
            elif _is_own(type(value), module) and isinstance(getattr(value, "__dict__", None), dict):
                self._walk(vars(value), found, depth - 1, module)
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                self._walk(_held_by(value), found, depth - 1, module)
            for owner, inner in _attributes(value, module):
                if type(held := getattr(owner, inner, None)) is int:
                    found[id(owner), inner] = held
                    self._places[id(owner), inner] = owner, inner


def _held_by(function: FunctionType) -> tuple[object, ...]:
    """What a function holds on to from call to call; for plain numbers in its closure see `_attributes`."""
    cells = (cell.cell_contents for cell in function.__closure__ or () if _filled(cell))
    every = (vars(function), *(function.__defaults__ or ()), *cells)
    return tuple(one for one in every if type(one) is not int)


def _attributes(value: object, module: ModuleType) -> Iterator[tuple[object, str]]:
    """Where a function's closure, and an object with slots, may hold numbers."""
    if isinstance(value, FunctionType) and value.__module__ == module.__name__:
        yield from ((cell, "cell_contents") for cell in value.__closure__ or () if _filled(cell))
    elif _is_own(type(value), module):
        for kind in type(value).__mro__:
            slots = vars(kind).get("__slots__", ())
            yield from ((value, name) for name in ([slots] if isinstance(slots, str) else slots))


def _filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _modules(model: nn.Module) -> list[nn.Module]:
    return list(nn.Module.modules(model))


def _is_own(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__
