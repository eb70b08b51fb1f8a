"""Which outputs of a reference take no computing: its inputs and weights handed on, moved or copied, and constants.

`return x, self.table, y` is honest in a reference, and a kernel that wrote `x` and `self.table` anew would be foolish:
a candidate may leave such outputs to torch, and give old memory where the reference does. Runs the task's code, never a
candidate's. What a candidate's own outputs hold `observe` and `work` see.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.tasks.copied import inputs_copied, model_copied
from tritonsmith.tasks.format import seeded
from tritonsmith.tasks.trees import FLOAT8
from tritonsmith.verify.dynamic.conduct import computes
from tritonsmith.verify.dynamic.observe import address, tensors
from tritonsmith.verify.dynamic.work import is_constant, rearranges, resembles

_LARGEST, _MOST = 1 << 16, 1 << 10
"""Elements of what is kept to compare an output with, and how many of such."""
_NOTHING, _GIVEN, _COMPUTED = 0, 1, 2
"""What a storage's contents come from: nothing that was given, what was given, a computation on it."""


@dataclass(frozen=True)
class Passed:
    """Places of a reference's outputs, in the order of its tensors."""

    free: frozenset[int] = frozenset()
    """Those that may be left to torch because others are the task."""
    old: frozenset[int] = frozenset()
    """Those in memory that was there before the call."""
    moving: bool = False
    """Whether the task is to bring what was given to other places, and nothing else."""
    reads: bool = False
    """Whether an output comes from the contents of what was given, and not from its sizes alone."""
    resembles: bool = field(default=False, compare=False)
    """Whether an output is nearly something that was given or computed on the way, but for a factor and a summand."""
    rearranges: bool = field(default=False, compare=False)
    """Whether an output holds the values of such a tensor at other places."""


def passed(model: nn.Module, inputs: Sequence[object]) -> Passed:
    """What a reference merely passes on."""
    fresh, given = model_copied(model), inputs_copied(inputs)
    lineage = _Lineage([*tensors(given), *fresh.state_dict().values()])
    with seeded(0), torch.no_grad(), lineage:
        outputs = list(tensors(fresh(*given)))
    free = frozenset(place for place, t in enumerate(outputs) if lineage.of(t) < _COMPUTED)
    old = frozenset(place for place, t in enumerate(outputs) if address(t) not in lineage.made)
    moving = len(free) == len(outputs)
    if moving:  # what is not even moved may be handed on
        free = old if len(old) < len(outputs) else frozenset()
    reads = any(lineage.of(t) > _NOTHING for t in outputs)
    resembling, rearranging = (any(map(ends, outputs)) for ends in (lineage.resembles, lineage.rearranges))
    return Passed(free, old, moving, reads, resembling, rearranging)


class _Lineage(TorchDispatchMode):
    """Follows through a forward, storage by storage, what contents come from."""

    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._levels = {address(t): _GIVEN for t in given}
        self.made: set[int] = set()
        """Addresses of the storages that operators allocated."""
        self._alive: list[torch.Tensor] = []  # so that no address is handed out twice
        self._values = [t.detach().clone() for t in given if t.numel() <= _LARGEST]

    def of(self, tensor: torch.Tensor) -> int:
        """What a tensor's contents come from."""
        return self._levels.get(address(tensor), _NOTHING)

    def resembles(self, output: torch.Tensor) -> bool:
        """Whether an output is nearly what was given or computed before it, and not the same.

        8-bit floats are what was computed before it, rounded to them.
        """
        narrow = output.dtype in FLOAT8
        others = (t for t in self._values if t.shape == output.shape and (narrow or t.dtype == output.dtype))
        return any(resembles(output, t) for t in others if t.dtype != output.dtype or not torch.equal(t, output))

    def rearranges(self, output: torch.Tensor) -> bool:
        """Whether an output holds the values of what was given or computed before it at other places."""
        return any(rearranges(output, other) for other in self._values)

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        read = list(tensors((args, named)))
        known = {address(t) for t in read}
        level = max(map(self.of, read), default=_NOTHING)
        if level == _GIVEN and computes(str(func)):
            level = _COMPUTED
        if is_constant(str(func)):
            level = _NOTHING
        result = func(*args, **named)
        mutable = bool(getattr(getattr(func, "_schema", None), "is_mutable", False))
        for tensor in (*tensors(result), *(read[:1] if mutable else ())):
            at = address(tensor)
            if at not in known or ".lift" in str(func):  # `torch.tensor` allocates unseen, and lifts what it made
                self.made.add(at)
            if tensor.numel() <= _LARGEST and len(self._values) < _MOST:
                self._values.append(tensor.detach().clone())
            self._levels[at] = max(level, self._levels.get(at, _NOTHING))
            self._alive.append(tensor)
        return result
