"""How much of a GPU a task's variants take, and how far its dimensions may grow; on the CPU there is nothing to plan.

Bytes are counted on the reference without running it; see `peak`. Who waits for whom is `gpu`'s business.
"""

import contextlib
from contextlib import AbstractContextManager

from tritonsmith.tasks.variants import Variant, larger
from tritonsmith.types import Task
from tritonsmith.verify.process.gpu import Gpu
from tritonsmith.verify.reference.footprint import footprint
from tritonsmith.verify.reference.peak import Peak, peak
from tritonsmith.verify.sizing import Sizes

_UNKNOWN = 2 << 30
"""Bytes that are planned with for a reference of which nothing is known without data."""
_LARGE = 3 << 29
"""Planned bytes from which on a variant's memory is given back to the GPU as soon as nobody needs it."""
_SPARE = 0.125
"""Share of what work may plan with up to which a variant's calls may be recorded."""
_MOST_ELEMENTS = (1 << 31) - 1
"""A kernel whose offsets have 32 bits is right for every tensor it was asked for; larger ones are another task."""
_GROWTHS = 2.0, 1.5, 1.25, 1.1, 1.05
_MODEST, _BRIEF = 8 << 30, 2e12
"""Planned bytes, and operations, up to which larger dimensions may cost any multiple of what the task's own do; beyond
them they may take so much more:"""
_TIMES_BYTES, _TIMES_WORK = 1.5, 4.0
_UNWEIGHED = 1 << 28
"""Planned bytes up to which operations are not counted, for so little memory has few."""


class Room:
    """One candidate's use of the GPU it is judged on, if any."""

    def __init__(self, gpu: Gpu | None) -> None:
        self._gpu = gpu

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

    def needs(self, variant: Variant, recorded: bool = False) -> int:
        """Bytes of GPU memory that a variant takes at most, on the judge's side and the runner's; 0 on the CPU.

        That is while what was timed is compared with the truth. What is given: the judge's, the runner's, and the
        runner's place for other contents. Outputs: one on each side. The reference in float64, twice its own peak. And
        what a library may take beside, of which nobody tells: the largest tensor in float64. Calls that are `recorded`
        keep outputs, and what they are made of, once more on each side.
        """
        if self._gpu is None:
            return 0
        found = peak(variant.task)
        if found is None:
            return _UNKNOWN
        sides = 4 if recorded else 2
        return 3 * found.given + sides * (found.made + found.most) + 8 * found.largest

    def settle(self, needs: int) -> None:
        """Give back what torch keeps of what the judge computed for a large variant: its runner needs it now."""
        if self._gpu is not None and self.large(needs):
            self._gpu.tidy()

    @staticmethod
    def large(needs: int) -> bool:
        """Whether what a variant takes must be given back before anything else is done."""
        return needs > _LARGE

    def spare(self, needs: int) -> bool:
        """Whether what a variant takes is so little that calls may be recorded beside it."""
        return self._gpu is None or needs <= _SPARE * self._gpu.usable

    def growth(self, prepared: Sizes) -> float | None:
        """The factor of the larger dimensions: less on the interpreter, and where that would take too much.

        None where offsets would outgrow 32 bits, or a GPU's memory, at any.
        """
        if self._gpu is None:
            return 2.0 if prepared.full.cap is None else 1.25
        task, usable = prepared.full.task, self._gpu.usable
        known = peak(task)
        if known is None or not known.whole:
            return _guessed(known)
        most = min(usable, max(_MODEST, int(_TIMES_BYTES * self.needs(Variant("as given", task)))))
        work = max(_BRIEF, _TIMES_WORK * _work(task))
        for growth in _GROWTHS:
            grown = larger(task, growth)
            found, needs = peak(grown), self.needs(Variant("larger dimensions", grown))
            fits = found is None or found.largest <= _MOST_ELEMENTS
            if fits and needs <= most and (needs <= _UNWEIGHED or _work(grown) <= work):
                return growth
        return None


def _guessed(known: Peak | None) -> float | None:
    """The growth where no forward tells: that of two dimensions of what is given."""
    most = _MOST_ELEMENTS / known.largest if known is not None and known.largest else _GROWTHS[0] ** 2
    return next((growth for growth in _GROWTHS if growth**2 <= most), None)


def _work(task: Task) -> float:
    """Operations of a reference's products; 0 where they are not known."""
    found = footprint(task)
    return found.flops if found else 0.0
