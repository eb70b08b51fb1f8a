"""What Triton's interpreter makes anew at each operation of each program, made once: types, shapes, their wrappers.

Nearly all of an interpreted kernel's time is Python's, and much of that went into types that had been there before.
Nothing is computed here, and what is computed does not change; blocks and tensors that a version of Triton keeps in
another way than is known here are made anew.
"""

import inspect
from collections.abc import Callable

import numpy as np
import torch
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

_TENSOR = {"handle", "type", "dtype", "numel", "shape"}
_BLOCK = {"element_ty", "shape", "numel", "name"}
_AS_THEY_ARE = {torch.Tensor, torch.nn.Parameter, int, float, bool, str, type(None), tl.constexpr, tl.dtype}
"""Types of a launch's arguments that are the same on the host; whoever interprets has no other device."""


def install() -> None:
    """Put the memory in, for this process."""
    _handles()
    _numpy_types()
    _blocks()
    _tensors()
    _broadcasts()
    _builtins()
    _copies()


def _handles() -> None:
    """A handle without a dataclass's detours; only what may be too wide is looked at as before."""

    def init(self, data, dtype, attr=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        self.data, self.dtype, self.attr = data, dtype, {} if attr is None else attr
        if data.itemsize > 1 and type(dtype) is not tl.pointer_type and 8 * data.itemsize > dtype.primitive_bitwidth:
            self.__post_init__()

    interpreter.TensorHandle.__init__ = init  # type: ignore[method-assign]


def _numpy_types() -> None:
    """NumPy's type of a Triton one, of which the interpreter makes a table at each call."""
    original: Callable[[tl.dtype], np.dtype[np.generic]] = interpreter._get_np_dtype
    pointer = np.dtype(np.uint64)
    known: dict[str, np.dtype[np.generic]] = {}

    def numpy_type(kind: tl.dtype) -> np.dtype[np.generic]:
        kind = kind.element_ty if isinstance(kind, tl.block_type) else kind
        if isinstance(kind, tl.pointer_type):
            return pointer
        name = str(kind.name)
        if name not in known:
            known[name] = original(kind)
        return known[name]

    interpreter._get_np_dtype = numpy_type


def _blocks() -> None:
    """A block's type by its element's, which is kept so that no other one can take its place, and its shape."""
    original = tl.block_type.__init__
    known: dict[tuple[int, tuple[int, ...]], dict[str, object]] = {}

    def init(self, element_ty, shape):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        key = (id(element_ty), _plain(shape))
        found = known.get(key)
        if found is not None and key[1]:
            self.__dict__.update(found)
            return
        original(self, element_ty, shape)
        if key[1] and self.__dict__.keys() == _BLOCK:
            known[key] = dict(self.__dict__)

    tl.block_type.__init__ = init  # type: ignore[method-assign]


def _tensors() -> None:
    """A tensor's shape and number of elements, which are constants in wrappers."""
    original = tl.tensor.__init__
    known: dict[str, tuple[object, object]] = {}

    def init(self, handle, type):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        found = known.get(type.name)  # a block's says its shape
        if found is not None:
            self.handle, self.type, self.dtype = handle, type, type.scalar
            self.numel, self.shape = found
            return
        original(self, handle, type)
        if self.__dict__.keys() == _TENSOR:
            known[type.name] = self.numel, self.shape

    tl.tensor.__init__ = init  # type: ignore[method-assign]


def _plain(shape: object) -> tuple[int, ...]:
    """A shape as plain numbers; nothing where it holds something else."""
    values = shape.values if isinstance(shape, tl.tuple) else shape
    if not isinstance(values, (list, tuple)):
        return ()
    for value in values:
        if type(value) is not int:
            return ()
    return tuple(values)


def _broadcasts() -> None:
    """Two blocks of one shape need no spreading; Triton compares a tuple to a list, and spreads both."""
    original = TritonSemantic.broadcast_impl_value

    def broadcast(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        one, other = lhs.type, rhs.type
        blocks = isinstance(one, tl.block_type) and isinstance(other, tl.block_type)
        if blocks and one.shape.values == other.shape.values:  # plain numbers in every block's type
            return lhs, rhs
        return original(self, lhs, rhs)

    TritonSemantic.broadcast_impl_value = broadcast  # type: ignore[method-assign]


def _builtins() -> None:
    """A builtin is called with its semantics at once, not through a wrapper that looks whether it has them.

    Which of a module's members are builtins is looked for once, and not at each launch.
    """
    semantic = interpreter.interpreter_semantic
    known: dict[object, list[tuple[str, Callable[..., object]]]] = {}

    def supplied(member):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        inner = getattr(member, "__wrapped__", member)

        def call(*args, _semantic=None, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
            return inner(*args, _semantic=semantic, **kwargs)

        return call

    def builtins(obj: object) -> list[tuple[str, Callable[..., object]]]:
        if obj not in known:
            members = inspect.getmembers(obj)
            known[obj] = [(name, supplied(member)) for name, member in members if tl.core.is_builtin(member)]
        return known[obj]

    def patch(obj, builder, scope):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        for name, call in builtins(obj):
            scope.set_attr(obj, name, call)

    for obj in (tl, tl.core, tl.tensor, tl.math, tl.core.tensor_descriptor_base):  # before a fork, for all runners
        builtins(obj)
    interpreter._patch_builtin = patch


def _copies() -> None:
    """Arguments are copied to the host and back, which on a host costs two calls of torch each and copies nothing."""
    there, back = interpreter.GridExecutor._init_args_hst, interpreter.GridExecutor._restore_args_dev

    def to_host(self, args, kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if all(type(one) in _AS_THEY_ARE for one in (*args, *kwargs.values())):
            return list(args), dict(kwargs)
        return there(self, args, kwargs)

    def to_device(self, args, args_host, kwargs, kwargs_host):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        pairs = (*zip(args, args_host, strict=True), *((kwargs[name], kwargs_host[name]) for name in kwargs))
        if any(one is not other for one, other in pairs):
            back(self, args, args_host, kwargs, kwargs_host)

    interpreter.GridExecutor._init_args_hst = to_host  # type: ignore[method-assign]
    interpreter.GridExecutor._restore_args_dev = to_device  # type: ignore[method-assign]
