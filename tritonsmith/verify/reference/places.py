"""Inputs whose whole numbers, which a reference takes for places, lie all over what they are places of.

Few draws from a long table, or draws below a bound of their own, never come to most of its rows; a kernel that knows
the first hundred is right for them. Which inputs are places, and of how many, a forward of the reference shows. What
one may rely on is kept: each number that was drawn stands for another one, in the same order, so that what is sorted
stays so, and what is equal, or comes once, too. Where they are only read from, and were drawn in no order and not each
once, half of them come in pairs and in order besides. Numbers that are also counted with, or compared with others, may
be lengths or hang on these, and stay as they are.

Runs the task's code, never a candidate's.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.tasks.asserted import asserted, name_of, places
from tritonsmith.tasks.copied import inputs_copied, model_copied
from tritonsmith.tasks.dry import tensors
from tritonsmith.tasks.format import forward, seeded
from tritonsmith.tasks.trees import finite, leaves
from tritonsmith.verify.dynamic.observe import address
from tritonsmith.verify.dynamic.outlines import outline
from tritonsmith.verify.reference.edges import put

_WRITING = ("index_add", "index_copy", "index_fill", "index_put", "scatter")
"""How the names of operators begin that write to places: of those that come twice the order may count."""
_MOVING = {
    "_reshape_alias", "_to_copy", "_unsafe_view", "alias", "as_strided", "cat", "clone", "copy", "detach", "eq",
    "expand", "lift_fresh", "ne", "narrow", "permute", "repeat", "select", "slice", "split", "split_with_sizes",
    "squeeze", "stack", "t", "transpose", "unbind", "unsqueeze", "view",
}  # fmt: skip
"""Names of operators that leave numbers as they are; and those that ask which of them is a given one, as padding is."""
_KINDS = (torch.int32, torch.int64)
_SEVERAL = 8
"""Numbers of which half may be pairs in order."""


class _Watch(TorchDispatchMode):
    """Looks on at a forward for what it takes for places, by the places of its inputs."""

    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._given = given
        self._origins = {address(one): {place} for place, one in enumerate(given) if one.dtype in _KINDS}
        self._alive: list[torch.Tensor] = []  # so that no address is handed out twice
        self.ends: dict[int, int] = {}
        """By an input's place of how many things its numbers are places."""
        self.bound: set[int] = set()
        """Inputs of whose numbers it may count which are equal, and in what order they come."""
        self.otherwise: set[int] = set()
        """Inputs whose numbers are more than places."""

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        read, name = tensors([args, kwargs or {}]), name_of(func)
        taken = [*places(func, args)]
        for index, _, end in taken:
            self._taken(index, end)
        origins = {place for one in read for place in self._origins.get(address(one), ())}
        if name.startswith(_WRITING):
            self.bound |= origins
        if not taken and (name not in _MOVING or (name in ("eq", "ne") and len(read) > 1)):
            self.otherwise |= origins
        result = func(*args, **(kwargs or {}))
        for made in tensors(result):
            if made.dtype in _KINDS:
                self._origins[address(made)] = self._origins.get(address(made), set()) | origins
                self._alive.append(made)
        return result

    def _taken(self, index: torch.Tensor, end: int) -> None:
        for place in self._origins.get(address(index), ()):
            if bool(torch.isin(index, self._given[place]).all()):  # and nothing was added to them, or taken off
                self.ends[place] = min(end, self.ends.get(place, end))


def spread(model: nn.Module, inputs: list[object], other: list[object]) -> list[object]:
    """The inputs with places all over what they are places of; `other` is another draw, for what no seed changes stays.

    Raises ValueError where none are others then, where some are beside whole numbers of another kind, which may hang on
    them as counts and offsets do, and where the reference's answer looks otherwise.
    """
    given = leaves(inputs)
    pairs = enumerate(zip(given, leaves(other), strict=False))
    drawn = [at for at, (one, two) in pairs if one.dtype in _KINDS and not torch.equal(one, two)]
    watch = _watched(model, inputs)
    if any(at not in watch.ends or at in watch.otherwise for at in drawn):
        raise ValueError("there are whole numbers that are no places, or more than that")
    found = [
        _spread(one, watch.ends[at], at not in watch.bound) if at in drawn else one for at, one in enumerate(given)
    ]
    if all(one is two for one, two in zip(found, given, strict=True)):
        raise ValueError("no input holds places that may be others")
    changed = put(inputs, found)
    before, after = forward(model, inputs), forward(model, changed)
    if outline(before) != outline(after) or (finite(before) and not finite(after)):
        raise ValueError("the reference does not bear other places")
    return changed


def _watched(model: nn.Module, inputs: list[object]) -> _Watch:
    fresh, given = model_copied(model), inputs_copied(inputs)
    watch = _Watch(leaves(given))
    with seeded(0), torch.no_grad(), watch, asserted(given):
        fresh(*given)
    return watch


def _spread(index: torch.Tensor, end: int, free: bool) -> torch.Tensor:
    """Other places in [0, end) with the first and the last among them; itself where it holds no such, or all."""
    known, which = index.unique(return_inverse=True)
    if not len(known) < end or int(known[0]) < 0 or int(known[-1]) >= end:
        return index
    own = torch.Generator(index.device).manual_seed(secrets.randbits(31))
    bounds = torch.arange(len(known) + 1, device=index.device) * end // len(known)
    share = torch.rand(len(known), dtype=torch.float64, device=index.device, generator=own)
    others = bounds[:-1] + (share * bounds.diff()).long()
    others[0], others[-1] = 0, end - 1
    found = others[which].to(index.dtype)
    if free and index.numel() >= max(_SEVERAL, len(known) + 1) and not _in_order(index):
        kept, rest = found.flatten().tensor_split([index.numel() // 2])
        drawn = torch.randint(0, end, ((len(rest) + 1) // 2,), device=index.device, generator=own).sort().values
        drawn[0], drawn[-1] = 0, end - 1
        pairs = drawn.repeat_interleave(2)[: len(rest)].to(index.dtype)
        found = torch.cat([kept, pairs]).view(index.shape)
    return found


def _in_order(index: torch.Tensor) -> bool:
    """Whether numbers rise, or fall, along some dimension, which may be no chance."""
    steps = [index.diff(dim=dim) for dim in range(index.dim()) if index.shape[dim] > 2]
    return any(bool((one >= 0).all()) or bool((one <= 0).all()) for one in (*steps, index.flatten().diff()))
