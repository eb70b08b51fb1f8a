"""Memory that a candidate keeps from one call to the next, and whether its answers hang on what it holds.

An answer kept by its inputs' contents is right whenever it is asked for, and where kernels compare and copy, nothing
that a GPU shows tells it from work. The memory does: after a call with new contents the pieces that this call changed
are put back, one at a time, to what they held before it. Scratch memory is written anew; a kept answer is an old one.
Memory that a call allocated and the next one uses is emptied instead, piece by piece. Counters that only rose stay as
they are: programs may wait for each other by them. Who counts by them is called as if there had been many calls more,
after which what goes by their remainder, or is reset, is where it would be.

Sees the storages that launches were given, no memory that is reached by addresses alone. `watching` asks, and compares.
"""

import functools
from collections.abc import Callable, Collection, Iterable

import torch

from tritonsmith.verify.dynamic.brought import brought
from tritonsmith.verify.dynamic.observe import address
from tritonsmith.verify.process.ipc import extent

MOST = 16
"""Pieces that are changed, one a call."""
_EACH = 8
"""Those of memory that was there before, and of memory that is new with each call."""
_BYTES, _STORAGES = 1 << 26, 256
"""The largest storage that is looked at, and how many are."""
_RISE = 1 << 16
"""By how much a counter rises in one call, at most."""
LEAPS = (720_720, 720_720_000)
"""Calls that counters are let go on by: multiples of what tickets are divided by, and of turns that are taken."""
_NUMBERS = {torch.int32, torch.int64, torch.float32, torch.float64}
"""What anybody counts by for long."""
_ALIGNED = 16
"""Bytes that the borders of pieces are multiples of."""


