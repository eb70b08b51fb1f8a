"""Operators that ran where no observer looks: torch's profiler counts them in C++, below every mode and guard.

`observe` and `work` are dispatch modes, and torch can be told to pass those by. What the profiler alone saw was hidden
from them. Looks at one forward; whether what was seen may run is `conduct`'s.
"""

import functools
from collections.abc import Collection, Iterable
from types import TracebackType

import torch
from torch.autograd import profiler
from torch.autograd.profiler_util import FunctionEvent


class Hidden:
    """Profile a block, and tell afterwards what of it was hidden."""

    def __init__(self) -> None:
        self._profile = profiler.profile()

    def __enter__(self) -> "Hidden":
        self._profile.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._profile.__exit__(kind, error, trace)

    def beside(self, seen: Collection[str]) -> list[str]:
        """Names of operators that ran and are not among those `seen` (`aten.add.Tensor`), nor a part of one."""
        known = {name.split(".")[1] for name in seen if name.count(".")}
        events = self._profile.function_events or ()
        return sorted(set(_hidden([one for one in events if one.cpu_parent is None], known)))


def _hidden(events: Iterable[FunctionEvent], known: Collection[str]) -> Iterable[str]:
    for event in events:
        space, mark, name = event.name.partition("::")
        if mark and space == "aten" and name in known:
            continue
        if mark and space == "aten" and not _is_composite(name):
            yield name
        else:
            yield from _hidden(event.cpu_children, known)


@functools.cache
def _is_composite(name: str) -> bool:
    """Whether an operator is made of others, each of which is seen by itself."""
    packet = getattr(torch.ops.aten, name, None)
    names = [f"aten::{name}.{one}".removesuffix(".default") for one in packet.overloads()] if packet is not None else []
    known = filter(torch._C._dispatch_has_kernel, names)  # some are TorchScript's alone
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(one, "CompositeImplicitAutograd") for one in known)
