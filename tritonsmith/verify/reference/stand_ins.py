"""Other contents for weights that begin as a constant, or faint, so that a kernel which leaves them out is found.

A norm's weight begins at one, its bias and many a gate at zero, statistics at zero and one: what ignores them is right
until somebody trains the model. Equal constants of equal size get equal contents, so that a candidate may give its
weights any names (one that has all of the reference's is asked for more, see `by_name`); they are put in while it is
built, so that it may prepare something of them. Decides nothing.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules import module as registration

from tritonsmith.tasks.format import seeded
from tritonsmith.verify.process.loading import tensors_of

StandIns = list[tuple[float | torch.Tensor, torch.Tensor]]
"""Constants, each with the contents, flat, that stand in for so many of it; and faint weights, flat, with theirs."""
FAINT = 5e-3
"""Root mean square of random weights that hide what they are added to, or scale, as constants of zero do."""
_TURNED, _MOVED = 0.25, 3
"""Share of truths, or of whole numbers, that are others, and by how much at most."""
SMALL = 0.1
"""Constants nearer to zero than this are replaced by values about one, of either sign: a scale of a millionth hides
what it scales."""
_LEAST, _LARGE, _MOST, _NEGATIVE = 0.25, 1.6, 3.0, 0.25
"""How small and how large a scale becomes, times what it begins as, or times one if that is more, and how many of its
numbers are negative: a scale of ones hides whether it comes before or after a maximum."""
_OUTLYING, _OF_EACH = 4.0, 4
"""How much larger two of each four numbers about one are that stand in for zeros, one of either sign: a gate that is
open for long, as a trained one may be. At half an opening it forgets all in twenty steps."""
FEW = 4
"""Numbers of a weight from which on both signs, and both sizes, are among them."""


def stand_ins(model: nn.Module, seed: int, whole: bool = False, free: bool = False, opposite: bool = False) -> StandIns:
    """Contents for the constant weights of a reference: its parameters, and what it stores besides.

    Truths are among them, and whole numbers where those may be others (`whole`). `free`: parameters need not stay about
    what they begin as; `opposite` is `signed`'s.
    """
    parameters = {id(parameter) for parameter in model.parameters()}
    stored = model.state_dict().keys()
    found: dict[tuple[float, int, torch.dtype | None], torch.Tensor] = {}
    small: StandIns = []
    for name, tensor in tensors_of(model).items():
        value = constant(tensor)
        if value is None and id(tensor) in parameters and faint(tensor):
            begins = tensor.detach().flatten().clone()
            small.append((begins, louder(tensor, seed + len(found) + len(small)).flatten()))
        wanted = id(tensor) in parameters or (name in stored and tensor.numel() > 1)
        if value is None and wanted and (counted := other_counts(tensor, seed + len(found), whole)) is not None:
            found[float(tensor.flatten()[0]), tensor.numel(), tensor.dtype] = counted
        if value is None or not wanted or (value, tensor.numel(), None) in found:
            continue
        with seeded(seed + len(found)):
            spread = 0.5 + torch.rand(tensor.numel(), dtype=torch.float64)
            sign = torch.where(torch.rand(tensor.numel()) < 0.5, -1.0, 1.0)
        contents = sign * spread if abs(value) < SMALL else value * spread
        if free and id(tensor) in parameters:
            hides = abs(value) < SMALL
            contents = outlying(contents) if hides else signed(tensor, value, seed + len(found), opposite).flatten()
        found[value, tensor.numel(), None] = contents.to(tensor.device, tensor.dtype)
    return [*((value, contents) for (value, _, _), contents in found.items()), *small]


def other_counts(tensor: torch.Tensor, seed: int, whole: bool) -> torch.Tensor | None:
    """Other contents, flat, for truths that are all alike, or (`whole`) whole numbers; None for anything else."""
    if tensor.is_floating_point() or tensor.is_complex() or tensor.numel() < 2 or tensor.is_meta:
        return None
    flat, truths = tensor.detach().flatten(), tensor.dtype == torch.bool
    if not (truths or whole) or bool((flat != flat[0]).any()):
        return None
    with seeded(seed):
        changed = torch.rand(flat.shape) < _TURNED
        moved = torch.randint(1, _MOVED + 1, flat.shape)
    changed[0] = True
    other = flat.cpu() ^ changed if truths else flat.cpu() + moved * changed
    return other.to(tensor.device, tensor.dtype)


def faint(tensor: torch.Tensor) -> bool:
    """Whether weights of several values are all far below what weights are."""
    if not tensor.is_floating_point() or tensor.numel() < 2 or tensor.is_meta:
        return False
    return 0 < float(tensor.detach().double().square().mean().sqrt()) < FAINT


def signed(tensor: torch.Tensor, value: float, seed: int, opposite: bool) -> torch.Tensor:
    """Numbers of either sign, smaller and larger than `value`, in place of a tensor that is nothing else.

    Fewer than FEW of them are large and positive, or (`opposite`) negative.
    """
    few = 0 < tensor.numel() < FEW
    least = _LARGE if few and not opposite else _LEAST
    negative = float(opposite) if few else _NEGATIVE
    with seeded(seed):
        spread = least + (_MOST - least) * torch.rand(tensor.shape, dtype=torch.float64)
        sign = torch.where(torch.rand(tensor.shape) < negative, -1.0, 1.0)
    return (sign * spread * max(abs(value), 1.0)).to(tensor.device, tensor.dtype)


def outlying(contents: torch.Tensor) -> torch.Tensor:
    """Numbers about one, of each four of which one is large and another as far below zero, if there are several."""
    if contents.numel() < 2:
        return contents
    found = contents.flatten().clone()
    for place, sign in enumerate((1, -1)):
        found[place::_OF_EACH] = sign * _OUTLYING * found[place::_OF_EACH].abs()
    return found.reshape(contents.shape)


def louder(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    """Numbers of either sign in place of faint ones; a matrix's are such that it makes nothing much larger."""
    with seeded(seed):
        spread = 0.5 + torch.rand(tensor.shape, dtype=torch.float64)
        sign = torch.where(torch.rand(tensor.shape) < 0.5, -1.0, 1.0)
    inner = tensor.numel() // tensor.shape[0] if tensor.dim() > 1 else 1
    return (sign * spread / inner**0.5).to(tensor.device, tensor.dtype)


