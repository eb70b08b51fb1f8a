"""What a launch may be given: tensors, numbers, names, types, descriptors, and tuples of them.

Triton asks its arguments for `data_ptr`, `dtype` and items. An object that answers with code of its own would work
inside the launch, where no operator is recorded. Looks at types only, so that nothing of the object's runs.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType

import torch
import triton.language as tl
from triton.runtime.jit import JITFunction, TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.launches import hosted
from tritonsmith.verify.process.loading import CANDIDATE

_ASKED = ("data_ptr", "tma_desc_cpu_ptr", "__cuda_array_interface__", "__index__", "__getattr__", "__getattribute__")
"""What a launcher looks for on an argument that it does not know."""
GRID = (2**31 - 1, 65535, 65535)
"""Programs along each dimension of a grid at most: CUDA C++ Programming Guide, "Compute Capabilities"."""
THREADS = 1024
"""Threads of a block at most: the same; AMD's workgroups have no more."""


def check(launches: Launches, kernel: str, values: Iterable[object]) -> None:
    """Note a launch that is given something else as a finding of the forward.

    Raises ValueError for a tensor that is not on the GPU, as Triton does.
    """
    values = list(values)
    hosted.refuse(values)
    launches.look(values)
    if (kind := foreign(values)) is not None:
        message = f"kernel {kernel} is launched on a {kind}; tensors, numbers and tuples of them are allowed"
        launches.violations.append({"rule": "argument", "message": message, "line": None})


def check_grid(launches: "Launches", kernel: str, grid: Sequence[int]) -> None:
    """Note a grid that no GPU of NVIDIA's takes."""
    if any(size > most for size, most in zip(grid, GRID, strict=False)):
        message = f"{kernel} is launched on {tuple(grid)} programs; CUDA takes at most {GRID}"
        launches.violations.append({"rule": "grid", "message": message, "line": None})


def check_waits(launches: Launches, kernel: str, function: object, named: Mapping[str, object]) -> None:
    """Note a kernel that may begin before the one before it has ended, and waits for it nowhere.

    CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization"; here each has ended by then.
    """
    if named.get("launch_pdl") and not any("gdc_wait" in one.__code__.co_names for one in reached(function, set())):
        message = f"{kernel} is launched with launch_pdl and never calls gdc_wait(): it reads what is not stored yet"
        launches.violations.append({"rule": "race", "message": message, "line": None})


def check_threads(launches: "Launches", kernel: str, warps: int, width: int) -> None:
    """Note a program of more threads (so many warps of a width) than a GPU has for a block."""
    if warps * width > THREADS:
        message = f"{kernel} is launched with {warps} warps of {width}; a block has at most {THREADS} threads"
        launches.violations.append({"rule": "resources", "message": message, "line": None})


def said(named: Mapping[str, object]) -> str:
    """A launch's arguments in words, by name; tensors alone are not told apart."""
    return ", ".join(f"{name}={_word(value)}" for name, value in sorted(named.items()))


def precise(named: Mapping[str, object]) -> dict[str, str]:
    """The precision of those arguments that have one: tensors of floats, types, and what `tl.dot` is told in words."""
    found: dict[str, str] = {}
    for name, value in named.items():
        value = value.value if isinstance(value, tl.constexpr) else value
        kind = value.dtype if isinstance(value, torch.Tensor) else value
        if isinstance(kind, (torch.dtype, tl.dtype)) and (bits := _float_bits(kind)):
            found[name] = str(bits)
        elif isinstance(kind, str):
            found[name] = kind
    return found


def _float_bits(kind: torch.dtype | tl.dtype) -> int:
    """0 of what is no float."""
    if isinstance(kind, tl.dtype):
        return kind.primitive_bitwidth if kind.is_floating() else 0
    return kind.itemsize * 8 if kind.is_floating_point else 0


def identity(function: object) -> str:
    """Which kernel a Triton function is, whatever it is called: its place in the source, and what it is made with.

    That are the device functions and constants which its names stand for now, and what its closure holds.
    """
    return "; ".join(_identity(function, set()))


def _identity(function: object, seen: set[int]) -> Iterator[str]:
    while not isinstance(function, FunctionType):
        if (function := inspect.getattr_static(function, "fn", None)) is None:
            return
    if id(function) in seen:
        return
    seen.add(id(function))
    code = function.__code__
    yield f"{code.co_name} in line {code.co_firstlineno}"
    held = {name: cell.cell_contents for name, cell in zip(code.co_freevars, _filled(function), strict=False)}
    for name in sorted(held):
        if isinstance(held[name], (bool, int, float, str, tl.constexpr, tl.dtype)):
            yield f"{name}={_word(held[name])}"
    named = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, value in sorted({**named, **held}.items()):
        if isinstance(value, tl.constexpr):
            yield f"{name}={_word(value)}"
        elif inspect.getattr_static(value, "fn", None) is not None:
            yield from _identity(value, seen)


