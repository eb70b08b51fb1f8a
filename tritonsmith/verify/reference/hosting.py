"""Which tasks a judge of a GPU's candidates answers on the host: small ones, for which the GPU is no help.

Whoever computes on a GPU waits for its turn beside others, some milliseconds for each number that is asked for
(`benchmarks/sharing.py`); a forward of a few kilobytes takes less on a core. Values are judged alike: the truth is in
float64, and what the reference makes of the task's own dtype is a measure of rounding. Decides by a task's sizes and
operators; whether its reference runs on the host `material` finds out.
"""

from collections.abc import Hashable

from tritonsmith.tasks.trees import leaves
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Task
from tritonsmith.verify.numerics import Truth
from tritonsmith.verify.reference.peak import peak

_SMALL = 1 << 18
"""Bytes of everything that is alive at once, at most."""


class Hosting:
    """Where variants are drawn and answered, of all tasks of one judge."""

    def __init__(self, cuda: bool) -> None:
        self._cuda = cuda
        self.device = "cuda" if cuda else "cpu"
        """Where candidates run, and are constructed: the same seed gives other weights elsewhere."""
        self._elsewhere: set[Hashable] = set()

    def hosted(self, variant: Variant, own: Task) -> bool:
        """Whether a variant of the task `own` is on the host, and candidates are not: where it is small, and no task's
        own size, at which it is timed."""
        if not self._cuda or variant.task.source == own.source or not small(variant.task):
            return False
        return not {key_of(variant), key_of(Variant("as given", variant.task))} & self._elsewhere

    def leave(self, variant: Variant) -> None:
        """Have a variant drawn and answered where candidates run from here on."""
        self._elsewhere.add(key_of(variant))


def may_run_elsewhere(reason: Exception) -> bool:
    """Whether a reference that fails on the host for some `reason` may run on a GPU; else there is no such variant."""
    return isinstance(reason, (RuntimeError, AssertionError))


def small(task: Task) -> bool:
    """Whether a task is as well answered on the host."""
    found = peak(task)
    return found is not None and found.whole and not found.casts and found.most <= _SMALL


def on_host(truth: Truth) -> bool:
    """Whether what an output is compared with lies on the host."""
    return not any(tensor.is_cuda for tensor in leaves(truth.native))


def key_of(variant: Variant) -> Hashable:
    """What tells a variant's contents from another's."""
    how = variant.factor, variant.dtype, variant.values, variant.strided, variant.weights, variant.named
    return variant.task.source, variant.label, *how
