"""Which elements some programs of a forward stored, and which of these stay whatever the others do.

A right kernel is right whoever comes first, so the programs that ran may be the first ones. What one of them stored
is overwritten, or added to, by another only where that one has heard that it is there, or what two programs do to one
place would have no order. To be heard of, a program changes something by an atomic afterwards: it gives a lock back,
counts itself in, says that its part is ready. So what it stores after its last such atomic stays, and what it stored
before may be a part of what is to come. An atomic that changes nothing says nothing. What was only added to by atomics
is a part as well.

Runs beside the candidate; judges nothing.
"""

import numpy as np
import numpy.typing as npt
import torch

from tritonsmith.verify.dynamic.observe import address

Places = npt.NDArray[np.int64]
_NOTHING, _STAYS, _PART = 0, 1, 2


class Stored:
    """What one forward stored; each element goes by its first byte."""

    def __init__(self) -> None:
        self._states: dict[int, npt.NDArray[np.uint8]] = {}
        """By the address of a storage what is known of each of its bytes."""
        self._by: dict[int, set[int]] = {}
        """By the address of a storage the launches that stored to it, or used atomics on it."""
        self._sizes: dict[int, int] = {}
        self._added: set[int] = set()
        """Storages that atomics added to where no program stored."""
        self._launch = 0
        self._own: list[tuple[int, Places]] = []
        """What the present program stored."""
        self._unsaid: list[tuple[int, Places]] = []
        """... since its last atomic that changed anything."""

    def launch(self, sizes: dict[int, int]) -> None:
        """Another launch begins, which may use storages of these sizes."""
        self._launch += 1
        self._sizes |= sizes

    def begin(self) -> None:
        """Another program begins."""
        self._own, self._unsaid = [], []

    def used(self, start: int) -> None:
        """The present launch has an atomic on a storage, whatever its mask lets through."""
        self._by.setdefault(start, set()).add(self._launch)

    def store(self, start: int, at: Places) -> None:
        """The present program stores to those places of a storage."""
        self.used(start)
        if start not in self._states:
            self._states[start] = np.zeros(self._sizes[start], np.uint8)
        self._states[start][at] = _STAYS
        self._own.append((start, at))
        self._unsaid.append((start, at))

    def changed(self, start: int, at: Places) -> None:
        """The present program has changed those places of a storage by an atomic, which others may hear."""
        for other, places in self._unsaid:
            self._states[other][places] = _PART
        self._unsaid = []
        states = self._states.get(start)
        if states is None or len(self._by[start]) > 1 or not states[at].all():
            self._added.add(start)
        if states is not None:
            states[at[states[at] != _NOTHING]] = _PART

    def undone(self) -> None:
        """The present program does not come to its end, and might store something else."""
        for start, places in self._own:
            self._states[start][places] = _NOTHING

    def elements(self, tensor: torch.Tensor, stays: bool) -> torch.Tensor | None:
        """Which of a tensor's elements one launch stored that stay, or may be parts; None where that is not known."""
        states = self._states.get(start := address(tensor))
        if states is None or len(self._by[start]) > 1 or tensor.layout != torch.strided:
            return None
        size = tensor.element_size()
        stride = tuple(step * size for step in tensor.stride())
        found = torch.from_numpy(states).as_strided(tensor.shape, stride, tensor.storage_offset() * size)
        return found == (_STAYS if stays else _PART)

    def added(self, tensor: torch.Tensor) -> bool:
        """Whether atomics made some of what a tensor's storage holds."""
        return address(tensor) in self._added
