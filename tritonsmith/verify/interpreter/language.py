"""Triton's language as interpreted kernels call it: by any name, in any spelling, patched once a launch.

Says nothing of memory (`accesses`) and nothing of values (`operations`). Judges nothing.
"""

import inspect
from collections.abc import Callable
from types import FunctionType

import triton.language as tl
from triton.language.extra import cuda
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle


def install() -> set[frozenset[int]]:
    """Mend it for this process. Returns what the interpreter has patched, which a new launch must clear."""
    _know_aliases()
    patch_tensor = interpreter._patch_lang_tensor

    def patch_lang_tensor(tensor, scope):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        # triton 3.6 converts one-element arrays with int(), which numpy >= 2.4 refuses.
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.squeeze()))

    interpreter._patch_lang_tensor = patch_lang_tensor
    tl.constexpr.__new__ = _constexpr_or_tensor  # type: ignore
    for name in ("_load_legacy", "_store_legacy"):
        setattr(TritonSemantic, name, _unasked(getattr(TritonSemantic, name)))
    return _patch_once()


class _Mask(tl.tensor):
    """A mask that tells nobody what it is."""

    def __bool__(self) -> bool:
        return True


def _unasked(access: Callable[..., object]) -> Callable[..., object]:
    """An access that asks whether it has a mask of blocks by the mask's truth, which is the kernel's own value: what is
    handed to Python makes programs go one by one (`recorded`), twelve times as slow where each has one element."""

    def asked(self, ptr, *args):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        interpreted = isinstance(ptr.handle, TensorHandle)
        return access(self, ptr, *(map(_scalar_mask, args) if interpreted else args))

    return asked


def _scalar_mask(given: object) -> object:
    if not isinstance(given, tl.tensor) or type(given) is not tl.tensor:
        return given
    kind = given.type
    return _Mask(given.handle, kind) if isinstance(kind, tl.dtype) and kind == tl.int1 else given


def _know_aliases() -> None:
    """Let Triton's functions find the interpreter by whatever name a kernel calls them: `exp = tl.exp`.

    The interpreter patches the names in Triton's modules, and knows no others; the compiler knows them all.
    """
    found = [member for space in (tl, tl.core, tl.math, tl.standard) for member in vars(space).values()]
    for member in found:
        if tl.core.is_builtin(member) and getattr(member, "__code__", None) and member.__code__.co_freevars == ("fn",):
            member.__code__ = _supplied(member).__code__
    for name in ("gdc_wait", "gdc_launch_dependents"):  # one kernel waiting for the one before, which has ended here
        if hasattr(cuda, name):
            setattr(cuda, name, _nothing)
    for name, method in list(vars(tl.tensor).items()):  # `x.exp()`
        if inspect.isfunction(method) and not tl.core.is_builtin(method) and _wants_semantic(method):
            setattr(tl.tensor, name, _supplied(method))


def _nothing(*_: object, **__: object) -> None:
    """Done already."""


def _wants_semantic(function: Callable[..., object]) -> bool:
    return "_semantic" in inspect.signature(function).parameters


def _supplied(fn: Callable[..., object]) -> FunctionType:
    """What stands for the wrapper that Triton puts around a builtin; it sees Triton's names, and none of these here."""

    def wrapper(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202
        if kwargs.get("_semantic") is None:
            from triton.runtime.interpreter import interpreter_semantic

            kwargs["_semantic"] = interpreter_semantic
        return fn(*args, **kwargs)

    return wrapper


def _patch_once() -> set[frozenset[int]]:
    """Spare the interpreter from patching triton.language anew at every call of a device function.

    It does so at each `tl.sum` or `tl.zeros`, a third of its time, though one launch needs it once for
    each set of modules that its functions see. Returns what is patched; a new launch must clear it.
    """
    patched: set[frozenset[int]] = set()
    original: Callable[..., object] = interpreter._patch_lang
    nothing: list[Callable[[], object]] = []

    def patch(fn):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        visible = frozenset(id(value) for value in fn.__globals__.values() if value is tl or value is tl.core)
        if visible in patched:
            return nothing[0]()
        patched.add(visible)
        scope = original(fn)
        nothing[:] = [type(scope)]  # triton 3.7 wants an object that restores; an empty one restores nothing
        return scope

    interpreter._patch_lang = patch
    return patched


def _constexpr_or_tensor(cls: type[tl.constexpr], *value: object) -> object:
    """A module's `tl.constexpr` times a tensor is a tensor; the interpreter would wrap it as a constant."""
    return value[0] if value and isinstance(value[0], tl.tensor) else object.__new__(cls)