def _filled(function: FunctionType) -> Iterator[CellType]:
    return (cell for cell in function.__closure__ or ())


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
            if isinstance(value, TensorDescriptor):
                sizes = (value.shape, value.strides, value.block_shape)
                inner = [value.base, *(tuple(one) if type(one) is torch.Size else one for one in sizes)]
        elif isinstance(value, (tuple, list)):
            held = [pair for owner in _own(kind) for pair in vars(owner).items()]
            if any(name in ("__iter__", "__len__", "__getitem__") for name, _ in held):
                return kind.__name__
            if any(name.startswith("__") and _written_here(one) for name, one in held):
                return kind.__name__  # a launch makes another one of its kind, and calls what that calls
            inner = tuple.__iter__(value) if isinstance(value, tuple) else list.__iter__(value)
        elif isinstance(value, TensorWrapper):  # what `triton.reinterpret` gives
            if kind is not TensorWrapper:
                return kind.__name__
            inner = [value.base]
        elif isinstance(value, tl.constexpr):
            inner = [value.value]
        elif kind in (FunctionType, MethodType):
            if _written_here(value):
                return "Python function"
        elif kind.__module__.split(".")[0] not in ("triton", "torch", "builtins", "numpy"):
            if _answers(value) or _works(kind):
                return kind.__name__
            inner = [] if isinstance(value, Enum) else list(getattr(value, "__dict__", {}).values())
        if (found := foreign(inner)) is not None:
            return found
    return None


def _works(kind: type) -> bool:
    """Whether a class has code of the candidate's that a kernel could call: it would know who runs the kernel."""
    held = [(name, one) for owner in _own(kind) for name, one in vars(owner).items()]
    inner = [(name, getattr(one, "__func__", getattr(one, "fget", one))) for name, one in held]
    return any(_written_here(one) for name, one in inner if name not in ("__init__", "__post_init__"))


def _written_here(function: object) -> bool:
    """Whether a function is the candidate's, and no kernel's."""
    function = getattr(function, "__func__", function)
    return isinstance(function, FunctionType) and function.__code__.co_filename == CANDIDATE


def check_globals(launches: Launches, kernel: str, function: object) -> None:
    """Note a constant of the module's, which a kernel or what it calls names, that a launch may not be given.

    What was in order and still is the same is not looked at again: that would be most of a short launch's time.
    """
    known = launches.settled.get(id(function))
    if known is not None and known.stands():
        return
    before, functions = len(launches.violations), list(reached(function, set()))
    for one in functions:
        named = [one.__globals__[name] for name in one.__code__.co_names if name in one.__globals__]
        check(launches, kernel, [value for value in named if isinstance(value, tl.constexpr)])
    if len(launches.violations) == before and (settled := Settled.of(function, functions)) is not None:
        launches.settled[id(function)] = settled


_ABSENT = object()
_PLAIN = (bool, int, float, str, type(None), tl.dtype, torch.dtype)
_LEADS = (JITFunction, ModuleType, FunctionType, BuiltinFunctionType)
"""What a name may stand for besides: only an attribute `fn` of its own would lead from it to further code."""


@dataclass(frozen=True)
class Settled:
    """What a kernel reached by names when that was last found to be in order."""

    kernel: object
    """Held, so that its identity is not another's."""
    code: list[tuple[FunctionType, CodeType]]
    names: list[tuple[dict[str, object], str, object]]
    """Globals, a name in them, and what it stood for."""
    held: list[tuple[dict[str, object], str, object]]
    """The same of attributes: a constant's value, the Python function of a kernel."""

    @classmethod
    def of(cls, kernel: object, reached: Sequence[FunctionType]) -> "Settled | None":
        """None where something is reached whose changes would not be seen."""
        names = [(one.__globals__, name) for one in reached for name in one.__code__.co_names]
        found = [(known, name, known.get(name, _ABSENT)) for known, name in names]
        held: list[tuple[dict[str, object], str, object]] = []
        for value in [kernel, *(value for _, _, value in found if value is not _ABSENT)]:
            if type(value) is tl.constexpr and type(value.value) in _PLAIN:
                held.append((value.__dict__, "value", value.value))
            elif type(value) in _LEADS:
                own = getattr(value, "__dict__", {})
                held.append((own, "fn", own.get("fn", _ABSENT)))
            elif type(value) not in _PLAIN:
                return None
        return cls(kernel, [(one, one.__code__) for one in reached], found, held)

    def stands(self) -> bool:
        """Whether all of it is the same."""
        return all(one.__code__ is code for one, code in self.code) and all(
            known.get(name, _ABSENT) is value for part in (self.names, self.held) for known, name, value in part
        )


def reached(function: object, seen: set[int]) -> Iterator[FunctionType]:
    """A kernel's Python function, and those of the device functions that it names."""
    while not isinstance(function, FunctionType):
        if (function := inspect.getattr_static(function, "fn", None)) is None:
            return
    if id(function) in seen:
        return
    seen.add(id(function))
    yield function
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if inspect.getattr_static(value, "fn", None) is not None:
            yield from reached(value, seen)


def _answers(value: object) -> bool:
    own = any(name in vars(owner) for owner in _own(type(value)) for name in _ASKED)
    return own or inspect.getattr_static(value, "data_ptr", None) is not None


def _own(kind: type) -> list[type]:
    """The classes a type is made of, but for Python's."""
    return [owner for owner in kind.__mro__ if owner.__module__ not in ("builtins", "enum", "typing", "collections")]
