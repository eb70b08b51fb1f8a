"""Compares a candidate's outputs with the truth: the reference in float64.

A value is right where its error is within the dtype's tolerance; an output is right where, besides, its
root-mean-square error is not out of proportion to the error that the reference makes in the task's own
dtype. The second rule finds lower-precision arithmetic that a tolerance alone lets through. 8-bit floats are
`eight_bits`'.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import torch

from tritonsmith.tasks.trees import FLOAT8, leaves
from tritonsmith.types import Mismatch
from tritonsmith.verify import conditioning, eight_bits
from tritonsmith.verify.elements import (
    ELSEWHERE,
    Part,
    any_of,
    chunks,
    finite,
    misplaced,
    name,
    neglected,
    report,
    true_of,
)
from tritonsmith.verify.near import Scale, is_near, scale_of
from tritonsmith.verify.reference.ties import Pick

TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 1e-4,
    torch.float16: 4e-3,
    torch.bfloat16: 3e-2,
}
"""Relative error allowed in an element, against its own size and the output's root mean square.
1e-4 for float32 is KernelBench's; the others are about four units in the last place."""
PROPORTION = 64.0
"""How many times the reference's own rms error a candidate's may be. Float32 arithmetic in another order
stays below 10, but for running sums of very much (`sequential_error`); TF32 operands give about 2500 times the rounding
unit, float16 accumulation more."""
FLOOR = 4 * torch.finfo(torch.float32).eps
"""Rounding of numbers about one, from which one is taken."""
BLOCK = 256
"""Elements that a kernel sums before it adds to a running sum, at least, as far as that is allowed for."""
SUMS = (torch.float32, torch.float64)
"""Precisions that sums are run in; halves are summed in float32."""
NEARBY = 16
"""Runs of the reference on inputs moved by rounding that tell which integers hang on it. Of two equal values the same
one comes first in all of them once in 2 ** 15."""
STRAYS = 0.05
"""For each integer that hangs on rounding, how many may lie outside of what these runs gave: ties of many values."""
FEW = 8
"""So many that lie outside are looked for in four times as many runs again: a number near the edge of a step crosses it
seldom. An honest kernel was refused on a GPU for one of 262,144 values that it quantised."""
TIES = 0.25
"""Share of integers that may be others beside values of half precision, of which some are equal; the values themselves
are judged as ever."""


@dataclass(frozen=True)
class Truth:
    """What a forward should give."""

    exact: object
    """Output of the reference in float64."""
    native: object
    """Output of the reference in the task's own dtype: it fixes shapes, dtypes, and where NaN and inf are."""
    nearby: Callable[[int], object] | None = field(default=None, compare=False)
    """By a number an output of the reference on inputs moved by rounding; None where no integer hangs on that."""
    summed: int = 0
    """Elements of inputs and weights, where an output may be a plain sum of them; 0 where matrices are multiplied."""
    faint: bool = True
    """Whether slices that are small beside the rest are asked about. Not where the inputs are: a logarithm of one and
    little more is then rounding in an honest kernel, and none in torch's `log1p`. Nor where they rise: what a gate
    shuts throughout is rounding of one in a kernel whose `tanh(x)` is `2 * sigmoid(2 * x) - 1`."""
    tied: bool = False
    """Whether all elements may hang on rounding, and not few: where values lie far from zero in steps, many scores are
    equal to the bit in torch, and off by rounding of thousands where a kernel scales one factor of their products."""
    floor: float = 0.0
    """Error that is allowed besides: `FLOOR` where inputs are faint. Rounding is then nearly all of `exp(x) - 1`, which
    a kernel has for torch's `expm1`, and of the divergence of two distributions that are nearly the same."""
    kind: torch.dtype = torch.float32
    """The precision of what the task is given, in which a number of Python's is judged."""
    scales: dict[str, Scale] = field(default_factory=dict, compare=False)
    """By an output's path, what every comparison with it needs; filled by the first."""
    ranges: dict[str, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict, compare=False)
    """By the path of an output of integers the least and the greatest that `nearby` gave; filled when it is asked."""
    picks: Callable[[], list[Pick]] | None = field(default=None, compare=False)
    """What the reference orders in the task's own dtype, run anew."""
    moved: Callable[[int], object] | None = field(default=None, compare=False)
    """By a number the reference's output in float64 on inputs and weights moved by rounding, by 0 as they are."""
    rooms: dict[str, torch.Tensor | None] = field(default_factory=dict, compare=False)
    """By an output's path how far `moved` moves its elements; filled when it is asked."""


def prepare(truth: Truth) -> None:
    """Work out what every comparison needs of the truth alone."""
    compare(truth, truth.native, "prepared")


