"""Other contents for a model's weights, each of its own, for candidates that have all names: as if it were trained.

Two norms of one size begin alike, and so do a bias and a mean: what takes one for the other is right until somebody
trains the model. So is what leaves out a matrix that begins as the identity. What weights that differ by seed have in
common goes too: rows of one length, one sign, a symmetry, a second tensor that begins as a copy. Buffers that are no
constant are left alone: they are tables, which an honest candidate may make anew. See `stand_ins` for candidates with
other names.

A model under construction may prepare something of its weights: they hold the contents as soon as they hold what they
begin with. Which weight is which is known by building the model twice. Decides nothing.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

import torch
from torch import nn
from torch.nn.modules import module as registration
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.tasks.format import seeded
from tritonsmith.tasks.trees import held, wide
from tritonsmith.verify.dynamic.observe import address, tensors
from tritonsmith.verify.process.loading import tensors_of
from tritonsmith.verify.reference.stand_ins import SMALL, constant, faint, louder, other_counts, outlying, signed

Built = TypeVar("Built")
_TURNED = 0.25
"""Share of drawn weights that change their sign."""
_SMALL = 0.5
"""Root mean square below which a drawn vector may be what a gate goes by."""
_MOST = 1 << 24
"""Numbers of a drawn weight that is kept twice; larger ones, in no plan of a GPU's memory, are left alone."""


class Weights(dict[str, tuple[torch.Tensor, torch.Tensor]]):
    """By name what a weight begins with, and what stands in for it."""


How = Literal["signed", "turned", "scaled", "left"]
"""What becomes of weights that differ by seed: each number times about one, some turned in sign; or without that.
`signed`: turned, and parameters that begin as a constant are numbers of either sign, smaller and larger than it."""


def weights(
    first: nn.Module,
    second: nn.Module,
    seed: int,
    how: How = "turned",
    whole: bool = False,
    opposite: bool = False,
) -> Weights:
    """Contents for the weights of a reference that was built under two seeds; whole numbers, too, if they may be others
    (`whole`). `opposite` is `stand_ins.signed`'s."""
    parameters = {id(parameter) for parameter in first.parameters()}
    stored, other = first.state_dict().keys(), tensors_of(second)
    made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    found = Weights()
    for name, tensor in tensors_of(first).items():
        trained = id(tensor) in parameters
        if name in stored and (counted := other_counts(tensor, seed + len(made), whole)) is not None:
            made.setdefault(id(tensor), (tensor.detach().clone(), counted.reshape(tensor.shape)))
            found[name] = made[id(tensor)]
            continue
        if name not in stored or not tensor.is_floating_point() or not (trained or constant(tensor) is not None):
            continue
        alike = name in other and torch.equal(tensor, other[name])
        drawn = trained and not alike and not faint(tensor)
        left = how == "left" or tensor.numel() > _MOST
        if tensor.numel() == 0 or (drawn and left) or not (alike or trained):
            continue
        if id(tensor) not in made:  # one tensor may have several names
            begins, own = tensor.detach().clone(), seed + len(made)
            if trained and how == "signed":
                contents = _free(begins, own, drawn, opposite)
            else:
                contents = _moved(begins, own, how == "turned") if drawn else _contents(begins, trained, own)
            made[id(tensor)] = begins, contents
        found[name] = made[id(tensor)]
    return found


def _free(begins: torch.Tensor, seed: int, drawn: bool, opposite: bool) -> torch.Tensor:
    """Numbers that need not stay about those that a parameter begins with, where these hide what is done with them: a
    constant, or (`drawn`) a small vector, as what a gate goes by may be."""
    if drawn:
        small = begins.dim() == 1 and 0 < float(wide(begins).double().square().mean().sqrt()) < _SMALL
        return outlying(louder(begins, seed)) if small else _moved(begins, seed, True)
    if (value := constant(begins)) is None:
        return _contents(begins, True, seed)
    return signed(begins, value, seed, opposite) if abs(value) >= SMALL else outlying(_contents(begins, True, seed))


