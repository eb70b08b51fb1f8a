"""Inputs at the edges of what a task is for: infinities, empty masks, labels left out, halves to be rounded, marks.

Kernels that are right in the midst of their inputs may be wrong there, and draws do not come there. Which edges a task
has its reference shows: what it asks of infinities it may be given them, of a label that it leaves out there may be
some, and a mask whose count it guards may be empty. Where its own answer is then no number, or lost in rounding, the
edge is none. Runs the task's code, never a candidate's.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.tasks.asserted import asserted
from tritonsmith.tasks.copied import inputs_copied, model_copied
from tritonsmith.tasks.dry import tensors
from tritonsmith.tasks.format import seeded
from tritonsmith.tasks.trees import continuous, finite, held, leaves, map_tensors, wide
from tritonsmith.tasks.values import ONE_SIDED, Values, uniform, with_nan
from tritonsmith.verify.dynamic.observe import address
from tritonsmith.verify.numerics import Truth
from tritonsmith.verify.reference.fitting import sound
from tritonsmith.verify.reference.truth import truth_of

_SOME = 1 / 16
"""Share of values that are put to an edge."""
_ROWS = 1 / 4
"""Share of rows, or of labels, that are."""
_ASKS = {"isinf", "isposinf", "isneginf", "nan_to_num"}
"""Operators that ask for infinities; `isfinite` comes as a comparison of magnitudes with one."""
_GUARDS = {"clamp", "clamp_min", "maximum"}
"""Operators behind which a count of nothing is divided by."""
_FILLS = {"masked_fill", "where", "mul", "add", "sub", "rsub"}
_LARGE = 1000.0
"""Numbers as large as that stand for minus infinity where a mask fills them in; a kernel may take infinity itself."""
_LOSSES = {"nll_loss_forward", "nll_loss2d_forward"}
_FAR: tuple[Values, ...] = ("beyond", "brink", "huge", *ONE_SIDED)
_FAINT = 1e-3
"""Root mean square of an answer to values far out that is next to nothing: a logarithm of one and little more is
rounding in an honest kernel, which computes it as it does any other."""
_UNTOLD = -100
"""The label that torch's losses leave out where nobody names one: few who write such a loss know of it."""


