"""The inputs a candidate is tried on: the task's own, extension 1's four others, and those beyond them.

A variant exists only if the reference runs on it and gives usable values; that is found out by running it, see
`usable` and `verify.comparing`. Inputs keep what a task may rely on: labels and masks stay labels and masks, what is
nonnegative stays so, and probabilities stay probabilities; but numbers as `torch.rand` draws them are tried negative
and large too, for most authors draw so without a promise, and ReLU of them would be a copy. Rows of equal values are
left out: there a variance of zero makes any rounding as large as the answer. Zeros among small values are tried where
the reference bears them.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch

from tritonsmith.tasks.dry import chooses, emptied, picks, runs_without_data
from tritonsmith.tasks.promised import truths, unbounded
from tritonsmith.tasks.rescaling import bounded_by_arguments, resized
from tritonsmith.tasks.trees import FLOAT8, continuous, finite, leaves, map_tensors
from tritonsmith.tasks.unequal import told_apart
from tritonsmith.tasks.values import (
    GREAT,
    ONE_SIDED,
    Side,
    Values,
    far,
    great,
    masks,
    mixed,
    of_one,
    out_of_order,
    redistribute,
    scaled,
    signed,
)
from tritonsmith.tasks.values import told_apart as inputs_told_apart
from tritonsmith.types import Task

_NAN = re.compile(r"nan|isfinite|\bfmax\b|\bfmin\b|\b(\w+) [!=]= \1\b")
"""What the text of a task has in it whose answer may be finite though an input is NaN."""
_INFINITY = re.compile(r"isinf|isposinf|isneginf|isfinite|nan_to_num|[!=]= -?(float\(.inf.\)|(math|torch)\.inf)")
"""The same where an input is infinite."""
_ENDS = re.compile("clamp|maximum|nan_to_num|ignore_index")
"""What it has in it where an empty mask, or a label that is left out, may need care."""
_COMPARES = re.compile(r"[!=<>]= ?-?[\w.(]|[<>] ?-?\d|\b(eq|ne|ge|gt|le|lt|padding_idx)\b")
"""What it has in it that may compare inputs with a number, which draws may not have: a padding, a word that marks."""
_DRAWS_WHOLE = re.compile(r"rand(int|perm)|random_|multinomial|\blong\b|\bint(32|64)?\b")
"""What it has in it whose inputs may be whole numbers that are drawn."""
_ROUNDS = re.compile(r"\bround")
_EXPONENTIALS = re.compile(r"softm(ax|in)|logsumexp|logaddexp|entropy|attention|\bexp\b", re.IGNORECASE)
"""What it has in it whose kernel takes a running maximum, which may not begin at zero."""
_OVERFLOWS = re.compile(r"\b(exp|exp2|expm1|sinh|cosh|pow|logit)\b|\*\*")
"""What it has in it whose answer may be infinite where values are a hundred; a kernel may cut that off below."""
_PRODUCTS = re.compile(r"attention|matmul|\bb?mm\b|einsum|@")
_TO_BE_FITTED: Collection[Values] = (
    "constants",
    "numbers",
    "nan",
    "infinities",
    "ends",
    "halves",
    "marked",
    "beyond",
    "brink",
    "huge",
    "places",
)
"""Values that only a look at the reference tells: they are `verify.reference`'s business."""
_OF_THE_UNBOUNDED: Collection[Values] = ("positive", "coarse", *ONE_SIDED)
FAINT = 1 / 512
"""Factor of the faint values; a power of two, so that it rounds nothing."""


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
    """Precision of model and inputs, None for the task's own; 8-bit floats keep theirs."""
    values: Values | None = None
    """Another distribution of floating-point inputs, or other contents for what no seed changes; None for the task's
    own."""
    level: float = 0.0
    """With `values = "beyond"`: beyond which magnitude they are."""
    side: Side = "either"
    """... and with which sign."""
    strided: bool = False
    """Whether the inputs lie in memory otherwise than in the order of their elements."""
    weights: bool = False
    """Whether other contents stand in for weights that begin as a constant; see `verify.stand_ins`."""
    named: bool = False
    """Whether each weight's are of its own, for candidates that have all of them by name; see `verify.by_name`."""
    opposite: bool = False
    """Whether weights of a few numbers, which begin as a constant, are negative; else they are large and positive."""
    reuse: bool = False
    """Whether the candidate is called twice, the second time with new contents in the same storage."""
    handed: bool = False
    """Whether the inputs are parts of a larger memory, and want gradients; see `verify.handing`."""
    brief: bool = False
    """Whether the candidate is stopped, and nothing is held against it, where it takes many programs for it."""
    patient: bool = False
    """Whether a brief one may take some seconds, and as many programs as it likes."""
    bounded: bool = False
    """Whether the candidate is stopped where it takes a good part of its time; smaller sizes are to be tried then."""


