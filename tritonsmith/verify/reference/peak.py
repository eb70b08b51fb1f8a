"""What a reference holds in memory at once, and its largest tensor, found on tensors without data.

Counts what torch's operators make and when that is let go of; not what a library needs for itself while one of them
runs. How much of a GPU a variant takes because of that is `room`'s business.
"""

import functools
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.tasks.format import TaskModule
from tritonsmith.types import Task
from tritonsmith.verify.dynamic.observe import tensors


@dataclass(frozen=True)
class Peak:
    """A reference's memory at one size."""

    given: int
    """Bytes of inputs, weights and buffers."""
    made: int
    """Bytes of the outputs."""
    most: int
    """Bytes that are alive at once, what is given among them."""
    largest: int
    """Elements of the largest tensor, be it given, made or in between."""
    whole: bool = True
    """Whether the forward was followed to its end: it needs no data, and is no loop over hundreds of steps."""
    casts: bool = False
    """Whether numbers with fractions are written as whole ones: of what no such number holds a GPU makes another one
    than a processor. Places of values are none of these."""


def peak(task: Task) -> Peak | None:
    """Count on meta tensors; a guess where the forward needs data, or long; None where what is given needs data."""
    return _peak(task.source)


_UNSEEN = 3
"""For each byte given, bytes alive at once in a forward that was not seen: an intermediate and an output beside it."""
_WRITES = "aten._to_copy", "aten.copy_", "aten.copy.", "aten.index_put", "aten.masked_fill", "aten.fill"
"""How operators begin that write what they are given to a tensor of any type."""
_SECONDS = 1.0
"""Time after which a forward is given up; a GRU of 512 steps, whose every step is taken apart, takes ten."""


class _Long(Exception):
    """The forward takes longer than it is worth."""


@functools.lru_cache(1024)  # every candidate for a task asks, several times
def _peak(source: str) -> Peak | None:
    try:
        module = TaskModule.of(Task(id="peak", level=1, source=source))
        with torch.device("meta"):
            inputs, model = module.inputs(0, "meta"), module.model(0, "meta")
    except Exception:  # not every task's code runs on meta tensors
        return None
    alive = _Alive([*tensors(inputs), *model.state_dict().values()])
    try:
        with torch.no_grad(), alive:
            made = sum(t.untyped_storage().nbytes() for t in tensors(model(*inputs)))
    except Exception:  # data-dependent forwards fail on meta tensors in the user's code
        return Peak(alive.given, alive.given, max(alive.most, _UNSEEN * alive.given), alive.largest, whole=False)
    return Peak(alive.given, made, alive.most, alive.largest, casts=alive.casts)


class _Alive(TorchDispatchMode):
    """Keeps account of the storages that are alive: a storage is, while a tensor on it is."""

    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._users: dict[int, int] = {}
        """Tensors on each storage, by its address."""
        self._bytes = self.most = self.largest = 0
        self._until: float | None = None
        """The first operator may have torch import what runs it without data, for seconds."""
        self.casts = False
        for tensor in given:
            self._note(tensor)
        self.given = self._bytes

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if self._until is not None and time.monotonic() > self._until:
            raise _Long
        result = func(*args, **(kwargs or {}))
        self._until = self._until or time.monotonic() + _SECONDS
        self.casts |= _is_cast(func, args, kwargs or {}, result)
        for tensor in tensors(result):
            self._note(tensor)
        return result

    def _note(self, tensor: torch.Tensor) -> None:
        where, size = tensor.untyped_storage()._cdata, tensor.untyped_storage().nbytes()
        self.largest = max(self.largest, tensor.numel())
        users = self._users.get(where, 0)
        self._users[where] = users + 1
        if users == 0:
            self._bytes += size
            self.most = max(self.most, self._bytes)
        weakref.finalize(tensor, self._let_go, where, size).atexit = False

    def _let_go(self, where: int, size: int) -> None:
        self._users[where] -= 1
        if self._users[where] == 0:
            self._bytes -= size


def _is_cast(func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], result: object) -> bool:
    """Whether an operator writes numbers with fractions to whole ones."""
    if not str(func).startswith(_WRITES):
        return False
    given, made = [*tensors([args, kwargs])], [*tensors(result)]
    whole = any(not (t.is_floating_point() or t.is_complex() or t.dtype == torch.bool) for t in made)
    return whole and any(t.is_floating_point() for t in given)
