"""What a candidate's outputs are compared with: the reference's, in float64 and in the task's own dtype.

Runs the task's code, never a candidate's. The comparison is `numerics`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from tritonsmith.tasks.copied import model_copied
from tritonsmith.tasks.format import forward, seeded, used
from tritonsmith.tasks.trees import FLOAT8, continuous, leaves, map_tensors
from tritonsmith.verify import numerics
from tritonsmith.verify.dynamic.observe import numbers
from tritonsmith.verify.numerics import Truth
from tritonsmith.verify.reference.ties import Pick, Ties, noted

_HALVES = (torch.float16, torch.bfloat16)
_STEPS = {torch.int8, torch.uint8, torch.int16, torch.int32}
"""Kinds of integers that are steps of a scale; places are int64, and truths are truths."""
_EQUAL = 2.0**-40
"""In parts of the largest value what is equal in float64; float32 rounds to 2^-24 of a value."""
_NUDGE = 4.0
"""By how many units of rounding inputs are moved to see which integers of an output hang on rounding."""
_REORDERED = 16.0
"""By how many, of the largest, values are moved that are ordered: they have rounding of their own, of which that of
faint inputs shows nothing. PTX's `ex2.approx` and `div.full` err by two units each; of 4,096 rows of 64 shares that
differ by 1 in 500, each off by up to three, 4 places were beyond what 16 runs gave, and 10 might have been; moved by 8
units 11 were, of 5. The values themselves may be off by `numerics.PROPORTION`."""
UNITS = 2.0
"""By how many units of rounding inputs and weights are moved to see how far an answer in floats hangs on them."""
_ONE_SIDED, _ONE_SIDED_HALVES = 16.0, 0.5
"""The same where values lie on one side of zero: a running sum of D products then errs by D / 20 times what moves of
two units of each factor make of it. Halves are summed in float32: of them each is rounded itself, by half a unit."""
_WHOLE = 2.0**24
"""Numbers beyond have no fractions in float32, so that being whole says nothing of them."""
_OTHER_PRODUCTS = ("rnn", "lstm", "gru", "cdist", "mv.", "attention")
"""Parts of the names of operators that multiply matrices and are not in torch's register of operations."""
_NO_MEMORY = "_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "out of memory"
"""What NVIDIA's libraries say where they have no memory for themselves."""
_MUCH = 1 << 20
"""Elements for each one of an output from which on it matters whether it is a plain sum of them; see `numerics`."""


def truth_of(
    model: nn.Module,
    inputs: list[object],
    earlier: Sequence[list[object]] = (),
    wide: bool = True,
    one_sided: bool = False,
) -> Truth:
    """Both outputs of the reference; raises whatever its code raises in its own dtype.

    `earlier` are calls that it has answered before, where its answer depends on them. Not `wide`: there is no memory
    for it in float64, and it is its own truth. `one_sided`: values lie far from zero, in steps (`Truth.tied`).
    """
    native = _detached(_answer(used(model, earlier) if earlier else model, inputs))
    if not wide:
        return Truth(native, native, kind=_kind(model, inputs))
    double, widened = model_copied(model).double(), _wide(inputs)
    products, much = _Products(), _much(native, model, inputs)
    try:
        double = used(double, map(_wide, earlier)) if earlier else double
        with products if much else nullcontext():
            exact = _detached(_answer(double, widened))
    except torch.OutOfMemoryError:
        raise  # says something of the GPU, and nothing of the reference
    except Exception:  # a reference that insists on its dtype is its own truth
        exact, double, widened, much = native, model, inputs, 0
    summed = 0 if products.found else much
    unit = _unit(native, inputs)
    kind = _kind(model, inputs)

    def picks() -> list[Pick]:
        with noted() as found:
            forward(used(model, earlier) if earlier else model, inputs)
        return found

    units = (_ONE_SIDED if kind in numerics.SUMS else _ONE_SIDED_HALVES) if one_sided else UNITS

    def moved(number: int) -> object:
        given, copied = _wide(inputs), model_copied(model).double()
        if number:
            eps = units * torch.finfo(kind).eps
            with seeded(number), torch.no_grad():
                given = [map_tensors(item, lambda tensor: _nudged(tensor, eps)) for item in given]
                for weight in [*copied.parameters(), *copied.buffers()]:
                    weight.copy_(_nudged(weight, eps))
        return forward(used(copied, map(_wide, earlier)) if earlier else copied, given)

    # Halves are summed in float32, and rounded once: their tolerance knows that.
    shaken = moved if exact is not native and (one_sided or kind in numerics.SUMS) else None
    found = Truth(exact, native, summed=summed, kind=kind, picks=picks, moved=shaken, tied=one_sided)
    if unit is None:
        return found

    def nearby(number: int) -> object:
        with seeded(number):
            given = [map_tensors(item, lambda tensor: _nudged(tensor, _NUDGE * unit)) for item in widened]
        with Ties(number, _REORDERED * unit):
            return forward(double, given)

    return replace(found, nearby=nearby)


