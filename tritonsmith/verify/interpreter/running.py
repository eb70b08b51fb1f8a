"""What runs in this process's interpreter, the innermost launch last: its kernel, who watches it, whose turn it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tritonsmith.verify.dynamic.cover import Tally
from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.dynamic.sampled import Sample
from tritonsmith.verify.interpreter import shuffling
from tritonsmith.verify.interpreter.shadow import Shadow

Watcher = Shadow | Tally | Sample
"""Who is told of a launch's accesses: what checks them, or what runs a few of its programs alone."""


@dataclass
class Running:
    """Read and changed by what is patched into the interpreter."""

    launches: Launches
    patched: set[frozenset[int]]
    """What the interpreter has patched for the launch under way; see `language`."""
    watchers: list[Watcher] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    """Which kernels, as `arguments.identity` tells them."""
    turns: list[shuffling.Turns] = field(default_factory=list)
    habits: shuffling.Habits = field(default_factory=shuffling.Habits)
    habit: list[shuffling.Habit] = field(default_factory=lambda: [shuffling.Habit()])

    @contextmanager
    def watched(self, watcher: Watcher) -> Iterator[None]:
        """A launch begins, and ends."""
        self.watchers.append(watcher)
        self.patched.clear()
        try:
            yield
        finally:
            self.watchers.pop()

    def misused(self, rule: str, message: str) -> None:
        """Note what Triton does not promise, or a GPU does not do."""
        if self.watchers:
            self.watchers[-1].misused(rule, message)

    def broken(self, rule: str, message: str) -> None:
        """Note a promise that does not hold, where values are what they are on a GPU."""
        if self.watchers and isinstance(self.watchers[-1], Shadow):
            self.watchers[-1].misused(rule, message)

    def meet(self) -> None:
        """The threads of a program wait for each other."""
        if self.watchers:
            self.watchers[-1].meet()

    def asked(self, pointers: shuffling.Array, found: shuffling.Array) -> None:
        """The present program found this by an atomic, or a load."""
        if self.turns:
            self.turns[-1].asked(pointers, found)
