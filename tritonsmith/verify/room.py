"""How much of a GPU a task's variants take, and how far its dimensions may grow; on the CPU there is nothing to plan.

Bytes are counted on the reference without running it. Who waits for whom is `gpu`'s business.
"""

import contextlib
from contextlib import AbstractContextManager

from tritonsmith.tasks.format import TaskModule
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Task
from tritonsmith.verify import observe, roofline
from tritonsmith.verify.gpu import Gpu
from tritonsmith.verify.sizing import Sizes

_LARGE = 1 << 28
"""Bytes of inputs, weights and outputs from which a variant's memory is given back to the GPU at once."""
_MOST_ELEMENTS = (1 << 31) - 1
"""A kernel whose offsets have 32 bits is right for every tensor it was asked for; larger ones are another task."""
_PEAK = 10
"""Memory a variant takes at most, in multiples of its inputs, weights and outputs: the runner's copies, the
reference in two precisions, and the comparison."""


class Room:
    """One candidate's use of the GPU it is judged on, if any."""

    def __init__(self, task: Task, gpu: Gpu | None) -> None:
        self._task, self._gpu = task, gpu

    def beside(self) -> AbstractContextManager[None]:
        """Use of the GPU beside other candidates."""
        return contextlib.nullcontext() if self._gpu is None else self._gpu.shared()

    def taken(self, needs: int) -> AbstractContextManager[None]:
        """Wait until so many bytes may be planned with; not while the GPU is used."""
        return contextlib.nullcontext() if self._gpu is None else self._gpu.room(needs)

    @property
    def whole(self) -> bool:
        """Whether this thread has all the memory there is: what does not fit now never does."""
        return self._gpu is not None and self._gpu.whole

    def needs(self, variant: Variant) -> int:
        """Bytes of GPU memory that a variant takes at its peak; 0 on the CPU."""
        if self._gpu is None:
            return 0
        found = roofline.footprint(variant.task)
        return int(_PEAK * found.memory) if found else _LARGE

    @staticmethod
    def large(needs: int) -> bool:
        """Whether what a variant takes must be given back before anything else is done."""
        return needs > _PEAK * _LARGE

    def growth(self, prepared: Sizes) -> float:
        """The factor of the larger dimensions: less on the interpreter, and where offsets would outgrow 32 bits."""
        if self._gpu is None:
            return 2.0 if prepared.full.cap is None else 1.25
        given = self.needs(Variant("as given", self._task)) // _PEAK
        room = min(_MOST_ELEMENTS / max(_largest(self._task), 1), self._gpu.usable / _PEAK / max(1, given))
        return next((growth for growth in (2.0, 1.5, 1.25, 1.1) if growth**2 <= room), 1.05)


def _largest(task: Task) -> int:
    """Elements of the largest input, found without allocating it."""
    try:
        drawn = TaskModule.of(task).inputs(0, "meta")
    except Exception:  # not every get_inputs runs on meta tensors
        return 0
    return max((t.numel() for t in observe.tensors(drawn)), default=0)