def _answer(model: nn.Module, inputs: list[object]) -> object:
    """The model's output; raises OutOfMemoryError where a library of torch's had no memory for itself, too.

    That would else be taken for a reference that does not run on such inputs.
    """
    try:
        return forward(model, inputs)
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or not any(words in str(error) for words in _NO_MEMORY):
            raise
        raise torch.OutOfMemoryError(str(error)) from error


def _kind(model: nn.Module, inputs: list[object]) -> torch.dtype:
    """The least precise of the types of inputs and weights, float32 where none has fractions."""
    kinds = {t.dtype for t in [*leaves(inputs), *model.parameters()] if t.is_floating_point()}
    return max(kinds & numerics.TOLERANCE.keys(), key=lambda kind: torch.finfo(kind).eps, default=torch.float32)


def _much(native: object, model: nn.Module, inputs: list[object]) -> int:
    """Elements of inputs and weights, 0 where no output is so small beside them that it may be a sum of very many."""
    given = sum(tensor.numel() for tensor in [*leaves(inputs), *model.state_dict().values()])
    alone = [1] if any(isinstance(number, float) for number in numbers(native)) else []
    least = min([tensor.numel() for tensor in leaves(native) if tensor.numel()] + alone, default=0)
    return given if least and given // least >= _MUCH else 0


class _Products(TorchDispatchMode):
    """Looks for products of matrices, convolutions and what is made of them: there lower precision would pay."""

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        known = getattr(func, "_overloadpacket", None) in flop_registry
        self.found |= known or any(word in str(func) for word in _OTHER_PRODUCTS)
        return func(*args, **(kwargs or {}))


def hangs_on_ties(model: nn.Module, inputs: list[object]) -> bool:
    """Whether an answer in floats is another one where equal values come in another order, which torch leaves open."""
    found = []
    try:
        double, widened = model_copied(model).double(), _wide(inputs)
        for number in (0, 1):
            with Ties(number, _EQUAL):
                found.append([tensor for tensor in leaves(forward(double, widened)) if continuous(tensor)])
    except torch.OutOfMemoryError:
        raise  # says something of the GPU, and nothing of the reference
    except Exception:  # a reference that insists on its dtype
        return False
    pairs = zip(*found, strict=True)
    return any(not torch.allclose(one, other, 1e-6, 1e-12, equal_nan=True) for one, other in pairs)


def _unit(native: object, inputs: list[object]) -> float | None:
    """The unit of rounding on which integers of an output may hang; None where all of them are settled.

    Of equal values of half precision any one's place may be told, but beside those values alone: of a tie in what was
    given torch's documentation says which. Steps of a scale are found from halves in float32, where a quotient that is
    halfway between two of them (as many of halves are) falls to either: PTX's `div.full.f32` errs by two units.
    8-bit floats that are given are such halves.
    """
    kinds = [{t.dtype for t in leaves(tree)} for tree in (native, inputs)]
    if all(kind.is_floating_point or kind.is_complex for kind in kinds[0]):
        return None
    halves = [kind for kind in _HALVES if kind in kinds[0]]
    if halves:
        return max(torch.finfo(kind).eps for kind in halves)
    given = [kind for kind in kinds[1] if kind.is_floating_point]
    narrow = {*_HALVES, *FLOAT8}
    if {*given} & narrow and not kinds[0] <= _STEPS:
        return None
    return max(torch.finfo(torch.float32 if kind in narrow else kind).eps for kind in given) if given else None


def _nudged(tensor: torch.Tensor, by: float) -> torch.Tensor:
    """Values moved by such a part of them, each on its own; whole numbers are labels, masks or counts and stay."""
    if not tensor.is_floating_point():
        return tensor
    whole = ((tensor == tensor.round()) & (tensor.abs() <= _WHOLE)).all()
    return tensor.where(whole, tensor * (1 + by * (2 * torch.rand_like(tensor) - 1)))


def _detached(output: object) -> object:
    return map_tensors(output, torch.Tensor.detach)


def _wide(inputs: list[object]) -> list[object]:
    return [map_tensors(item, _widen) for item in inputs]


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor
