"""The inputs a candidate is tried on: the task's own, extension 1's four others, and those beyond them.

A variant exists only if the reference runs on it and gives usable values; that is found out by running it, see
`usable` and `verify.trial`. Inputs keep what a task may rely on: labels and masks stay labels and masks, what is
nonnegative stays so, and probabilities stay probabilities; but numbers as `torch.rand` draws them are tried negative
and large too, for most authors draw so without a promise, and ReLU of them would be a copy. Rows of equal values are
left out: there a variance of zero makes any rounding as large as the answer. Zeros among small values are tried where
the reference bears them.
"""

import math
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

import torch
from torch.utils import _pytree as pytree

from tritonsmith.tasks.dry import emptied, runs_without_data
from tritonsmith.tasks.scaling import resized
from tritonsmith.types import Task

Values = Literal["negative", "large", "sparse", "small", "signed", "rising", "masks", "constants", "numbers"]
LARGE = 128.0
"""Factor of the large magnitudes; a power of two, so that it rounds nothing. exp overflows behind 88, also behind a
layer, which makes values smaller by a third and more."""
LARGE_HALVES = 32.0
"""The same in float16, whose sums of larger products overflow."""
SMALLER = 12, 4, 8, 14, 6, 10
"""Slices of small values are so many powers of two smaller; a norm's epsilon outweighs what is left of the smallest."""
SPARSE = 1.6
"""What is nearer to zero than so many root mean squares becomes zero: 89 % of a normal distribution."""


@dataclass(frozen=True)
class Variant:
    """One way to feed a task."""

    label: str
    task: Task
    """The task at the variant's sizes."""
    fresh_seed: bool = False
    """Whether inputs are drawn under another seed than the first variant's."""
    factor: float = 1.0
    """What floating-point inputs are multiplied by."""
    dtype: torch.dtype | None = None
    """Precision of model and inputs, None for the task's own."""
    values: Values | None = None
    """Another distribution of floating-point inputs, or other contents for what no seed changes; None for the task's
    own."""
    strided: bool = False
    """Whether the inputs lie in memory otherwise than in the order of their elements."""
    weights: bool = False
    """Whether other contents stand in for weights that begin as a constant; see `verify.stand_ins`."""
    named: bool = False
    """Whether each weight's are of its own, for candidates that have all of them by name; see `verify.by_name`."""
    reuse: bool = False
    """Whether the candidate is called twice, the second time with new contents in the same storage."""
    brief: bool = False
    """Whether the candidate is stopped, and nothing is held against it, where it takes many programs for it."""
    patient: bool = False
    """Whether a brief one may take some seconds, and as many programs as it likes."""


def variants(
    task: Task,
    multi_input: bool,
    growth: float | None = 2.0,
    also: Collection[str] = (),
    strided: bool = False,
    light: Task | None = None,
) -> list[Variant]:
    """The task as given and, if wanted, extension 1's four others (DESIGN 4.5) and those beyond.

    `growth` is the factor of the larger dimensions, None to leave them out; the interpreter, whose time is their
    product, gets less.
    `also` names variants of `hardeners` to add in any case: a task needs them that a null control passes.
    `strided` adds inputs whose elements do not lie in order, which many honest kernels take for granted.
    `light` is the task at a smaller size, for the variants that change values alone: the interpreter's time is in the
    sizes.
    """
    given = Variant("as given", task)
    hardening = [variant for variant in hardeners(task) if variant.label in also]
    if not multi_input:
        return [given, *hardening]
    grown = larger(task, growth) if growth is not None else None
    odd, light = odd_sizes(task), light or task
    found = [
        given,
        Variant("values x2", light, factor=2.0),
        Variant("another seed", light, fresh_seed=True),
        *([Variant("larger dimensions", grown, fresh_seed=True)] if grown else []),
        Variant("float16", task, dtype=torch.float16),
        *([Variant("odd sizes", odd, fresh_seed=True)] if odd else []),
        *distributions(light),
        Variant("small values", light, fresh_seed=True, values="small"),
        Variant("other masks", light, fresh_seed=True, values="masks"),
        Variant("other constants", light, fresh_seed=True, values="constants"),
        Variant("other numbers", light, fresh_seed=True, values="numbers"),
        Variant("other weights", light, fresh_seed=True, weights=True),
        *([Variant("strided storage", light, fresh_seed=True, strided=True)] if strided else []),
        Variant("new contents in the same storage", light, fresh_seed=True, reuse=True),
    ]
    needed = {variant.label: variant for variant in hardening}
    return [needed.pop(variant.label, variant) for variant in found] + list(needed.values())


def distributions(task: Task) -> list[Variant]:
    """The task at its sizes with values of another distribution."""
    return [
        Variant("negative values", task, fresh_seed=True, values="negative"),
        Variant("large values", task, fresh_seed=True, values="large"),
        Variant("sparse values", task, fresh_seed=True, values="sparse"),
    ]


