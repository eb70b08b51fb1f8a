"""A forward whose kernels are not run must leave nothing behind: what they would have written is kept.

A candidate may prepare a weight, or a table, with a kernel at its first call, and keep it in its module's names, in
its classes and their instances, in a function's defaults or in a memory that `functools` made. `remember` notes these
before a rehearsal, and what it gives puts them back. The model itself is another one afterwards; that is `runner`'s
work. Looks at the candidate's own module only, and never into Triton's functions: their compiled kernels are to stay.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CellType, FunctionType, ModuleType

_MEMO = type(functools.lru_cache(lambda: None))
_DEPTH = 6
"""How deep containers are followed into each other."""

Known = dict[int, tuple[object, object]]
"""By identity a container, and a copy of it."""


def remember(module: ModuleType) -> Callable[[], None]:
    """Note what a module's names, classes and functions hold; calling the result puts it back."""
    own = [value for value in vars(module).values() if _is_own(value, module)]
    spaces: list[ModuleType | type] = [module, *own]
    names = [(space, _named(space)) for space in spaces]
    known: Known = {}
    for _, held in names:
        for value in held.values():
            _note(value, module, known, _DEPTH)
    # One that is full has as many entries afterwards, of which some are others.
    memos = [(memo, memo.cache_info().misses) for _, held in names for memo in _memos(held.values())]

    def undo() -> None:
        for space, held in names:
            _rebind(space, held)
        for container, contents in known.values():
            _refill(container, contents)
        for memo, misses in memos:
            if memo.cache_info().misses != misses:
                memo.cache_clear()

    return undo


def _is_own(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__


def _named(space: ModuleType | type) -> dict[str, object]:
    """What a module's or a class's names stand for, but for those that are Python's."""
    return {name: value for name, value in vars(space).items() if not name.startswith("__")}


def _note(value: object, module: ModuleType, known: Known, depth: int) -> None:
    """Copy a container's contents, and those of what is in it; of a function what it holds on to."""
    if depth == 0 or id(value) in known:
        return
    parts: Sequence[object] = ()
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        parts = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *cells, vars(value)]
    elif isinstance(value, (staticmethod, classmethod)):
        parts = [value.__func__]
    elif isinstance(value, (dict, list, set)):
        known[id(value)] = value, dict(value) if isinstance(value, dict) else list(value)
        parts = [*value.values()] if isinstance(value, dict) else [*value]
    elif isinstance(value, tuple):
        parts = value
    elif _is_own(type(value), module):
        parts = [getattr(value, "__dict__", None)]
    for part in parts:
        _note(part, module, known, depth - 1)


def _filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _rebind(space: ModuleType | type, held: dict[str, object]) -> None:
    now = _named(space)
    for name in now.keys() - held.keys():
        delattr(space, name)
    for name, value in held.items():
        if name not in now or now[name] is not value:
            setattr(space, name, value)


def _refill(container: object, contents: object) -> None:
    """Give a container back what it held, if it holds something else."""
    if isinstance(container, dict) and isinstance(contents, dict):
        if _same([*container.keys(), *container.values()], [*contents.keys(), *contents.values()]):
            return
        container.clear()
        container.update(contents)
    elif isinstance(container, (list, set)) and isinstance(contents, list) and not _same([*container], contents):
        container.clear()
        container.extend(contents) if isinstance(container, list) else container.update(contents)


def _same(now: Sequence[object], before: Sequence[object]) -> bool:
    return len(now) == len(before) and all(one is other for one, other in zip(now, before, strict=True))


def _memos(values: Iterable[object]) -> "Iterator[functools._lru_cache_wrapper[object]]":
    for value in values:
        inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if isinstance(inner, _MEMO):
            yield inner