class Kept:
    """What one model's launches were given, call by call."""

    def __init__(self) -> None:
        self._known: dict[int, torch.Tensor] = {}
        """Whole storages as bytes, by address; held, so that no address is handed out twice."""
        self._integers: set[int] = set()
        self._kinds: dict[int, torch.dtype] = {}
        """By address what a storage's numbers are."""
        self._copies: dict[int, torch.Tensor] = {}
        self._older: set[int] = set()
        """Addresses of what was there before the last call with new contents."""
        self._last: list[tuple[int, torch.Tensor]] = []
        """What the last call's launches were given besides inputs and weights, in order: addresses, and as bytes."""
        self._rises: list[tuple[torch.Tensor, torch.Tensor]] = []
        """Counters as 32-bit numbers, and by how much the last call with new contents let each of them rise."""
        self._steps: dict[int, torch.Tensor] = {}
        """By address by how much it let numbers rise, in storages in which nothing else changed, floats included."""
        self._steady: list[tuple[torch.Tensor, torch.Tensor]] = []
        """Numbers that rose by the same step in the call with new contents before, too, with that step."""
        self.pieces: list[Callable[[], object]] = []
        """Each lets a piece of memory hold something else than the last call left there."""

    def before(self) -> None:
        """A call with new contents begins."""
        self._copies = {at: memory.clone() for at, memory in self._known.items()}
        self._older = set(self._known)

    def after(self, used: Collection[int]) -> None:
        """It has ended: find what it changed of the memory that was there before and that it used (addresses)."""
        pairs = [(at, old) for at, old in self._copies.items() if at in used]
        every = [(at, old) for at, old in pairs if not torch.equal(*brought(self._known[at], old))]
        rising = [(at, old) for at, old in every if self._counted(at, old)]
        now = [(self._known[at].view(torch.int32), old.view(torch.int32)) for at, old in rising]
        self._rises = [(memory, memory - old) for memory, old in now]
        self._stepped(every)
        counters = {at for at, _ in rising}
        changed = [(self._known[at], old) for at, old in every if at not in counters]
        self._copies = {}
        changed.sort(key=lambda pair: -pair[1].numel())
        each = _share(len(changed))
        self.pieces = [piece for memory, old in changed for piece in _changes(memory, old, each)][:_EACH]

    def repeated(self, used: Collection[int]) -> None:
        """A call on the same contents has ended: note what it used of the memory that the one before allocated."""
        born = [place for place, (at, _) in enumerate(self._last) if at in used and at not in self._older]
        parts = _share(len(born))
        rows = [functools.partial(self._empty, place, part, parts) for place in born for part in range(parts)]
        self.pieces += rows[:_EACH]

    def counted(self) -> list[torch.Tensor]:
        """What the counters hold now."""
        return [memory.clone() for memory, _ in self._rises]

    def advance(self, before: Iterable[torch.Tensor], calls: int) -> None:
        """Let counters that still hold what they held `before` be where so many further calls had brought them."""
        for (memory, rise), old in zip(self._rises, before, strict=True):
            if torch.equal(memory, old):
                memory += calls * rise

    @property
    def older(self) -> int:
        """How much of what the last call's launches were given was there before the last call with new contents."""
        return sum(at in self._older for at, _ in self._last)

    @property
    def steady(self) -> int:
        """How many storages hold numbers that rise by the same step with each call."""
        return len(self._steady)

    def leap(self, most: int) -> None:
        """Let these be where so many further calls had brought them, or as many as whole numbers have room for."""
        whole = [pair for pair in self._steady if not pair[0].is_floating_point()]
        rooms = [(torch.iinfo(memory.dtype).max - int(memory.max())) // int(rise.max()) for memory, rise in whole]
        calls = min([most, *rooms]) // LEAPS[0] * LEAPS[0]
        for memory, rise in self._steady:
            memory += calls * rise

    def meet(self, given: Iterable[torch.Tensor], others: Collection[int]) -> None:
        """A call has ended: remember what its launches were given, but for inputs and weights (`others`, addresses)."""
        self._last = []
        for tensor in given:
            at, size = address(tensor), tensor.untyped_storage().nbytes()
            if at in others or not 0 < size <= _BYTES:
                continue
            if at not in self._known:
                if len(self._known) >= _STORAGES:
                    continue
                empty = torch.empty(0, dtype=torch.uint8, device=tensor.device)
                self._known[at] = empty.set_(tensor.untyped_storage(), 0, (size,), (1,))  # type: ignore[call-overload]
                self._kinds[at] = tensor.dtype
                if not (tensor.is_floating_point() or tensor.is_complex()):
                    self._integers.add(at)
            start = tensor.storage_offset() * tensor.element_size()
            reach = extent(tensor.shape, tensor.stride()) * tensor.element_size()
            self._last.append((at, self._known[at][start : start + reach]))

    def _stepped(self, changed: Iterable[tuple[int, torch.Tensor]]) -> None:
        """Note what rises, of the storages that changed, with what they held."""
        found: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        for at, old in changed:
            kind = self._kinds[at]
            if kind not in _NUMBERS or old.numel() % kind.itemsize:
                continue
            now = self._known[at].view(kind)
            rise = now - old.view(kind)
            if bool(((rise >= 0) & (rise < _RISE) & (rise == rise.long())).all()):
                found[at] = now, rise
        same = (at for at in found if at in self._steps and torch.equal(found[at][1], self._steps[at]))
        self._steady = [found[at] for at in same]
        self._steps = {at: rise for at, (_, rise) in found.items()}

    def _counted(self, at: int, old: torch.Tensor) -> bool:
        """Whether all that changed in a storage of integers are numbers that rose a little."""
        if at not in self._integers or old.numel() % 4:
            return False
        rise = self._known[at].view(torch.int32).long() - old.view(torch.int32).long()
        return bool(((rise >= 0) & (rise < _RISE)).all())

    def _empty(self, place: int, part: int, parts: int) -> None:
        """Let a part of what the last call was given in a place hold zeros; around it may lie what others watch."""
        if place < len(self._last):
            memory = self._last[place][1]
            spans = _spans(0, memory.numel(), parts)
            if part < len(spans):
                memory[spans[part]].zero_()


def _share(count: int) -> int:
    """Into how many pieces each of so many storages is divided."""
    return max(1, _EACH // max(1, count))


def _spans(first: int, last: int, parts: int) -> list[slice]:
    step = max(1, -(-(last - first) // (parts * _ALIGNED))) * _ALIGNED
    return [slice(start, min(start + step, last)) for start in range(first, last, step)]


def _changes(memory: torch.Tensor, old: torch.Tensor, parts: int) -> list[Callable[[], object]]:
    """So many pieces of the changed part of a storage, but for those in which nothing changed."""
    places = (memory != old).nonzero()
    spans = _spans(int(places[0]) // _ALIGNED * _ALIGNED, int(places[-1]) + 1, parts)
    return [
        functools.partial(memory[span].copy_, old[span]) for span in spans if not torch.equal(memory[span], old[span])
    ]