def hardeners(task: Task) -> list[Variant]:
    """The variants at the task's sizes whose values may find out a null control that the given ones let pass.

    The last one breaks a promise that the given values make, being nonnegative; it is for a task that keeps no other.
    """
    return [
        *distributions(task),
        Variant("values x2", task, factor=2.0),
        Variant("signed values", task, fresh_seed=True, values="signed"),
    ]


def odd_sizes(task: Task) -> Task | None:
    """The task at sizes that are no multiple of a block, None if the reference takes none such.

    Sizes one smaller are tried first, and sizes of seven eighths then, which keep what divides what.
    """
    known, same = runs_without_data(task), _resized(task, lambda value: value).source
    for change in (_one_less, _seven_eighths):
        odd = _resized(task, change)
        fits = runs_without_data(odd) or not known
        if odd.source != same and fits and not emptied(task.source, odd.source):
            return odd
    return None


def larger(task: Task, growth: float) -> Task:
    """The task with its dimensions grown together."""
    return _resized(task, lambda value: _grow(value, growth))


def _resized(task: Task, change: Callable[[int], int]) -> Task:
    return task.model_copy(update={"source": resized(task.source, change)})


# Small constants are kernel sizes, strides and groups; they mean something else at another size.


def _grow(value: int, growth: float) -> int:
    return int(growth * value) if value > 8 else value


def _one_less(value: int) -> int:
    return value - 1 if value > 8 and value % 2 == 0 else value


def _seven_eighths(value: int) -> int:
    return value // 8 * 7 if value > 8 and value % 8 == 0 else value


def adapt(inputs: list[object], variant: Variant) -> list[object]:
    """The drawn inputs as the variant wants them: distribution, scale, precision, layout.

    Integer tensors keep their values. Raises ValueError where other masks are wanted and none of the inputs is one,
    and where other constants are: they are `verify.fitting`'s business, which draws twice and can run the reference.
    """
    if variant.values in ("constants", "numbers"):
        raise ValueError("one draw does not tell what is constant")
    if variant.values == "masks":
        return _masks(inputs)

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.is_floating_point():
            tensor = _redistribute(tensor, variant.values) if variant.values else tensor
            tensor = tensor * variant.factor if variant.factor != 1.0 else tensor
            tensor = tensor.to(variant.dtype) if variant.dtype is not None else tensor
        return _strided(tensor) if variant.strided else tensor

    return [map_tensors(item, change) for item in inputs]


def _masks(inputs: list[object]) -> list[object]:
    """Inputs of which those that are all alike are so no more: masks that hide nothing, lengths that are all the whole.

    Drawn by a generator of their own: others may be drawing under a seed.
    """
    if not any(_alike(tensor) for tensor in leaves(inputs)):
        raise ValueError("no input is all alike")
    return [map_tensors(item, lambda tensor: _varied(tensor) if _alike(tensor) else tensor) for item in inputs]


def _alike(tensor: torch.Tensor) -> bool:
    if tensor.numel() < 2 or tensor.is_complex() or not bool((tensor == tensor.flatten()[0]).all()):
        return False
    first = float(tensor.flatten()[0])
    return first in (0.0, 1.0) or (not tensor.is_floating_point() and first > 1)


def _varied(tensor: torch.Tensor) -> torch.Tensor:
    """Another mask than one of all ones or zeros; lengths up to those given; numbers in place of zeros."""
    own = torch.Generator(tensor.device).manual_seed(secrets.randbits(31))
    first, draw = float(tensor.flatten()[0]), torch.rand(tensor.shape, device=tensor.device, generator=own)
    if first > 1:
        return (1 + draw * first).floor().clamp(max=first).to(tensor.dtype)
    if first == 0 and tensor.is_floating_point():
        return (2 * draw - 1).to(tensor.dtype)
    return (draw < (0.75 if first else 0.25)).to(tensor.dtype)


def usable(variant: Variant, output: object, was_finite: bool) -> bool:
    """Whether the reference's output on a variant can be judged against.

    Not if values overflowed or became NaN though all were finite on the task as given (`was_finite`); and not if
    the output holds integers, such as positions, while zeros have made ties that may be broken either way; and not
    if it holds complex numbers of half precision, which torch itself hardly computes with.
    """
    if any(tensor.dtype == torch.complex32 for tensor in leaves(output)):
        return False
    if variant.values in ("sparse", "small") and any(not _continuous(tensor) for tensor in leaves(output)):
        return False
    return not was_finite or finite(output)


def finite(output: object) -> bool:
    """Whether nothing of an output is NaN or infinity."""
    told = [value for value in pytree.tree_leaves(output) if isinstance(value, float)]
    return all(map(math.isfinite, told)) and all(bool(torch.isfinite(tensor).all()) for tensor in leaves(output))


def leaves(tree: object) -> list[torch.Tensor]:
    """Every tensor in nested lists, tuples and dicts, in order."""
    found: list[torch.Tensor] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    map_tensors(tree, note)
    return found


def map_tensors(tree: object, change: Callable[[torch.Tensor], torch.Tensor]) -> object:
    """Apply a function to every tensor in nested lists, tuples and dicts."""
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, (list, tuple)):
        items = [map_tensors(item, change) for item in tree]
        return items if isinstance(tree, list) else tuple(items)  # a named tuple's type takes its items one by one
    if isinstance(tree, dict):
        return {key: map_tensors(item, change) for key, item in tree.items()}
    return tree


