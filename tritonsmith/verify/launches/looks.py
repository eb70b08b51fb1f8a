"""Stand-ins that look as what they stand for does: by name, by text, by the class that they are of.

A candidate that learns from the text of a function of torch's, or of a launched kernel, that no GPU runs it does the
work for the interpreter alone. Kernels themselves are `disguise`'s, what a candidate asks a GPU for is `device`'s.
"""

import functools
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TypeVar

Made = TypeVar("Made", bound=type)


def like(answer: Callable[..., object], original: Callable[..., object]) -> Callable[..., object]:
    """A function that answers, with the name and the documentation of another; a class where that is one."""
    if not isinstance(original, type):
        found = functools.wraps(original)(lambda *args, **kwargs: answer(*args, **kwargs))
        del found.__wrapped__  # type: ignore[attr-defined]
        return found
    made = type(original.__name__, (_Guard,), {"__doc__": original.__doc__, "answer": staticmethod(answer)})
    return named(original.__module__, original.__qualname__)(made)


class _Guard:
    """A context in which nothing else is done, as a device guard is on a host of one device."""

    answer: Callable[..., object]

    def __init__(self, *args: object) -> None:
        self.answer(*args)
        self.idx, self.prev_idx = 0, -1

    def __enter__(self) -> None:
        """Nothing changes."""

    def __exit__(self, *error: object) -> None:
        """Nothing is changed back."""


def named(module: str, name: str) -> Callable[[Made], Made]:
    """Have a class be known by another module's name, in the text of its objects too."""

    def known(made: Made) -> Made:
        made.__module__, made.__qualname__, made.__name__ = module, name, name.rpartition(".")[2]
        return made

    return known


def metadata(values: Mapping[str, object]) -> object:
    """What a compiled kernel says of itself, as Triton does: a named tuple."""
    return namedtuple("KernelMetadata", sorted(values))(**values)  # its fields are found at run time


@named("torch._C", "_CUuuid")
class Uuid:
    """A GPU's, of which only the text is told."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


@named("torch._C", "_CudaDeviceProperties")
class Properties:
    """A GPU's properties, which may be read, as `torch.cuda.get_device_properties` gives them."""

    __slots__ = ("_values",)

    def __init__(self, **values: object) -> None:
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> object:
        values: Mapping[str, object] = object.__getattribute__(self, "_values")
        if name not in values:
            raise AttributeError(f"'torch._C._CudaDeviceProperties' object has no attribute '{name}'")
        return values[name]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"property of '_CudaDeviceProperties' object has no setter: {name}")

    def __copy__(self) -> "Properties":
        return self

    def __deepcopy__(self, memo: object) -> "Properties":
        return self

    def __dir__(self) -> list[str]:
        return sorted(self._values)

    def __repr__(self) -> str:
        shown = {
            name: f"'{value}'" if name == "name" else f"{value >> 20}MB" if isinstance(value, int) and size else value
            for name, size in _SHOWN.items()
            for value in [getattr(self, name)]
        }
        return f"_CudaDeviceProperties({', '.join(f'{name}={text}' for name, text in shown.items())})"


_SHOWN = {
    "name": False, "major": False, "minor": False, "total_memory": True, "multi_processor_count": False,
    "uuid": False, "pci_bus_id": False, "pci_device_id": False, "pci_domain_id": False, "L2_cache_size": True,
}  # fmt: skip
"""What torch shows of a GPU's properties, in order, and whether it is bytes."""