def compare(truth: Truth, got: object, variant: str) -> Mismatch | None:
    """The first difference that matters, or None if the output is right."""
    return _compare(truth.exact, truth.native, got, "output", variant, truth)


def narrowed(got: object, native: object) -> object:
    """An answer in float32 to a question in half precision, rounded to it: a kernel that writes float32 is for that."""
    if isinstance(native, torch.Tensor) and isinstance(got, torch.Tensor):
        wider = got.dtype == torch.float32 and native.dtype in (torch.float16, torch.bfloat16)
        return got.to(native.dtype) if wider else got
    if isinstance(native, dict) and isinstance(got, dict):
        return {key: narrowed(value, native.get(key)) for key, value in got.items()}
    if isinstance(native, (list, tuple)) and isinstance(got, (list, tuple)) and len(native) == len(got):
        return [narrowed(value, whole) for value, whole in zip(got, native, strict=True)]
    return got


def met(truth: Truth, got: object, kind: torch.dtype) -> Truth:
    """The truth for an answer in the precision asked for, `kind`, where torch's promotion gave float32.

    `torch.where(c, 1.0, 0.5) * x` is float32 whatever `x` is; an answer in the precision of `x` is for that.
    """
    native = _met(truth.native, got, kind)
    changed = any(one is not other for one, other in zip(leaves(native), leaves(truth.native), strict=True))
    return replace(truth, native=native, scales={}, ranges={}, rooms={}) if changed else truth


def _met(native: object, got: object, kind: torch.dtype) -> object:
    if isinstance(native, torch.Tensor):
        promoted = isinstance(got, torch.Tensor) and got.dtype == kind and native.dtype == torch.float32
        return native.to(kind) if promoted else native
    if isinstance(native, dict):
        known = got if isinstance(got, dict) else {}
        return {key: _met(value, known.get(str(key)), kind) for key, value in native.items()}
    if isinstance(native, (list, tuple)) and isinstance(got, (list, tuple)) and len(native) == len(got):
        return [_met(value, given, kind) for value, given in zip(native, got, strict=True)]
    return native