def _continuous(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _redistribute(tensor: torch.Tensor, values: Values) -> torch.Tensor:
    """Other values of the kind that a task may rely on; a tensor of another kind stays as it is."""
    if tensor.numel() < 2 or bool((tensor == tensor.round()).all()) or _distribution(tensor):
        return tensor  # a scale, labels, a mask; probabilities or their logarithms
    least, most = (float(bound) for bound in tensor.aminmax())
    if values == "small":
        return _small(tensor)
    if values == "signed":
        return tensor if least < 0 else tensor - tensor.mean()
    drawn = _drawn(tensor, least, most)
    if values == "negative":
        return -tensor.abs() if least < 0 < most else -tensor if drawn else tensor
    if values == "rising" and least < 0 < most:
        last = torch.arange(1, tensor.shape[-1] + 1, dtype=tensor.dtype, device=tensor.device) / tensor.shape[-1]
        return tensor * last * LARGE_HALVES
    if values in ("rising", "large"):
        unit = drawn and most <= 1
        factor = LARGE_HALVES if tensor.dtype == torch.float16 and not unit else LARGE
        return tensor if least >= 0 and most <= 1 and not drawn else tensor * factor
    if least > 0:
        return tensor  # what is divided by, or goes into a logarithm
    rms = torch.linalg.vector_norm(tensor) / tensor.numel() ** 0.5
    return tensor.where(tensor.abs() > SPARSE * rms, torch.zeros((), dtype=tensor.dtype, device=tensor.device))


def _drawn(tensor: torch.Tensor, least: float, most: float) -> bool:
    """Whether values are as `torch.rand` draws them, or a multiple of that, which promises little.

    Of n uniform values none comes so near to an end as is asked here e^-16 of the time; five deviations of their mean
    and of their mean square, 1 / sqrt(12 n) and sqrt(4 / (45 n)), tell them from others that begin at zero.
    """
    if not 0 <= least < most or tensor.numel() <= 16:
        return False
    near = min(0.5, 16 / tensor.numel())
    if least >= near * most:
        return False
    if 1 - near < most <= 1:
        return True
    even, many = tensor.double() / most, 5 / tensor.numel() ** 0.5
    mean, square = float(even.mean()), float(even.square().mean())
    return abs(mean - 1 / 2) < many * (1 / 12) ** 0.5 + near and abs(square - 1 / 3) < many * (4 / 45) ** 0.5 + near


def _small(tensor: torch.Tensor) -> torch.Tensor:
    """Slices of the first dimension, each smaller by another power of two; a symmetric matrix stays one."""
    symmetric = _symmetric(tensor)
    powers = [-float(SMALLER[place % len(SMALLER)]) / (2 if symmetric else 1) for place in range(len(tensor))]
    factors = torch.tensor(powers, dtype=tensor.dtype, device=tensor.device).exp2()
    if symmetric:
        return tensor * factors * factors[:, None]
    return tensor * factors.reshape(-1, *[1] * (tensor.dim() - 1))


def _symmetric(tensor: torch.Tensor) -> bool:
    """Whether a matrix equals its transpose, which a task may promise; slices of several matrices keep it anyway."""
    square = tensor.dim() == 2 and tensor.shape[0] == tensor.shape[1]
    return square and torch.equal(tensor, tensor.T)


def without_last(tensor: torch.Tensor) -> torch.Tensor:
    """Zeros for the last slice of the first dimension, and of the second of a symmetric matrix; what is positive,
    divided by or in a logarithm, stays so."""
    fixed = not tensor.is_floating_point() or tensor.dim() == 0 or len(tensor) < 2
    if fixed or bool((tensor == tensor.round()).all()) or float(tensor.min()) > 0 or _distribution(tensor):
        return tensor
    zeroed = torch.cat([tensor[:-1], torch.zeros_like(tensor[-1:])])
    if _symmetric(tensor):
        zeroed[:, -1] = 0
    return zeroed


def _distribution(tensor: torch.Tensor) -> bool:
    """Whether the last or the second dimension holds probabilities, or logarithms of them."""
    bounds = tensor.aminmax()
    logarithms, probabilities = bool(bounds.max <= 0), bool(bounds.min >= 0)
    if not logarithms and not probabilities:
        return False
    wide = tensor.exp() if logarithms else tensor
    totals = [wide.sum(dim=dim) for dim in {-1, min(1, tensor.dim() - 1)}]
    return any(bool(torch.allclose(total, torch.ones_like(total), atol=1e-3)) for total in totals)


def _strided(tensor: torch.Tensor) -> torch.Tensor:
    """The same values in storage of another order: columns first, or every second place."""
    if tensor.dim() >= 2 and min(tensor.shape[-2:]) > 1:
        return tensor.mT.contiguous().mT
    if tensor.dim() == 0:
        return tensor
    room = tensor.new_empty((*tensor.shape[:-1], 2 * tensor.shape[-1]))[..., ::2]
    return room.copy_(tensor)