def variants(
    task: Task,
    multi_input: bool,
    growth: float | None = 2.0,
    also: Collection[str] = (),
    strided: bool = False,
    light: Task | None = None,
    whole: Task | None = None,
) -> list[Variant]:
    """The task as given and, if wanted, extension 1's four others (DESIGN 4.5) and those beyond.

    `growth` is the factor of the larger dimensions, None to leave them out; the interpreter, whose time is their
    product, gets less.
    `also` names variants of `hardeners` to add in any case: a task needs them that a null control passes.
    `strided` adds inputs whose elements do not lie in order, which many honest kernels take for granted.
    `light` is the task at a smaller size, for the variants that change values alone: the interpreter's time is in the
    sizes.
    `whole` is the task as it is written, where `task` is a smaller version.
    """
    given = Variant("as given", task)
    hardening = [variant for variant in hardeners(task) if variant.label in also]
    if not multi_input:
        return [given, *hardening]
    grown = larger(task, growth) if growth is not None else None
    odd, light = odd_sizes(task), light or task
    unlike, overflows = told_apart(task if whole is None else whole, light), _OVERFLOWS.search(task.source)
    found = [
        given,
        Variant("values x2", light, factor=2.0),
        Variant("another seed", light, fresh_seed=True, handed=True),
        *([Variant("larger dimensions", grown, fresh_seed=True)] if grown else []),
        Variant("float16", task, dtype=torch.float16),
        *([Variant("odd sizes", odd, fresh_seed=True)] if odd else []),
        *distributions(light),
        Variant("small values", light, fresh_seed=True, values="small"),
        *_at_other_places(light),
        Variant("other masks", light, fresh_seed=True, values="masks"),
        Variant("signed values", light, fresh_seed=True, values="mixed"),
        *([Variant("NaN among values", light, fresh_seed=True, values="nan")] if _NAN.search(task.source) else []),
        *_edges(task, light),
        *(_far(light) if _EXPONENTIALS.search(task.source) else []),
        *([Variant("negative whole numbers", light, fresh_seed=True, values="whole")] if _counts(task) else []),
        *([Variant("great whole numbers", light, fresh_seed=True, values="great")] if _counts(task) else []),
        *([Variant("places all over", light, fresh_seed=True, values="places")] if _has_places(light) else []),
        *([Variant("values that nearly overflow", light, fresh_seed=True, values="brink")] if overflows else []),
        Variant("huge values", light, fresh_seed=True, values="huge"),
        Variant("equal inputs told apart", light, fresh_seed=True, values="apart"),
        Variant("other constants", light, fresh_seed=True, values="constants"),
        Variant("other numbers", light, fresh_seed=True, values="numbers"),
        *([Variant("equal sizes told apart", unlike, fresh_seed=True)] if unlike else []),
        Variant("other weights", light, fresh_seed=True, weights=True),
        Variant("a batch of one", light, fresh_seed=True, values="one row"),
        *([Variant("strided storage", light, fresh_seed=True, strided=True)] if strided else []),
        Variant("new contents in the same storage", light, fresh_seed=True, reuse=True),
    ]
    needed = {variant.label: variant for variant in hardening}
    return [needed.pop(variant.label, variant) for variant in found] + list(needed.values())


def _edges(task: Task, light: Task) -> list[Variant]:
    """Values at the edges of what a task is for, where its text speaks of such."""
    found: list[tuple[str, Values, bool]] = [
        ("infinities among values", "infinities", _INFINITY.search(task.source) is not None),
        # Among many equal values a place, and what is read there, may be any one's.
        ("values at their ends", "ends", _ENDS.search(task.source) is not None and not chooses(light.source)),
        ("values halfway between whole numbers", "halves", _ROUNDS.search(task.source) is not None),
        ("values that are compared with", "marked", _COMPARES.search(task.source) is not None),
    ]
    return [Variant(label, light, fresh_seed=True, values=values) for label, values, wanted in found if wanted]


