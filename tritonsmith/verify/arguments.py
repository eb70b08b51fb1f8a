"""What a launch may be given: tensors, numbers, names, types, descriptors, and tuples of them.

Triton asks its arguments for `data_ptr`, `dtype` and items. An object that answers with code of its own would work
inside the launch, where no operator is recorded. Looks at types only, so that nothing of the object's runs.
"""

import inspect
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType

import torch
import triton.language as tl
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from tritonsmith.verify.observe import Launches

_ASKED = ("data_ptr", "tma_desc_cpu_ptr", "__cuda_array_interface__", "__index__", "__getattr__", "__getattribute__")
"""What a launcher looks for on an argument that it does not know."""


def check(launches: Launches, kernel: str, values: Iterable[object]) -> None:
    """Note a launch that is given something else as a finding of the forward."""
    if (kind := foreign(values)) is not None:
        message = f"kernel {kernel} is launched on a {kind}; tensors, numbers and tuples of them are allowed"
        launches.violations.append({"rule": "argument", "message": message, "line": None})


def said(named: Mapping[str, object]) -> str:
    """A launch's arguments in words, by name; tensors alone are not told apart."""
    return ", ".join(f"{name}={_word(value)}" for name, value in sorted(named.items()))


def _word(value: object) -> str:
    value = value.value if isinstance(value, tl.constexpr) else value
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_word, value))})"
    if isinstance(value, (bool, int, float, str, torch.dtype, tl.dtype)) or value is None:
        return str(value)
    return "tensor" if isinstance(value, torch.Tensor) else getattr(value, "__name__", type(value).__name__)


def foreign(values: Iterable[object]) -> str | None:
    """Name of the type of the first argument that would answer the launcher with code of its own, None if none."""
    for value in values:
        kind = type(value)
        if kind is BuiltinFunctionType:  # a kernel that is given one may ask with it who runs it
            return "builtin function"
        inner: Iterable[object] = ()
        if isinstance(value, (torch.Tensor, TensorDescriptor)):
            if kind not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, TensorDescriptor):
                return kind.__name__
            inner = () if isinstance(value, torch.Tensor) else [value.base]
        elif isinstance(value, (tuple, list)):
            if any(name in vars(owner) for owner in _own(kind) for name in ("__iter__", "__len__", "__getitem__")):
                return kind.__name__
            inner = tuple.__iter__(value) if isinstance(value, tuple) else list.__iter__(value)
        elif isinstance(value, TensorWrapper):  # what `triton.reinterpret` gives
            inner = [value.base]
        elif kind.__module__.split(".")[0] not in ("triton", "torch", "builtins", "numpy") and _answers(value):
            return kind.__name__
        if (found := foreign(inner)) is not None:
            return found
    return None


def _answers(value: object) -> bool:
    own = any(name in vars(owner) for owner in _own(type(value)) for name in _ASKED)
    return own or inspect.getattr_static(value, "data_ptr", None) is not None


def _own(kind: type) -> list[type]:
    """The classes a type is made of, but for Python's."""
    return [owner for owner in kind.__mro__ if owner.__module__ not in ("builtins", "enum", "typing", "collections")]
