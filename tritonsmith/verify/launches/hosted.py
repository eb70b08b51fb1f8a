"""Which tensors would lie in the host's memory if there were a GPU: `torch.empty(n)` without a device, `x.cpu()`.

Where there is none all of them lie in the same memory, and a kernel that is launched on such a tensor runs here and
fails there. A tensor that is made of hosted ones alone is hosted too. Knows what goes through torch's functions; what
nobody noted counts as the GPU's, and so do weights and whatever a module was built with.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary
from triton.tools.tensor_descriptor import TensorDescriptor

_known: WeakIdKeyDictionary = WeakIdKeyDictionary()
_MOVES = (torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.type_as)


def is_hosted(value: object) -> bool:
    """Whether a value is a tensor that a GPU could not reach."""
    return isinstance(value, Tensor) and value in _known


def noted(
    func: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    place: str | None,
    result: object,
) -> object:
    """A function's result, noted as hosted where it is; a tensor that was moved is another one than before.

    `place` is the kind of device that the call names, None where it names none.
    """
    given = list(_tensors([*args, *kwargs.values()]))
    if func in _MOVES:
        hosted = _moved_to_host(func, given, place)
        if given and result is given[0] and hosted != is_hosted(result):
            result = given[0].clone()
    elif place is not None:
        hosted = place == "cpu"
    else:
        hosted = all(map(is_hosted, given))
    if hosted:
        for tensor in _tensors([result]):
            if not any(tensor is one for one in given):
                _known[tensor] = True
    return result


def refuse(values: Iterable[object]) -> None:
    """What Triton says of a launch on a tensor that is not on the GPU. Raises ValueError."""
    for place, value in enumerate(values):
        if is_hosted(value.base if isinstance(value, TensorDescriptor) else value):
            raise ValueError(f"Pointer argument (at {place}) cannot be accessed from Triton (cpu tensor?)")


def _moved_to_host(func: Callable[..., object], given: Sequence[Tensor], place: str | None) -> bool:
    """Whether `.to`, `.cuda`, `.cpu` or `.type_as` leaves a tensor with the host."""
    if func is torch.Tensor.cuda:
        return False
    if func is torch.Tensor.cpu:
        return True
    return place == "cpu" if place is not None else all(map(is_hosted, given[1:] or given))


def _tensors(values: Iterable[object]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
