"""Values of inputs: other distributions of the kind that a task may rely on (`promised`).

Labels and masks stay labels and masks, what is nonnegative stays so, and probabilities stay probabilities. Which of
them a task is tried on is for `variants`.
"""

import math
import secrets
from typing import Literal

import torch

from tritonsmith.tasks.promised import (
    as_rand_draws,
    distribution,
    evenly_spread,
    of_one_scale,
    promises_little,
    rises,
    rms,
    symmetric,
    unbounded,
)
from tritonsmith.tasks.trees import FLOAT8, held, leaves, map_tensors, wide

Values = Literal[
    "negative",
    "large",
    "sparse",
    "small",
    "positive",
    "coarse",
    "signed",
    "mixed",
    "rising",
    "masks",
    "nan",
    "whole",
    "great",
    "apart",
    "constants",
    "numbers",
    "infinities",
    "ends",
    "halves",
    "marked",
    "beyond",
    "brink",
    "huge",
    "far below",
    "far above",
    "places",
    "one row",
]
ONE_SIDED: tuple[Values, ...] = ("far below", "far above")
Side = Literal["below", "above", "either"]
"""On which side of zero values are that lie beyond a magnitude."""
LARGE = 128.0
"""Factor of the large magnitudes; a power of two, so that it rounds nothing. exp overflows behind 88, also behind a
layer, which makes values smaller by a third and more."""
LARGE_HALVES = 32.0
"""The same in float16, whose sums of larger products overflow."""
FAR, FAR_PRODUCT = 1024.5, 1024.0
"""Unit of values that are far from zero on one side, not whole, so that rounding moves it, and of what the root of D
makes of D products of two such. `exp` is zero 104 below where a running maximum begins, and an eighth of what is given
may be what is compared. No more than that is wanted: rounding of a score is a part of it, and the answer hangs on
differences."""
PEAK = 6.0
"""What rows of rising values end with, by their root mean square: more than 88 beyond all of another block's, where
`exp` overflows, with `LARGE_HALVES` too, and a square that float16 holds."""
GREAT = {torch.int64: 1 << 30, torch.int32: 1 << 30, torch.int16: 1 << 14}
"""Bound on great whole numbers by their type: of 64 bits they fit into 32, so that flags and labels may be compared
there. Shorter ones are pixels, and quantised values of which only a few may be meant."""
SMALLER = 12, 4, 8, 14, 6, 10
"""Slices of small values are so many powers of two smaller; a norm's epsilon outweighs what is left of the smallest."""
_LOST = 1 / 16
"""Share of values that are NaN there."""
SPARSE = 1.6
"""What is nearer to zero than so many root mean squares becomes zero: 89 % of a normal distribution."""


