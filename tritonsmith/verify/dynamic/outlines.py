"""What a forward gives and touches where no values are computed: what its outputs look like, and what torch writes to.

At sizes that no memory holds an answer cannot be compared, but what it looks like can, and that it is a new one. The
runner notes (`outline`, `Writes`, `shared`), the judge compares (`difference`). What kernels write is not seen here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.types import Mismatch
from tritonsmith.verify.dynamic import replay
from tritonsmith.verify.dynamic.observe import tensors, written_by
from tritonsmith.verify.process.loading import tensors_of

Outline = dict[str, object]
"""An output without its values, as plain data."""

_LABEL = "the task's own sizes"
_FORM = {"detach_", "t_", "transpose_", "squeeze_", "unsqueeze_", "as_strided_", "swapaxes_", "swapdims_"}
"""Operators that write no memory, though their schemas say that they change a tensor."""


def outline(output: object) -> Outline:
    """What an output of plain tensors looks like."""
    if isinstance(output, torch.Tensor):
        return {"dtype": str(output.dtype).removeprefix("torch."), "shape": list(output.shape)}
    if isinstance(output, Mapping):
        return {"keys": {str(key): outline(item) for key, item in output.items()}}
    if isinstance(output, (list, tuple)):
        return {"items": [outline(item) for item in output]}
    return {"type": type(output).__name__, "value": None if isinstance(output, float) else output}


def difference(expected: object, got: object, sizes: bool, path: str = "output") -> Mismatch | None:
    """The first difference between two outlines; without `sizes` that of lengths and numbers is none."""
    if not isinstance(expected, Mapping) or not isinstance(got, Mapping):
        return None
    if expected.keys() != got.keys():
        return _wrong(path, f"expected {_told(expected)}, got {_told(got)}")
    if (names := _named(expected)) is not None and (others := _named(got)) is not None:
        if names.keys() != others.keys():
            return _wrong(path, f"expected {_told(expected)}, got {_told(got)}")
        pairs = ((difference(names[key], others[key], sizes, f"{path}[{key}]")) for key in names)
        return next((one for one in pairs if one is not None), None)
    if _comparable(expected, sizes) != _comparable(got, sizes):
        return _wrong(path, f"expected {_told(expected)}, got {_told(got)}")
    return None


def _wrong(path: str, message: str) -> Mismatch:
    return Mismatch(variant=_LABEL, output=path, message=message)


def _named(one: Mapping[str, object]) -> dict[object, object] | None:
    """What an outline of several holds, by name or place."""
    items, keys = one.get("items"), one.get("keys")
    if isinstance(keys, Mapping):
        return {f'"{key}"': value for key, value in keys.items()}
    return dict(enumerate(items)) if isinstance(items, list) else None


def _comparable(one: Mapping[str, object], sizes: bool) -> Mapping[str, object]:
    if sizes:
        return one
    shape = one.get("shape")
    return {key: one[key] for key in one if key in ("dtype", "type")} | {
        "dimensions": len(shape) if isinstance(shape, list) else 0
    }


def _told(one: Mapping[str, object]) -> str:
    if isinstance(shape := one.get("shape"), list):
        return f"a tensor of {one.get('dtype')} of shape {tuple(shape)}"
    if (names := _named(one)) is not None:
        return f"{len(names)} outputs"
    return str(one.get("type"))


class Writes(TorchDispatchMode):
    """Notes which inputs and weights torch's operators write to, or leave with another shape or dtype."""

    def __init__(self, inputs: object, model: nn.Module, weights: Iterable[str]) -> None:
        """`weights` names those that the reference has, too."""
        super().__init__()
        own = tensors_of(model)
        named = {f"input {place}": tensor for place, tensor in enumerate(tensors(inputs))}
        named |= {name: own[name] for name in weights if name in own}
        self._model = model
        self._given = {name: (tensor, tensor.shape, tensor.dtype) for name, tensor in named.items()}
        self.places = {place(tensor): name for name, tensor in named.items() if tensor.numel()}
        self._found: set[str] = set()

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if func._schema.is_mutable and func._schema.name.removeprefix("aten::") not in _FORM:  # type: ignore[attr-defined]
            written = (place(tensor) for tensor in written_by(func, args, kwargs or {}))
            self._found.update(self.places[at] for at in written if at in self.places)
        return result

    @property
    def changed(self) -> list[str]:
        """Names of what is no longer what it was."""
        formed = (name for name, (one, shape, dtype) in self._given.items() if (one.shape, one.dtype) != (shape, dtype))
        return sorted(self._found.union(formed))


def shared(output: object, given: Mapping[int, str], earlier: object = None) -> list[str]:
    """Which outputs lie in what was `given`, by place, or in what an `earlier` call gave and is still held."""
    old = {place(tensor) for tensor in tensors(earlier) if tensor.numel()} - given.keys()
    return list(replay.shared(output, given, old, place))


def place(tensor: torch.Tensor) -> int:
    """A number of the tensor's storage, which need not have memory, for as long as it lives."""
    return torch.Tensor.untyped_storage(tensor)._cdata