def constant(tensor: torch.Tensor) -> float | None:
    """The value that all elements of a tensor of floats have, if it is one."""
    if not tensor.is_floating_point() or tensor.numel() == 0 or tensor.is_meta:
        return None
    first = tensor.detach().flatten()[0]
    return float(first) if bool((tensor.detach() == first).all()) else None


def put_in(tensors: Sequence[torch.Tensor], known: StandIns) -> None:
    """Let constant and faint tensors hold what stands in for them."""
    for tensor in tensors:
        value = constant(tensor)
        for other, contents in known:
            if contents.numel() == tensor.numel() and _begins(tensor, value, other, contents.dtype):
                tensor.data.copy_(contents.reshape(tensor.shape))
                break


def _begins(tensor: torch.Tensor, value: float | None, known: float | torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether a tensor, which holds nothing but `value` if that is one, begins like something known."""
    if not dtype.is_floating_point:
        return tensor.dtype == dtype and bool((tensor.detach() == known).all())
    if not isinstance(known, torch.Tensor):
        return value == known
    flat = tensor.detach().flatten()
    return value is None and flat.dtype == known.dtype and torch.equal(flat, known.to(flat.device))


def put_in_rest(model: nn.Module, known: StandIns, given: Sequence[str], loaded: Sequence[str]) -> None:
    """Let tensors hold what stands in for them in a candidate that has not all of the reference's weights by name.

    `given` are the reference's names, `loaded` those that were found. Where all were, other constants are scratch.
    """
    if set(given) <= set(loaded):
        return
    own = {name: tensor for name, tensor in tensors_of(model).items() if name not in loaded}
    plain = [value for module in model.modules() for value in vars(module).values() if isinstance(value, torch.Tensor)]
    put_in([*own.values(), *plain], known)


def told(row: object) -> float | torch.Tensor:
    """What something stands in for, as a runner hears it."""
    return row if isinstance(row, torch.Tensor) else float(str(row))


@contextmanager
def standing_in(known: StandIns) -> Iterator[None]:
    """Put contents into parameters, and into torch's own layers, as soon as a model under construction has them.

    Torch's hooks are of the whole process; models that other threads construct meanwhile are left alone.
    """
    here = threading.get_ident()

    def parameter(_: nn.Module, __: str, value: nn.Parameter | None) -> None:
        if value is not None and threading.get_ident() == here:
            put_in([value], known)

    def layer(_: nn.Module, __: str, inner: nn.Module | None) -> None:
        if inner is not None and threading.get_ident() == here:
            torchs = type(inner).__module__.startswith("torch.nn")
            put_in(list(tensors_of(inner).values()) if torchs else list(inner.parameters()), known)

    hooks = [
        registration.register_module_parameter_registration_hook(parameter),
        registration.register_module_module_registration_hook(layer),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
