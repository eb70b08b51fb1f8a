"""The sources of answers by name, imported when one is asked for: each a function from a task to a pair or a miss."""

from collections.abc import Callable
from importlib import import_module

from tritonsmith.data.pair import Miss, Pair
from tritonsmith.errors import UserError
from tritonsmith.types import Task

Source = Callable[[Task], Pair | Miss]

SOURCES: dict[str, str] = {
    "inductor": "tritonsmith.data.inductor",
    "pieces": "tritonsmith.data.lower:pieces",
    "templates": "tritonsmith.data.lower:templates",
}
"""Modules, with their function where it is not `convert`, by the name under which rows know them."""


def source(name: str) -> Source:
    """The function behind a name, or behind `module:function`; raises UserError where there is none."""
    module, _, function = SOURCES.get(name, name).partition(":")
    if name in SOURCES:
        function = function or "convert"
    elif not function:
        raise UserError(f"there is no source of answers {name!r}: write {', '.join(SOURCES)} or module:function")
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"source {name}: {error}") from error