def _compare(exact: object, native: object, got: object, path: str, variant: str, truth: Truth) -> Mismatch | None:
    def wrong(message: str) -> Mismatch:
        return Mismatch(variant=variant, output=path, message=message)

    if isinstance(native, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return wrong(f"expected a tensor, got {type(got).__name__}")
        if got.shape != native.shape:
            return wrong(f"expected shape {tuple(native.shape)}, got {tuple(got.shape)}")
        if got.dtype != native.dtype:
            return wrong(f"expected dtype {name(native.dtype)}, got {name(got.dtype)}")
        if not isinstance(exact, torch.Tensor) or exact.shape != native.shape:
            exact = native
        return _values(exact, native, got, path, variant, truth)
    if isinstance(native, dict):
        if not isinstance(got, dict) or set(map(str, native)) != set(got):
            return wrong(f"expected a dict with keys {sorted(map(str, native))}")
        parts = [(str(key), native[key], exact[key] if isinstance(exact, dict) else None) for key in native]
        return next(
            (m for key, n, e in parts if (m := _compare(e, n, got[key], f'{path}["{key}"]', variant, truth))),
            None,
        )
    if isinstance(native, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(native):
            return wrong(f"expected {len(native)} outputs, got {len(got) if isinstance(got, (list, tuple)) else 1}")
        exacts = exact if isinstance(exact, (list, tuple)) else native
        for place, (e, n, g) in enumerate(zip(exacts, native, got, strict=True)):
            if mismatch := _compare(e, n, g, f"{path}[{place}]", variant, truth):
                return mismatch
        return None
    if isinstance(native, float) and isinstance(got, float):
        true = exact if isinstance(exact, float) else native
        tensors = torch.tensor(true, dtype=torch.float64), *_as_tensors(native, got, truth.kind)
        return _values(*tensors, path, variant, truth)
    same = type(native) is type(got) and native == got
    return None if same else wrong(f"expected {native!r}, got {got!r}")


def _as_tensors(native: float, got: float, kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of Python's in the precision in which they were computed: a task in halves may compute one in float32."""
    kind = kind if native != native or float(torch.tensor(native, dtype=kind)) == native else torch.float32
    return torch.tensor(native, dtype=kind), torch.tensor(got, dtype=kind)


def _values(
    exact: torch.Tensor,
    native: torch.Tensor,
    got: torch.Tensor,
    path: str,
    variant: str,
    truth: Truth,
) -> Mismatch | None:
    if native.numel() == 0:
        return None
    if got.device != native.device:
        message = f"expected a tensor on {native.device.type}, got one on {got.device.type}"
        return Mismatch(variant=variant, output=path, message=message)
    if native.dtype in FLOAT8:
        return eight_bits.compare(exact, native, got, path, variant, truth.kind, truth.faint)
    parts = list(chunks(exact, native, got))
    if not native.is_floating_point() and not native.is_complex():
        if got is native:
            return None
        # A tie may be broken in float64 otherwise than in float32; either is right.
        unequal = [(g != n) & (g.to(e.dtype) != e) for e, n, g in parts]
        if not any_of(unequal) or _unsettled(truth, path, native, got, torch.cat(unequal)):
            return None
        return report(unequal, parts, native, path, variant, "wrong values")
    real = torch.empty((), dtype=native.dtype).real.dtype if native.is_complex() else native.dtype
    tolerance, unit = TOLERANCE.get(real, 1e-4), torch.finfo(real).eps
    count = native.numel() * (2 if native.is_complex() else 1)
    if path not in truth.scales:
        truth.scales[path] = scale_of(exact, native, parts, count)
    scale = truth.scales[path]
    if got is native and scale.plain:
        return None  # its own error is the measure of others'
    own_rms = max(scale.own_rms, unit * scale.rms)
    running = sequential_error(truth.summed // native.numel(), unit) * scale.rms if real in SUMS else 0.0
    most = max(PROPORTION * own_rms, running, truth.floor)
    if is_near(parts, scale, _everywhere(tolerance, scale, truth.floor), most, count, truth.faint):
        return None
    # A GPU is asked once, and again only where something is wrong: each question waits for it.
    found = [_errors(part, tolerance, scale, truth.floor) for part in parts]
    totals = torch.stack([numbers for _, _, numbers in found]).cpu()
    if totals[:, 0].any():
        shown = [(n, n, g) for _, n, g in parts]
        return report([elsewhere for elsewhere, _, _ in found], shown, native, path, variant, ELSEWHERE)
    errors, greatest = float(totals[:, 2].sum()), float(totals[:, 3].max())
    off = bool(totals[:, 1].any())
    refused = off or math.sqrt(errors / count) > most
    if refused and not (len(parts) == 1 and _on_rounding(truth, path, exact, parts[0], tolerance, scale, most)):
        if off:
            return report([wrong for _, wrong, _ in found], parts, native, path, variant, "wrong values")
        ratio = math.sqrt(errors / count) / own_rms
        message = f"error {ratio:.0f} times that of {name(native.dtype)} arithmetic: computed in lower precision?"
        at = [(finite(g, n) - true_of(e, n)).abs() >= greatest for e, n, g in parts]
        return report(at, parts, native, path, variant, message)
    return neglected(exact, native, got, path, variant) if truth.faint else None


def _on_rounding(
    truth: Truth, path: str, exact: torch.Tensor, part: Part, tolerance: float, scale: Scale, most: float
) -> bool:
    """Whether the elements that are off, few but for ties, hang on rounding of what is given, and others are right."""
    true = true_of(*part[:2])
    error, allowed = (finite(part[2], part[1]) - true).abs(), _allowed(true, tolerance, scale, truth.floor)

    def right(room: torch.Tensor) -> bool:
        left = conditioning.without(error, room, truth.tied)
        return not bool((left > allowed).any()) and float(left.square().mean().sqrt()) <= most

    if truth.moved is None or not right(torch.full_like(error, math.inf)):
        return False
    if path not in truth.rooms:
        paths = [known for known, _ in _named(truth.native, "output")]
        # A number of Python's is no tensor among them.
        truth.rooms[path] = conditioning.room(truth.moved, paths.index(path), exact) if path in paths else None
    room = truth.rooms[path]
    return room is not None and right(room.reshape(-1))


def sequential_error(terms: int, unit: float) -> float:
    """Relative error that rounding a running sum of so many elements may make, added up in blocks of `BLOCK`.

    With m = terms / BLOCK additions, in a loop or by atomics, and independent rounding errors it is lambda sqrt(m) u
    at most, with a probability that lambda tells: Higham and Mary, A New Approach to Probabilistic Rounding Error
    Analysis, SIAM J. Sci. Comput. 41(5), 2019. Here u = `unit` / 2 and lambda = 2. A library sums pairwise and has no
    such error. Simulated for m of 2^7 to 2^18 and uniform, squared normal and clipped terms: 0.08 to 0.17 sqrt(m)
    `unit` in the root mean square, 0.37 at most in 24 draws each; by atomics on one H200 0.38 and 0.28 (m = 49,152
    and 196,608). Terms that are all alike would need the bound that always holds, m u (Higham, Accuracy and Stability
    of Numerical Algorithms, section 4.2), of which nothing is given. It exceeds `PROPORTION` units from 2^20 elements
    an output on.
    """
    return math.sqrt(terms / BLOCK) * unit


def _unsettled(truth: Truth, path: str, native: torch.Tensor, got: torch.Tensor, unequal: torch.Tensor) -> bool:
    """Whether the integers that are others hang on rounding: a tie, a value at the edge of a step."""
    if truth.nearby is None:  # values that are equal to the bit may change places all the same
        return _as_good(_picked(truth, native), got, unequal)
    if not truth.ranges:
        truth.ranges.update(_asked(truth, truth.nearby, range(NEARBY)))  # whole: another candidate's thread may look
    if path not in truth.ranges:
        return False
    given = got.to(torch.int64)
    halves = any(tensor.dtype in (torch.float16, torch.bfloat16) for tensor in leaves(truth.native))
    pick = _picked(truth, native)
    if halves and int(unequal.sum()) > TIES * native.numel():
        return _as_good(pick, got, unequal)
    if pick is not None and pick.repeats(got):
        return False
    strays, allowed = _strays(truth.ranges[path], given, pick, got)
    if allowed < strays <= FEW:
        # Not kept: no verdict is to depend on who was judged before.
        wider = _asked(truth, truth.nearby, range(NEARBY, 5 * NEARBY))
        strays, allowed = _strays(wider[path], given, pick, got)
    return strays <= allowed


def _asked(
    truth: Truth, nearby: Callable[[int], object], numbers: Iterable[int]
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """The truth's ranges as far as they are known, widened by what runs of these numbers give."""
    ranges = dict(truth.ranges)
    for number in numbers:
        _widen(ranges, truth, nearby(number))
    return ranges


def _strays(
    ranges: tuple[torch.Tensor, torch.Tensor], given: torch.Tensor, pick: Pick | None, got: torch.Tensor
) -> tuple[int, float]:
    """How many integers lie outside of what rounding gives them, and how many may."""
    least, greatest = ranges
    outside = (given < least) | (given > greatest)
    allowed = STRAYS * int((least < greatest).sum())
    if pick is not None and int(outside.sum()) > allowed:
        outside &= ~pick.as_good(got).reshape(outside.shape)
    return int(outside.sum()), allowed


def _as_good(pick: Pick | None, got: torch.Tensor, unequal: torch.Tensor) -> bool:
    """Whether all places that are others hold exactly what those hold that the reference told."""
    return pick is not None and not pick.repeats(got) and bool(pick.as_good(got).flatten()[unequal.flatten()].all())


def _picked(truth: Truth, native: torch.Tensor) -> Pick | None:
    """What was ordered whose places an output is."""
    for pick in truth.picks() if truth.picks is not None else ():
        if pick.places.numel() == native.numel() and torch.equal(pick.places.flatten(), native.flatten().long()):
            return pick
    return None


def _widen(ranges: dict[str, tuple[torch.Tensor, torch.Tensor]], truth: Truth, output: object) -> None:
    """Take the integers of one more output into the ranges."""
    found = zip(_named(truth.native, "output"), leaves(truth.exact), leaves(output), strict=False)
    for (path, native), exact, tensor in found:
        if native.is_floating_point() or native.is_complex() or not native.shape == exact.shape == tensor.shape:
            continue
        values = [values.to(torch.int64) for values in (native, exact, tensor)]
        least, greatest = ranges.get(path, (values[0], values[0]))
        for value in values[1:]:
            least, greatest = torch.minimum(least, value), torch.maximum(greatest, value)
        ranges[path] = least, greatest


def _named(tree: object, path: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor with its path, in the order of `leaves`."""
    if isinstance(tree, torch.Tensor):
        yield path, tree
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from _named(item, f'{path}["{key}"]')
    elif isinstance(tree, (list, tuple)):
        for place, item in enumerate(tree):
            yield from _named(item, f"{path}[{place}]")


def _errors(
    part: Part, tolerance: float, scale: Scale, floor: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Misplaced and wrong elements, and the numbers of both, the errors' sum of squares and the greatest error."""
    exact, native, got = part
    elsewhere = misplaced(native, got)
    true = true_of(exact, native)
    error = (finite(got, native) - true).abs()
    wrong = error > _allowed(true, tolerance, scale, floor)
    return elsewhere, wrong, torch.stack([elsewhere.sum().double(), wrong.sum(), error.square().sum(), error.max()])


def _allowed(true: torch.Tensor, tolerance: float, scale: Scale, floor: float) -> torch.Tensor:
    """The error that each element may have."""
    return tolerance * true.abs() + _everywhere(tolerance, scale, floor)


def _everywhere(tolerance: float, scale: Scale, floor: float) -> float:
    """The error that any element may have, a zero too."""
    return tolerance * scale.rms + 8 * scale.own_worst + floor
