"""The sources of answers by name, imported when one is asked for: each a function from a task to a pair or a miss."""

from collections.abc import Callable
from importlib import import_module

from tritonsmith.data.pair import Miss, Pair
from tritonsmith.errors import UserError
from tritonsmith.types import Task

Source = Callable[[Task], Pair | Miss]

SOURCES: dict[str, str] = {
    "inductor": "tritonsmith.data.inductor",
    "templates": "tritonsmith.data.lower",
}
"""Modules with a function `convert`, by the name under which rows know them."""


def source(name: str) -> Source:
    """The function behind a name; raises UserError for a name there is not."""
    if name not in SOURCES and name != "old":
        raise UserError(f"there is no source of answers {name!r}; there are {', '.join(SOURCES)}")
    if name == "old":
        from tritonsmith.data import templates
        return lambda t: Pair(**vars(templates.pair(t)))
    return import_module(SOURCES[name]).convert
