"""The tasks of a build in chunks of a fixed order, so that they can be drawn by many processes and again after a kill.

The generator's SPEC (`graphs`, `graphs:500:depth=1-6`) gives chunks without end, or up to its number; any other SPEC
gives the tasks it names. Chunk k of a SPEC under a seed is always the same. Does not look for equal graphs: see
`build`.
"""

import hashlib
from dataclasses import dataclass
from functools import cache

from tritonsmith.data.store import Item
from tritonsmith.errors import UserError
from tritonsmith.tasks import graphs
from tritonsmith.tasks.canonical import canonical
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Task

CHUNK = 32
"""Tasks that are drawn together."""

GENERATOR = "graphs"
"""The head of the SPEC of tasks without end."""


@dataclass(frozen=True)
class Drawing:
    """Which tasks a build is made of."""

    spec: str
    seed: int = 0
    styles: int = 1
    """Writings of each graph."""
    canonical: bool = False
    """Whether tasks come in canonical form (`tasks.canonical`), to train models that are asked so."""

    def chunk(self, number: int) -> list[Item] | None:
        """The tasks of a chunk, every writing a task; None behind the last chunk. Raises UserError for a bad SPEC."""
        items = self._chunk(number)
        if items is None or not self.canonical:
            return items
        return [item.model_copy(update={"task": canonical(item.task)}) for item in items]

    def _chunk(self, number: int) -> list[Item] | None:
        """The tasks as they are written."""
        head, *parts = self.spec.split(":")
        if "," in self.spec or head != GENERATOR:
            tasks = _named(self.spec)[number * CHUNK : (number + 1) * CHUNK]
            return [Item(chunk=number, place=i, task=task) for i, task in enumerate(tasks)] or None
        left = CHUNK
        if parts and parts[0].isdigit():
            left = min(CHUNK, int(parts.pop(0)) - number * CHUNK)
        if left <= 0:
            return None
        if parts and parts[0].isdigit():
            parts[0] = f"seed={parts[0]}"
        own = {key: value for key, _, value in (part.partition("=") for part in parts)}
        seed = int(hashlib.sha256(f"{self.seed}/{own.pop('seed', 0)}/{number}".encode()).hexdigest()[:7], 16)
        options = {"split": "all", **own}
        words = [f"{key}={value}" if value else key for key, value in options.items()]
        try:
            drawn = graphs.from_spec(":".join([str(left), f"seed={seed}", *words]))
        except ValueError as error:
            raise UserError(f"{self.spec}: {error}") from error
        return self._written(number, drawn, seed, options.get("sizes") == "small")

    def most(self) -> int | None:
        """How many tasks there are, at most; None where a generator has no end."""
        head, *parts = self.spec.split(":")
        if "," in self.spec or head != GENERATOR:
            return len(_named(self.spec))
        return int(parts[0]) * self.styles if parts and parts[0].isdigit() else None

    def _written(self, number: int, drawn: list[Task], seed: int, small: bool = False) -> list[Item]:
        items: list[Item] = []
        for task in drawn:
            seen: set[str] = set()
            for style in range(self.styles):
                written = task if style == 0 else _again(task, seed + style, small)
                if written.source not in seen:
                    seen.add(written.source)
                    items.append(Item(chunk=number, place=len(items), style=style, task=written))
        return items


@cache
def _named(spec: str) -> list[Task]:
    return load_spec(spec)


def _again(task: Task, style: int, small: bool) -> Task:
    """The same graph in another writing, of sizes of the same kind."""
    return graphs.task(graphs.Graph.parse(str(task.graph)), style, small)