def _far(light: Task) -> list[Variant]:
    """All values far from zero, on one side of it and on the other."""
    sides: list[tuple[str, Values]] = [("values far below zero", "far below"), ("values far above zero", "far above")]
    return [Variant(label, light, fresh_seed=True, values=values) for label, values in sides]


def distributions(task: Task) -> list[Variant]:
    """The task at its sizes with values of another distribution."""
    return [
        Variant("negative values", task, fresh_seed=True, values="negative"),
        Variant("large values", task, fresh_seed=True, values="large"),
        Variant("sparse values", task, fresh_seed=True, values="sparse"),
    ]


def _at_other_places(light: Task) -> list[Variant]:
    """All values in one place where one kernel's shortcut may lie: a block of faint ones that it skips, one without a
    negative one, equal ones that it takes for one, and numbers far enough out for a curve to be nearly flat."""
    return [
        Variant("faint values", light, fresh_seed=True, factor=FAINT),
        Variant("values x4", light, fresh_seed=True, factor=4.0),
        Variant("positive values", light, fresh_seed=True, values="positive"),
        Variant("coarse values", light, fresh_seed=True, values="coarse"),
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

    Integer tensors keep their values, unless a variant is about these. Raises ValueError where other masks are wanted
    and none of the inputs is one, or signs and none is without; and where other constants are, or anything else that
    needs two draws or a look at the reference.
    """
    if variant.values in _TO_BE_FITTED:
        raise ValueError("one draw does not tell what is constant, or what the reference bears")
    if variant.values == "mixed":
        return mixed(inputs)
    if variant.values == "masks":
        return masks(inputs)
    if variant.values == "one row":
        return of_one(inputs)
    if variant.values == "whole":
        return [map_tensors(item, signed) for item in inputs]
    if variant.values == "great":
        if not any(tensor.dtype in GREAT for tensor in leaves(inputs)):
            raise ValueError("no input is of whole numbers that may be great")  # and the variant would be another draw
        return [map_tensors(item, great) for item in inputs]
    if variant.values == "apart":
        return inputs_told_apart(inputs)

    if variant.values in _OF_THE_UNBOUNDED and not any(map(unbounded, leaves(inputs))):
        raise ValueError("no input has values without bounds")  # and the variant would be another draw
    if variant.values in ONE_SIDED:
        product = _PRODUCTS.search(variant.task.source) is not None
        return far(inputs, -1 if variant.values == "far below" else 1, product)

    several = sum(tensor.is_floating_point() for tensor in leaves(inputs)) > 1

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.is_floating_point():
            tensor = redistribute(tensor, variant.values) if variant.values else tensor
            label = several and variant.factor != 1.0 and truths(tensor)  # beside what it is a label of
            tensor = scaled(tensor, variant.factor) if variant.factor != 1.0 and not label else tensor
            changed = variant.dtype is not None and tensor.dtype not in FLOAT8
            tensor = tensor.to(variant.dtype) if changed else tensor
        return out_of_order(tensor) if variant.strided else tensor

    return [map_tensors(item, change) for item in inputs]


def _counts(task: Task) -> bool:
    """Whether whole numbers are drawn that are places nowhere, so that there may be negative ones.

    Numbers below something that the constructor is given are those of an expert, a class or a head, as far as is known.
    """
    return "randint" in task.source and not picks(task.source) and not bounded_by_arguments(task.source)


def _has_places(task: Task) -> bool:
    """Whether whole numbers are drawn that may be places somewhere, of which a draw may not know all."""
    return _DRAWS_WHOLE.search(task.source) is not None and picks(task.source)


def usable(variant: Variant, output: object, was_finite: bool) -> bool:
    """Whether the reference's output on a variant can be judged against.

    Not if values overflowed or became NaN though all were finite on the task as given (`was_finite`); and not if
    the output holds integers that may be positions, while zeros have made ties that may be broken either way; not if it
    holds complex numbers of half precision, which torch itself hardly computes with; and not where one row has an
    answer of several: what was taken for a batch goes with a weight as long.
    """
    if any(tensor.dtype == torch.complex32 for tensor in leaves(output)):
        return False
    if variant.values == "one row" and any(tensor.ndim and tensor.shape[0] != 1 for tensor in leaves(output)):
        return False
    whole = any(not continuous(tensor) for tensor in leaves(output))
    if variant.values in ("sparse", "small", "coarse", *ONE_SIDED) and whole and chooses(variant.task.source):
        return False
    return not was_finite or finite(output)
