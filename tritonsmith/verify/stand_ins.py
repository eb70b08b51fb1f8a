"""Other contents for weights that begin as a constant, so that a kernel which leaves them out is found.

A norm's weight begins at one, its bias and many a gate at zero, statistics at zero and one: what ignores them is right
until somebody trains the model. Equal constants of equal size get equal contents, so that a candidate may give its
weights any names (one that has all of the reference's is asked for more, see `by_name`); they are put in while it is
built, so that it may prepare something of them. Decides nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules import module as registration

from tritonsmith.tasks.format import seeded
from tritonsmith.verify.loading import tensors_of

StandIns = list[tuple[float, torch.Tensor]]
"""Constants, each with the contents, flat, that stand in for so many of it."""
SMALL = 0.1
"""Constants nearer to zero than this are replaced by values about one, of either sign: a scale of a millionth hides
what it scales."""


def stand_ins(model: nn.Module, seed: int) -> StandIns:
    """Contents for the constant weights of a reference: its parameters, and what it stores besides."""
    parameters = {id(parameter) for parameter in model.parameters()}
    stored = model.state_dict().keys()
    found: dict[tuple[float, int], torch.Tensor] = {}
    for name, tensor in tensors_of(model).items():
        value = constant(tensor)
        wanted = id(tensor) in parameters or (name in stored and tensor.numel() > 1)
        if value is None or not wanted or (value, tensor.numel()) in found:
            continue
        with seeded(seed + len(found)):
            spread = 0.5 + torch.rand(tensor.numel(), dtype=torch.float64)
            sign = torch.where(torch.rand(tensor.numel()) < 0.5, -1.0, 1.0)
        contents = sign * spread if abs(value) < SMALL else value * spread
        found[value, tensor.numel()] = contents.to(tensor.device, tensor.dtype)
    return [(value, contents) for (value, _), contents in found.items()]


def constant(tensor: torch.Tensor) -> float | None:
    """The value that all elements of a tensor of floats have, if it is one."""
    if not tensor.is_floating_point() or tensor.numel() == 0 or tensor.is_meta:
        return None
    first = tensor.detach().flatten()[0]
    return float(first) if bool((tensor.detach() == first).all()) else None


def put_in(tensors: Sequence[torch.Tensor], known: StandIns) -> None:
    """Let constant tensors hold what stands in for them."""
    for tensor in tensors:
        value = constant(tensor)
        for other, contents in known if value is not None else ():
            if other == value and contents.numel() == tensor.numel():
                tensor.data.copy_(contents.reshape(tensor.shape))


def put_in_rest(model: nn.Module, known: StandIns, given: Sequence[str], loaded: Sequence[str]) -> None:
    """Let tensors hold what stands in for them in a candidate that has not all of the reference's weights by name.

    `given` are the reference's names, `loaded` those that were found. Where all were, other constants are scratch.
    """
    if set(given) <= set(loaded):
        return
    own = {name: tensor for name, tensor in tensors_of(model).items() if name not in loaded}
    plain = [value for module in model.modules() for value in vars(module).values() if isinstance(value, torch.Tensor)]
    put_in([*own.values(), *plain], known)


@contextmanager
def standing_in(known: StandIns) -> Iterator[None]:
    """Put contents into parameters, and into torch's own layers, as soon as a model under construction has them."""

    def parameter(_: nn.Module, __: str, value: nn.Parameter | None) -> None:
        if value is not None:
            put_in([value], known)

    def layer(_: nn.Module, __: str, inner: nn.Module | None) -> None:
        if inner is not None:
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