def _contents(begins: torch.Tensor, trained: bool, seed: int) -> torch.Tensor:
    """Numbers about those that a weight begins with, and of either sign where it begins so small that it hides much."""
    value = constant(begins)
    if value is None and trained and faint(begins):
        return louder(begins, seed)
    with seeded(seed):
        spread = 0.5 + torch.rand(begins.shape, dtype=torch.float64)
        sign = torch.where(torch.rand(begins.shape) < 0.5, -1.0, 1.0)
    wide = begins.double().cpu()
    if value is None:
        contents = torch.where(wide == 0, sign * spread * wide.square().mean().sqrt(), wide * spread)
    elif value == 0 or (abs(value) < SMALL and (trained or begins.numel() > 1)):
        contents = sign * spread
    else:
        contents = wide * spread  # a stored number may be what keeps a divisor from zero
    return contents.to(begins.device, begins.dtype)


def _moved(begins: torch.Tensor, seed: int, turned: bool) -> torch.Tensor:
    """Numbers about those that were drawn, in the root mean square as large; some turned in sign where it is wanted."""
    with seeded(seed):
        factors = 0.5 + torch.rand(begins.shape)
        if begins.dim() > 1:  # vectors that begin as long as one another must not stay so, nearly or by chance
            rows = 0.7 + 0.6 * torch.rand(begins.shape[0])
            factors = rows.view(-1, *[1] * (begins.dim() - 1)) + 0.4 * (factors - 1.0)
        if turned:
            factors *= torch.where(torch.rand(begins.shape) < _TURNED, -1.0, 1.0)
    return held(wide(begins) * factors.to(begins.device), begins.dtype)


def put_in(model: nn.Module, known: Weights) -> None:
    """Let a model's weights hold what stands in for them."""
    for name, tensor in tensors_of(model).items():
        if name in known:
            tensor.data.copy_(known[name][1])


def take_out(model: nn.Module, known: Weights) -> None:
    """Let a model's weights hold what they begin with."""
    for name, tensor in tensors_of(model).items():
        if name in known:
            tensor.data.copy_(known[name][0])


def built(construct: Callable[[], Built], known: Weights) -> Built:
    """A model whose weights held what stands in for them when it prepared anything of them.

    `construct` gives the same model each time; what it raises is raised.
    """
    first = _Registered()
    with first:
        model = construct()
    if not isinstance(model, nn.Module):
        return model
    names = {id(tensor): name for name, tensor in tensors_of(model).items()}
    with _Registered([known.get(names.get(id(tensor), "")) for tensor in first.tensors]):
        return construct()


class _Registered(TorchDispatchMode):
    """Notes weights and buffers in the order of their registration, and fills those for which it has contents."""

    def __init__(self, rows: Sequence[tuple[torch.Tensor, torch.Tensor] | None] = ()) -> None:
        super().__init__()
        self._rows = rows
        self.tensors: list[torch.Tensor] = []
        self._at: dict[int, list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]] = {}
        """By address a weight, what it begins with, and what stands in for it."""

    def __enter__(self) -> "_Registered":
        here = threading.get_ident()  # torch's hooks are of the whole process

        def note(_: nn.Module, __: str, value: torch.Tensor | None) -> None:
            if value is not None and threading.get_ident() == here:
                self._note(value)

        self._hooks = [
            registration.register_module_parameter_registration_hook(note),
            registration.register_module_buffer_registration_hook(note),
        ]
        super().__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        for hook in self._hooks:
            hook.remove()

    def _note(self, tensor: torch.Tensor) -> None:
        number = len(self.tensors)
        self.tensors.append(tensor)
        row = self._rows[number] if number < len(self._rows) else None
        if row is not None and row[0].shape == tensor.shape and not tensor.is_meta:
            self._at.setdefault(address(tensor), []).append((tensor, *row))
            _fill(tensor, *row)

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        result = func(*args, **named)
        if self._at and bool(getattr(getattr(func, "_schema", None), "is_mutable", False)):
            for place in {address(tensor) for tensor in tensors((args, named))} & self._at.keys():
                for row in self._at[place]:
                    _fill(*row)
        return result


def _fill(tensor: torch.Tensor, begins: torch.Tensor, contents: torch.Tensor) -> None:
    if torch.equal(tensor.detach(), begins.to(tensor.device, tensor.dtype)):
        tensor.data.copy_(contents)
