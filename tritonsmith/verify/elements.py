"""The elements of an output, of its truth and of the reference's side by side: what both ways of comparing need.

Complex numbers are pairs of real ones here. What is right is `numerics`' to say, and `eight_bits`'.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import torch

from tritonsmith.types import Mismatch

CHUNK = 1 << 26
"""Elements compared at once: in float64, and with what lies between, a few GB."""
Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""The same elements of truth, reference and candidate."""
_SLICE = 32
"""Elements that tell whether a slice of an output is right by its own measure."""
AS_A_WHOLE = 0.25
"""Mean square error, in parts of a slice's mean square, beyond which it is wrong as a whole."""
ELSEWHERE = "NaN or inf where the reference has none, or the reverse"
"""What is said of elements that are misplaced."""


def chunks(exact: torch.Tensor, native: torch.Tensor, got: torch.Tensor) -> Iterator[Part]:
    """Flat parts of all three, `CHUNK` elements at most each."""
    flat = [_real(tensor).reshape(-1) for tensor in (exact, native, got)]
    for start in range(0, flat[1].numel(), CHUNK):
        yield flat[0][start : start + CHUNK], flat[1][start : start + CHUNK], flat[2][start : start + CHUNK]


def neglected(exact: torch.Tensor, native: torch.Tensor, got: torch.Tensor, path: str, variant: str) -> Mismatch | None:
    """A slice that is small beside the rest and therefore within its tolerance, but wholly wrong by its own measure.

    A product over a row fades along it: zeros would do for the end. Only slices that the reference has right in the
    task's own dtype are asked about, to a hundredth; half of such a slice's root mean square is no rounding.
    """

    def squares() -> tuple[torch.Tensor, ...]:
        true = true_of(exact, native)
        return true.square(), (finite(native, native) - true).square(), (finite(got, native) - true).square()

    means = by_slices(native, squares)
    wrong = {dim: told(own, error) & (got_error > AS_A_WHOLE * own) for dim, (own, error, got_error) in means.items()}
    if not wrong or not bool(torch.stack([slices.any() for slices in wrong.values()]).any()):
        return None
    dim, slices = next((dim, slices) for dim, slices in wrong.items() if bool(slices.any()))
    place = int(slices.int().argmax())
    mask = torch.zeros_like(native, dtype=torch.bool)
    mask.select(dim, place).fill_(True)
    message = f"slice {place} of dimension {dim} is wrong as a whole, small as its values are"
    return report([mask.reshape(-1)], list(chunks(exact, native, got)), native, path, variant, message)


def by_slices(native: torch.Tensor, values: Callable[[], Sequence[torch.Tensor]]) -> dict[int, list[torch.Tensor]]:
    """By each dimension whose slices tell, the means over them of what `values` gives in the shape of `native`; empty,
    and nothing asked, where no dimension's do."""
    if native.is_complex() or native.dim() < 2 or native.numel() > CHUNK // 4:
        return {}
    dims = [d for d in range(native.dim()) if native.shape[d] > 1 and native.numel() // native.shape[d] >= _SLICE]
    parts = values() if dims else ()
    return {dim: [part.mean([d for d in range(native.dim()) if d != dim]) for part in parts] for dim in dims}


def told(size: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
    """Which slices, of such mean squares of values and of the reference's errors, the reference has right."""
    return (size > 1e-60) & (error < 1e-4 * size)


def misplaced(native: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """Where one has a number and the other has none, or another infinity."""
    return torch.where(native.isfinite(), ~got.isfinite(), ~((got == native) | (got.isnan() & native.isnan())))


def true_of(exact: torch.Tensor, native: torch.Tensor) -> torch.Tensor:
    """The truth in float64; where only float64 overflows or divides by zero, or holds what the reference's own dtype
    does not, the reference in that: `nan_to_num` gives for an infinity the largest number of its kind."""
    held = exact.abs() <= torch.finfo(native.dtype).max
    return finite(exact.double().where(held, native.double()), native)


def finite(values: torch.Tensor, native: torch.Tensor) -> torch.Tensor:
    """The values in float64, zeros where the reference gives no number."""
    return values.double().where(native.isfinite(), 0.0)


def any_of(masks: list[torch.Tensor]) -> bool:
    """Whether an element of some part is marked."""
    return any(bool(mask.any()) for mask in masks)


def _real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs, so that an index ends in 0 for the real part and in 1 for the imaginary one."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def report(
    wrong: list[torch.Tensor], parts: list[Part], native: torch.Tensor, path: str, variant: str, message: str
) -> Mismatch:
    """The mismatch at the worst of the wrong elements."""
    best, place, expected, got = -math.inf, 0, 0.0, 0.0
    start = 0
    for mask, (true, _, given) in zip(wrong, parts, strict=True):
        distance = (given.double() - true.double()).abs().nan_to_num(nan=math.inf)
        at = int(torch.where(mask, distance, -1.0).argmax())
        if bool(mask[at]) and float(distance[at]) > best:
            best, place, expected, got = float(distance[at]), start + at, float(true[at]), float(given[at])
        start += mask.numel()
    shape = torch.view_as_real(native).shape if native.is_complex() else native.shape
    index = [int(i) for i in torch.unravel_index(torch.tensor(place), shape)]
    return Mismatch(
        variant=variant,
        output=path,
        message=message,
        index=index,
        expected=expected,
        got=got,
        wrong_share=sum(int(mask.sum()) for mask in wrong) / start,
    )


def name(dtype: torch.dtype) -> str:
    """A dtype without its library's name."""
    return str(dtype).removeprefix("torch.")