class _Watch(TorchDispatchMode):
    """Looks on at a forward for what it asks of its inputs, by their places among these."""

    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._places = {address(tensor): place for place, tensor in enumerate(given) if tensor.numel()}
        self._origins = {at: frozenset({place}) for at, place in self._places.items()}
        self._sizes: dict[int, int] = {}
        self._alive: list[torch.Tensor] = []  # so that no address is handed out twice
        self.asked: set[int] = set()
        """Inputs that are looked through for infinities."""
        self.ignored: dict[int, int] = {}
        """Labels, and which of them a loss leaves out."""
        self.marks: dict[int, set[float]] = {}
        """Inputs that are compared with numbers, and these."""
        self.guarded: set[int] = set()
        """Inputs of which alone something comes that is kept from being too small, or that may end as no number."""
        self.filled: set[int] = set()
        """Inputs that decide where a large number stands, as what hides scores does."""
        self.rounded: list[torch.Tensor] | None = []
        """What is rounded to whole numbers, None where some is to digits behind the point."""
        self.hides = False
        """Whether a large number stands for infinity."""
        self.lost = False
        """Whether anything on the way was no number, or infinite."""

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        name, _, overload = str(func).removeprefix("aten.").partition(".")
        read = tensors([args, named])
        self._look(name.removesuffix("_"), overload, args, read)
        result = func(*args, **named)
        self._follow(name.endswith("_"), read, tensors(result))
        return result

    def _look(self, name: str, overload: str, args: Sequence[object], read: Sequence[torch.Tensor]) -> None:
        first = address(read[0]) if read else 0
        of_first = self._origins.get(first, frozenset[int]())
        if name in _ASKS and first in self._places:
            self.asked.add(self._places[first])
        if name == "abs" and first in self._places:
            self._sizes[first] = self._places[first]
        if name in ("eq", "ne") and overload == "Scalar" and args[1] in (math.inf, -math.inf):
            self.asked |= ({*self._sizes.values()} | {self._places.get(first, -1)}) & of_first
        if overload == "Scalar" and first in self._places and (found := _marks(name, args[1], read[0])):
            self.marks.setdefault(self._places[first], set()).update(found)
        told = args[-1] if name in _LOSSES and len(read) > 1 else None
        if isinstance(told, int) and told != _UNTOLD and address(read[1]) in self._places:
            self.ignored[self._places[address(read[1])]] = told
        if name == "nan_to_num":
            self.guarded |= of_first
        elif name in _FILLS and any(map(self._stands_for_infinity, args)):
            self.filled |= self._origins_of(read)
            self.hides |= _hides(name, args)
        if name in _GUARDS and first not in self._places and len(of_first) == 1:
            self.guarded |= of_first
        if "round" in name and self.rounded is not None:
            whole = name == "round" and overload == "default"
            self.rounded = [*self.rounded, read[0].detach().clone()] if whole else None

    def _stands_for_infinity(self, one: object) -> bool:
        if isinstance(one, torch.Tensor):
            if not one.is_floating_point() or not one.numel() or self._origins.get(address(one)):
                return False
            one = float(wide(one).abs().max())
        return isinstance(one, float | int) and _LARGE <= abs(one) < math.inf

    def _origins_of(self, read: Sequence[torch.Tensor]) -> frozenset[int]:
        return frozenset(place for tensor in read for place in self._origins.get(address(tensor), ()))

    def _follow(self, in_place: bool, read: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> None:
        origins = self._origins_of(read)
        for tensor in (*made, *(read[:1] if in_place else ())):
            self._origins[address(tensor)] = self._origins.get(address(tensor), frozenset()) | origins
            self._alive.append(tensor)
            self.lost |= continuous(tensor) and not bool(wide(tensor).isfinite().all())


def _marks(name: str, number: object, tensor: torch.Tensor) -> list[float]:
    """What a tensor may hold, and others, where an operator compares it with a number: that one; of whole numbers all
    of which are on one side of it, the nearest on the other."""
    if not isinstance(number, int | float) or not math.isfinite(number) or tensor.dtype == torch.bool:
        return []
    if name in ("eq", "ne"):
        found = float(number)
    elif name in ("ge", "lt", "gt", "le") and not continuous(tensor) and tensor.numel():
        first = math.ceil(number) if name in ("ge", "lt") else math.floor(number) + 1  # of those on the upper side
        least, most = (int(bound) for bound in tensor.aminmax())
        if least < first <= most:
            return []
        found = float(first - 1 if least >= first else first)
    else:
        return []
    return [found] if held(torch.tensor(found), tensor.dtype).double().item() == found else []


def _hides(name: str, args: Sequence[object]) -> bool:
    """Whether an operator with a large number among its operands lets it stand for infinity: what is added to values
    as a number, or multiplies them, may be no more than that."""
    if name in ("masked_fill", "where"):
        return True
    first = args[0] if args else None
    if name == "mul":
        return isinstance(first, torch.Tensor) and bool(((wide(first) == 0) | (wide(first) == 1)).all())
    return sum(isinstance(one, torch.Tensor) for one in args) > 1


def hides(model: nn.Module, inputs: list[object]) -> bool:
    """Whether a reference lets a large number stand for infinity somewhere."""
    return _watched(model, inputs).hides


def _watched(model: nn.Module, inputs: list[object]) -> _Watch:
    fresh, given = model_copied(model), inputs_copied(inputs)
    watch = _Watch(leaves(given))
    with seeded(0), torch.no_grad(), watch, asserted(given):
        fresh(*given)
    return watch


def next_to_nothing(answer: object) -> bool:
    """Whether an output is so faint that rounding may be all of it."""
    return any(continuous(one) and float(_rms(one)) < _FAINT for one in leaves(answer))


def settled(values: Values | None, model: nn.Module, inputs: list[object], truth: Truth) -> Truth:
    """The truth on such values as candidates are judged by it; raises ValueError where they are not."""
    native = truth.native
    if values in (*KINDS, *_FAR) and not finite(native):
        raise ValueError("the reference's answer is no number")
    lost = values in ("mixed", "ends", "marked", *_FAR) and not sound(truth)
    if values in _FAR and next_to_nothing(native):
        raise ValueError("the reference's answer is next to nothing")
    if lost or (values is not None and finite(native) and not finite(truth.exact)):
        raise ValueError("the reference's answer is lost in rounding")
    whole = any(not continuous(tensor) for tensor in leaves(native))
    # As a whole number what is none may be any: 0 / 0 of a row of zeros that is scaled by its maximum.
    if values in ("sparse", "small", "ends") and whole and _watched(model, inputs).lost:
        raise ValueError("a whole number may come of what is none")
    # A half that was given exactly is rounded as it is, and not as its neighbours are.
    return replace(truth, nearby=None) if values == "halves" else truth


def infinite(model: nn.Module, inputs: list[object]) -> list[object]:
    """Infinities among what a reference looks through for them, of the signs for which its answer is a number."""
    asked = _watched(model, inputs).asked
    for signs in ((math.inf, -math.inf), (math.inf,), (-math.inf,)):
        found = [_sown(t, signs, _SOME) if place in asked else t for place, t in enumerate(leaves(inputs))]
        if any(one is not other for one, other in zip(found, leaves(inputs), strict=True)):
            changed = put(inputs, found)
            if finite(truth_of(model, changed, wide=False).native):
                return changed
    raise ValueError("the reference bears no infinities")


def nans(model: nn.Module, inputs: list[object]) -> list[object]:
    """NaN among the values of each input with which the reference's answer is a number, those of others among theirs.

    Raises ValueError where there is none: `fmax` bears it in either of two, and not in both.
    """
    found = list(leaves(inputs))
    for place, tensor in enumerate(leaves(inputs)):
        changed = put(inputs, [*found[:place], other := with_nan(tensor), *found[place + 1 :]])
        if other is not tensor and finite(truth_of(model, changed, wide=False).native):
            found[place] = other
    if all(one is other for one, other in zip(found, leaves(inputs), strict=True)):
        raise ValueError("the reference bears no NaN")
    return put(inputs, found)


def at_ends(model: nn.Module, inputs: list[object]) -> list[object]:
    """Empty masks, and labels left out: each that is borne.

    Shares of exactly 0 or 1 are not among them: a logarithm without a guard is right for every draw.
    """
    watch = _watched(model, inputs)
    found = list(leaves(inputs))
    for place, tensor in enumerate(leaves(inputs)):
        for other in _ends(tensor, place, watch):
            changed = put(inputs, [*found[:place], other, *found[place + 1 :]])
            if sound(truth_of(model, changed)):
                found[place] = other
    if all(one is other for one, other in zip(found, leaves(inputs), strict=True)):
        raise ValueError("the reference bears no ends")
    return put(inputs, found)


def marked(model: nn.Module, inputs: list[object]) -> list[object]:
    """Numbers that the reference compares inputs with, in some of their places."""
    marks, found = _watched(model, inputs).marks, list(leaves(inputs))
    for place, numbers in marks.items():
        drawn = _draw(found[place])
        for number, value in enumerate(sorted(numbers)):
            chosen = (drawn >= number * _SOME) & (drawn < (number + 1) * _SOME)
            found[place] = found[place].masked_fill(chosen, value)
    if not marks:
        raise ValueError("the reference compares no input with a number")
    changed = put(inputs, found)
    _watched(model, changed)  # raises where one of them is then an index of nothing, which ends a process on a GPU
    return changed


def halfway(model: nn.Module, inputs: list[object]) -> list[object]:
    """Halves for what a reference rounds, where that is what was given, times a power of two: exactly halves then."""
    given = leaves(inputs)
    found = list(given)
    for operand in _watched(model, inputs).rounded or []:
        for place, tensor in enumerate(given):
            if (power := _power(tensor, operand)) is not None:
                found[place] = held(((wide(tensor) * power).floor() + 0.5) / power, tensor.dtype)
    changed = put(inputs, found)
    rounded = _watched(model, changed).rounded or []
    halves = [(2 * operand == (2 * operand).round()) & (operand != operand.round()) for operand in rounded]
    # Where anything else is rounded too it hangs on rounding of another kind.
    if not rounded or not all(bool((half | (t == t.round())).all()) for half, t in zip(halves, rounded, strict=True)):
        raise ValueError("what the reference rounds is not what it was given")
    if not all(bool(half.any()) for half in halves):
        raise ValueError("nothing is halfway")
    return changed


def _rms(tensor: torch.Tensor) -> torch.Tensor:
    sizes = tensor.abs() if tensor.is_complex() else wide(tensor)
    return torch.linalg.vector_norm(sizes.double()) / max(tensor.numel(), 1) ** 0.5


KINDS: Mapping[Values | None, Callable[[nn.Module, list[object]], list[object]]] = {
    "infinities": infinite,
    "nan": nans,
    "ends": at_ends,
    "halves": halfway,
    "marked": marked,
}
"""What gives such values; each raises ValueError where a reference has no such edge."""


def put(inputs: list[object], found: Sequence[torch.Tensor]) -> list[object]:
    """Inputs with others for their tensors, in their order."""
    following = iter(found)
    return [map_tensors(item, lambda _: next(following)) for item in inputs]


def _draw(tensor: torch.Tensor) -> torch.Tensor:
    """As many numbers from 0 to 1, the first of them 0; see `uniform`."""
    drawn = uniform(tensor)
    if tensor.numel():
        drawn.view(-1)[0] = 0
    return drawn


def _sown(tensor: torch.Tensor, values: Sequence[float], share: float) -> torch.Tensor:
    """A share of places for the values in turn."""
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return tensor
    drawn, each, sown = _draw(tensor), share / len(values), wide(tensor)
    for number, value in enumerate(values):
        sown = sown.masked_fill((drawn >= number * each) & (drawn < (number + 1) * each), value)
    return sown.to(tensor.dtype)


def _ends(tensor: torch.Tensor, place: int, watch: _Watch) -> Iterator[torch.Tensor]:
    """What may stand for a tensor, one at most."""
    if tensor.numel() < 2 or tensor.is_complex():
        return
    if place in watch.ignored:
        yield tensor.masked_fill(_draw(tensor) < _ROWS, watch.ignored[place])
        return
    truths = bool(((tensor == 0) | (tensor == 1)).all())
    if truths and tensor.dim() > 1 and place in watch.guarded - watch.filled:
        yield held(wide(tensor) * (_draw(tensor[..., :1]) >= _ROWS), tensor.dtype)


def _power(tensor: torch.Tensor, operand: torch.Tensor) -> float | None:
    """The power of two that makes an operand of what was given, None where there is none."""
    if not tensor.is_floating_point() or tensor.numel() < 2 or tensor.numel() != operand.numel():
        return None
    one, other = wide(tensor).reshape(-1), wide(operand).reshape(-1)
    at = int(one.abs().median(0).indices)  # the largest may be clamped
    power = float(other[at]) / float(one[at]) if float(one[at]) else 0.0
    exact = power > 0 and math.frexp(power)[0] == 0.5
    return power if exact and bool((one * power == other).double().mean() > 0.5) else None