def scaled(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    """A tensor of floats times a factor; 8-bit ones times a power of two less where they would not hold the largest."""
    return tensor * factor if tensor.dtype not in FLOAT8 else _fitted(wide(tensor) * factor, tensor.dtype)


def _fitted(values: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    most, bound = float(values.abs().max()) if values.numel() else 0.0, torch.finfo(kind).max
    over = math.ceil(math.log2(most / bound)) if bound < most < math.inf else 0
    return held(values * 0.5**over, kind)


def masks(inputs: list[object]) -> list[object]:
    """Inputs of which those that are all alike are so no more: masks that hide nothing, lengths that are all the whole.

    Drawn by a generator of their own: others may be drawing under a seed.
    """
    if not any(_alike(tensor) for tensor in leaves(inputs)):
        raise ValueError("no input is all alike")
    return [map_tensors(item, lambda tensor: _varied(tensor) if _alike(tensor) else tensor) for item in inputs]


def mixed(inputs: list[object]) -> list[object]:
    """Inputs of which those that are as `torch.rand` draws them are of either sign; what is in order stays so.

    Raises ValueError where there is none. The largest in magnitude are negative, so that a maximum of magnitudes is no
    maximum; none is quite as large as before, where 1 + x and 1 - x would be zero. What a triangle leaves out stays so.
    """
    if not any(map(promises_little, leaves(inputs))):
        raise ValueError("no input is as torch.rand draws it")
    return [map_tensors(item, lambda one: _of_either_sign(one) if promises_little(one) else one) for item in inputs]


def _of_either_sign(tensor: torch.Tensor) -> torch.Tensor:
    real = wide(tensor)
    return held((1.25 * real - 0.75 * real.max()).where(real != 0, 0.0), tensor.dtype)


def uniform(tensor: torch.Tensor, *more: int) -> torch.Tensor:
    """Numbers from 0 to 1 in a tensor's shape, so many of them (`more`), by a generator of their own: others may be
    drawing under a seed."""
    own = torch.Generator(tensor.device).manual_seed(secrets.randbits(31))
    return torch.rand((*more, *tensor.shape), device=tensor.device, generator=own)


def with_nan(tensor: torch.Tensor) -> torch.Tensor:
    """A few values that are no numbers, in a tensor of numbers."""
    real = wide(tensor)
    if not tensor.is_floating_point() or tensor.numel() < 2 or bool((real == real.round()).all()):
        return tensor
    lost = uniform(tensor) < _LOST
    lost.view(-1)[0] = True
    return held(real.masked_fill(lost, math.nan), tensor.dtype)


def signed(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers, none of which is negative, of either sign."""
    if tensor.dtype not in (torch.int16, torch.int32, torch.int64) or tensor.numel() < 2 or bool((tensor < 0).any()):
        return tensor
    return torch.where(uniform(tensor) < 0.5, tensor, -tensor)


def great(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers, half of them so large that neither a float32 nor a sum in as many bits holds them."""
    if tensor.dtype not in GREAT or tensor.numel() < 2:
        return tensor
    most = GREAT[tensor.dtype]
    own = torch.Generator(tensor.device).manual_seed(secrets.randbits(31))
    drawn = torch.randint(most // 2, most, tensor.shape, dtype=tensor.dtype, device=tensor.device, generator=own)
    return torch.where(uniform(tensor) < 0.5, tensor, drawn)


def told_apart(inputs: list[object]) -> list[object]:
    """Inputs of which no two hold the same numbers: of those that are equal the later ones are turned round.

    Raises ValueError where there are none such: an author who needs two draws twice for want of another is no promise.
    """
    seen: list[torch.Tensor] = []
    turned = False

    def change(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal turned
        if not tensor.is_floating_point() or tensor.numel() < 2 or bool((tensor == tensor.flatten()[0]).all()):
            return tensor
        equal = any(one.dtype == tensor.dtype and torch.equal(one, tensor) for one in seen)
        seen.append(tensor)
        turned = turned or equal
        return tensor.flatten().roll(len(seen) - 1).flip(0).view(tensor.shape) if equal else tensor

    changed = [map_tensors(item, change) for item in inputs]
    if not turned:
        raise ValueError("no two inputs are equal")
    return changed


def _alike(tensor: torch.Tensor) -> bool:
    if tensor.numel() < 2 or tensor.is_complex() or not bool((tensor == tensor.flatten()[0]).all()):
        return False
    first = float(tensor.flatten()[0])
    return first in (0.0, 1.0) or (not tensor.is_floating_point() and first > 1)


def _varied(tensor: torch.Tensor) -> torch.Tensor:
    """Another mask than one of all ones or zeros; lengths up to those given; numbers in place of zeros."""
    first, draw = float(tensor.flatten()[0]), uniform(tensor)
    if first > 1:
        return (1 + draw * first).floor().clamp(max=first).to(tensor.dtype)
    if first == 0 and tensor.is_floating_point():
        return (2 * draw - 1).to(tensor.dtype)
    return (draw < (0.75 if first else 0.25)).to(tensor.dtype)


def far(inputs: list[object], side: int, product: bool) -> list[object]:
    """Inputs far from zero on one side (-1 or 1), in steps as long: `exp` of a difference is 1 or nothing, so that no
    rounding tells. Of a `product` each second one is on the other side, so that what comes of two is far below zero.
    Zeros, which a triangle or a mask leaves, stay.
    """

    def change(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal side
        if not unbounded(tensor):
            return tensor
        unit = _factor(tensor.shape[-1] if tensor.ndim else 1) if product else FAR
        found = side * unit * (1 + (tensor.abs() / rms(tensor)).floor())
        side = -side if product else side
        found = found.sort(dim=-1).values if rises(tensor) else found
        return found.to(tensor.dtype).where(tensor != 0, tensor)

    return [map_tensors(item, change) for item in inputs]


def of_one(inputs: list[object]) -> list[object]:
    """The first row of a batch, where all tensors are as long as the first one.

    One that is not may say how many rows there are, as the bounds of groups do. Raises ValueError where there is no
    batch, it is one already, or a dimension of one of several tensors is as long elsewhere.
    """
    shapes = [tensor.shape for tensor in leaves(inputs)]
    rows = shapes[0][0] if shapes and len(shapes[0]) > 1 else 1
    alike = all(shape and shape[0] == rows for shape in shapes)
    if rows == 1 or not alike or (len(shapes) > 1 and any(rows in shape[1:] for shape in shapes)):
        raise ValueError("no input has a batch that is told from other sizes")
    return [map_tensors(item, lambda tensor: tensor[:1].clone()) for item in inputs]


def _factor(terms: int) -> float:
    """The unit of factors of which so many are summed: of few digits, so that sums are exact, and not whole, so that
    rounding moves it (`numerics.Truth.tied`)."""
    return math.floor(math.sqrt(FAR_PRODUCT / math.sqrt(max(terms, 1)))) + 0.5


def redistribute(tensor: torch.Tensor, values: Values) -> torch.Tensor:
    """Other values of the kind that a task may rely on; a tensor of another kind stays as it is.

    Rows that rise, as boundaries do, rise afterwards too, and zeros that a triangle or a mask leaves stay. Of 8-bit
    floats large ones are as large as they may be, and small ones would be zeros; what has no sign is a scale.
    """
    if tensor.dtype in FLOAT8:
        kept = values == "small" or torch.finfo(tensor.dtype).min > 0
        return tensor if kept else _fitted(_redistributed(wide(tensor), values), tensor.dtype)
    found = _redistributed(tensor, values)
    return found.sort(dim=-1).values if found is not tensor and rises(tensor) else found


def _redistributed(tensor: torch.Tensor, values: Values) -> torch.Tensor:
    if tensor.numel() < 2 or bool((tensor == tensor.round()).all()) or distribution(tensor):
        return tensor  # a scale, labels, a mask; probabilities or their logarithms
    least, most = (float(bound) for bound in tensor.aminmax())
    if values == "small":
        return _small(tensor)
    if values == "signed":
        return tensor if least < 0 else (tensor - tensor.mean()).where(tensor != 0, 0.0)
    drawn = as_rand_draws(tensor, least, most)
    zero = torch.zeros((), dtype=tensor.dtype, device=tensor.device)
    if values in ("positive", "coarse"):
        signed_too = least < 0 < most and math.isfinite(most - least)
        positive = tensor - least + rms(tensor) / 4 if signed_too else tensor
        other = positive if values == "positive" else _coarse(tensor) if signed_too or drawn else tensor
        return other.where(tensor != 0, zero)
    if values == "negative":
        return -tensor.abs() if least < 0 < most else -tensor if drawn else tensor
    if values == "rising" and (least < 0 < most or drawn):
        return _rising(tensor) * (LARGE_HALVES if tensor.dtype == torch.float16 else LARGE)
    if values in ("rising", "large"):
        unit = drawn and most <= 1
        factor = LARGE_HALVES if tensor.dtype == torch.float16 and not unit else LARGE
        return tensor if least >= 0 and most <= 1 and not drawn else tensor * factor
    if least > 0:
        return tensor  # what is divided by, or goes into a logarithm
    return tensor.where(tensor.abs() > SPARSE * rms(tensor), zero)


def _rising(tensor: torch.Tensor) -> torch.Tensor:
    """Values that grow along every row, every second one from its end to its beginning, up to a peak: of what is drawn
    as noise a block's largest value may be another one's too, whatever a loop carries over. A peak of either sign where
    there are values of either sign."""
    rows = tensor.reshape(-1, tensor.shape[-1])
    shares = (torch.arange(1, rows.shape[1] + 1, device=tensor.device) / rows.shape[1]).square().to(tensor.dtype)
    grown, back = rows * shares, rows * shares.flip(0)
    peak = PEAK * rms(tensor)
    grown[:, -1] = back[:, 0] = peak
    if rows.shape[1] > 2 and float(tensor.min()) < 0:
        grown[:, -2] = back[:, 1] = -peak
    grown[1::2] = back[1::2]
    return grown.reshape(tensor.shape).where(tensor != 0, torch.zeros((), dtype=tensor.dtype, device=tensor.device))


def _coarse(tensor: torch.Tensor) -> torch.Tensor:
    """The values in steps of about a fourth of their root mean square, of which many are equal, and none is zero or
    a whole number, for which there are other variants."""
    unit = torch.exp2(rms(tensor).log2().round() - 2)  # one and the same for two inputs that are drawn alike
    return ((tensor / unit).floor() + 0.5) * unit


def _small(tensor: torch.Tensor) -> torch.Tensor:
    """Slices of the first dimension, each smaller by another power of two; a symmetric matrix stays one."""
    same = symmetric(tensor)
    powers = [-float(SMALLER[place % len(SMALLER)]) / (2 if same else 1) for place in range(len(tensor))]
    factors = torch.tensor(powers, dtype=tensor.dtype, device=tensor.device).exp2()
    if same:
        return tensor * factors * factors[:, None]
    return tensor * factors.reshape(-1, *[1] * (tensor.dim() - 1))


def without_last(tensor: torch.Tensor) -> torch.Tensor:
    """Zeros for the last slice of the first dimension, and of the second of a symmetric matrix; what is positive,
    divided by or in a logarithm, stays so, unless it is as `torch.rand` draws it."""
    fixed, real = not tensor.is_floating_point() or tensor.dim() == 0 or len(tensor) < 2, wide(tensor)
    if fixed or bool((real == real.round()).all()) or distribution(real):
        return tensor
    if float(real.min()) > 0 and not evenly_spread(of_one_scale(real)):
        return tensor
    zeroed = torch.cat([tensor[:-1], torch.zeros_like(tensor[-1:])])
    if symmetric(tensor):
        zeroed[:, -1] = 0
    return zeroed


def out_of_order(tensor: torch.Tensor) -> torch.Tensor:
    """The same values in storage of another order: channels last, columns first, or every second place."""
    if tensor.dim() == 4 and tensor.shape[1] > 1 and max(tensor.shape[2:]) > 1:
        return tensor.contiguous(memory_format=torch.channels_last)
    if tensor.dim() >= 2 and min(tensor.shape[-2:]) > 1:
        return tensor.mT.contiguous().mT
    if tensor.dim() == 0:
        return tensor
    room = tensor.new_empty((*tensor.shape[:-1], 2 * tensor.shape[-1]))[..., ::2]
    return room.copy_(tensor)
