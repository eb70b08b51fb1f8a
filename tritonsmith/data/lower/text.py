"""The text of a kernel, and of the class that launches it, put together piece by piece.

Knows nothing of operators: it keeps names apart, parameters in order and lines short.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import count

HEAD = """\
import torch
import torch.nn as nn
import triton
import triton.language as tl
"""

_WIDTH = 110
_WORDS = """
batch score shrink input vars open help compile
acc base cols lane mask n offs out out_ptr pid r rows row rm rn rk start tl torch triton nn parts part
self None True False keep pos top total peak mean rstd I N M K R BLOCK carry best index
C F image pixel pixels filters channel plane group
"""
_NARROW = re.compile(r"tl\.program_id\(\d\)|(?<=start \+ )tl\.arange\(0, \w+\)")
_TAKEN = frozenset(_WORDS.split())


def safe(name: str) -> str:
    """A name for a tensor in a kernel, no word of the kernels' own."""
    return f"{name}_in" if name in _TAKEN or re.fullmatch(r"[vtD][0-9]+", name) else name


@dataclass
class Kernel:
    """One `@triton.jit` function and its launch."""

    name: str
    pointers: dict[str, str] = field(default_factory=dict)
    """Parameter -> tensor passed for it, in order; outputs are among them."""
    sizes: dict[str, str] = field(default_factory=dict)
    """Parameter -> expression in `forward`: sizes, strides, scalars."""
    constants: dict[str, str] = field(default_factory=dict)
    """`tl.constexpr` parameter -> expression in `forward`."""
    body: list[str] = field(default_factory=list)
    grid: str = ""
    """The launch grid, an expression in `forward`."""
    values: int = 0
    """Values named so far."""
    moved: set[str] = field(default_factory=set)
    """Parameters that no longer point to their tensor's beginning."""

    def pointer(self, name: str, tensor: str, moved: bool = False) -> str:
        """The pointer parameter through which a tensor comes; made at its first use. `moved`: it may be one that the
        kernel has moved on."""
        for known, passed in self.pointers.items():
            if passed == tensor and (moved or known not in self.moved):
                return known
        parameter = free_name(f"{name}_ptr", self.pointers)
        self.pointers[parameter] = tensor
        return parameter

    def size(self, name: str, expression: str) -> str:
        """The parameter that brings a number; one parameter for equal expressions."""
        for known, passed in self.sizes.items():
            if passed == expression:
                return known
        parameter = free_name(name, self.sizes | self.pointers)
        self.sizes[parameter] = expression
        return parameter

    def constant(self, name: str, expression: str) -> str:
        """The compile-time parameter of that name. Raises ValueError where it is another already."""
        if self.constants.setdefault(name, expression) != expression:
            raise ValueError(f"{name} is {self.constants[name]} and {expression}")
        return name

    def line(self, text: str, depth: int = 0) -> None:
        """Append a line of the body, `depth` blocks deep."""
        self.body.append("    " * depth + text)

    def value(self, expression: str, depth: int = 0) -> str:
        """Assign an expression to a new name."""
        self.values += 1
        name = f"v{self.values}"
        self.line(f"{name} = {expression}", depth)
        return name

    def widen(self) -> None:
        """Count in 64 bits: programs and steps of a loop, which offsets are made of, and places that are kept."""
        self.body = [_NARROW.sub(lambda found: f"{found[0]}.to(tl.int64)", line) for line in self.body]
        self.body = [line.replace("dtype=tl.int32", "dtype=tl.int64") for line in self.body]

    def definition(self) -> str:
        """The function's source."""
        outputs = [name for name in self.pointers if name.startswith("out")]
        inputs = [name for name in self.pointers if name not in outputs]
        parameters = [*inputs, *outputs, *self.sizes, *(f"{name}: tl.constexpr" for name in self.constants)]
        head = wrapped(f"def {self.name}(", parameters, "):")
        return "\n".join(["@triton.jit", *head, *(f"    {line}" if line else "" for line in self.body)])

    def launch(self) -> list[str]:
        """The statement that launches it."""
        outputs = [name for name in self.pointers if name.startswith("out")]
        ordered = [*(p for p in self.pointers if p not in outputs), *outputs]
        passed = [*(self.pointers[name] for name in ordered), *self.sizes.values()]
        passed += [f"{name}={expression}" for name, expression in self.constants.items()]
        return wrapped(f"{self.name}[{self.grid}](", passed, ")")


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or with a number behind its stem where it is taken."""
    if name not in taken:
        return name
    stem, ending = (name[:-4], "_ptr") if name.endswith("_ptr") else (name, "")
    return next(new for k in count(2) if (new := f"{stem}{k}{ending}") not in taken)


def wrapped(opening: str, items: Sequence[str], closing: str) -> list[str]:
    """A call on one line, or its arguments on lines of their own, filled."""
    whole = f"{opening}{', '.join(items)}{closing}"
    if len(whole) <= _WIDTH:
        return [whole]
    lines, current = [], ""
    for item in items:
        if current and len(current) + len(item) > _WIDTH - 8:
            lines.append(f"    {current.rstrip()}")
            current = ""
        current += f"{item}, "
    return [opening, *lines, f"    {current.rstrip()}", closing]
