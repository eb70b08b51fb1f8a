"""What kernels over one, two or three spatial dimensions share: names, windows, the flat kernel over outputs.

A tensor is (..., depth, height, width), the last of them as many as the operator has. Axes are z, y, x; input sizes
D, H, W; output sizes OD, OH, OW; an output's coordinates oz, oy, ox, an input's iz, iy, ix. Leading dimensions are one
number, the plane. Knows no operator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tritonsmith.data.lower.forward import Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.site import Block, Held, Site, compute
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Value

BLOCK = 1024
"""Outputs of a program of a flat kernel."""


def axes(rank: int) -> str:
    """Letters of the spatial axes, outermost first."""
    return "zyx"[3 - rank :]


def sizes(rank: int, prefix: str = "") -> list[str]:
    """Names of the spatial sizes: H and W, or OH and OW."""
    return [prefix + letter for letter in "DHW"[3 - rank :]]


def product(names: Sequence[str]) -> str:
    """`a * b`, in parentheses where there are several."""
    return names[0] if len(names) == 1 else f"({' * '.join(names)})"


def nested(plane: str, extents: Sequence[str], places: Sequence[str]) -> str:
    """An element's offset: `(plane * H + iy) * W + ix`."""
    for extent, place in zip(extents, places, strict=True):
        wrapped = f"({plane})" if " + " in plane else plane
        plane = f"{wrapped} * {extent} + {place}"
    return plane


def unravel(index: str, extents: Sequence[str]) -> list[str]:
    """Coordinates of an index over some extents: `i // W % H`, `i % W`, and first what is left over: `i // (H * W)`."""
    found = [f"{index} // {product(extents)}"]
    for place, extent in enumerate(extents):
        inner = extents[place + 1 :]
        found.append(f"{index} // {product(inner)} % {extent}" if inner else f"{index} % {extent}")
    return found


# -- windows


@dataclass(frozen=True)
class Window:
    """Which inputs an output reads along each axis; texts are empty where they change nothing."""

    size: list[str]
    stride: list[str]
    pad: list[str]
    dilation: list[str]
    transposed: bool = False
    bounded: bool = False
    """Whether a window may reach beyond the input although there is no padding."""

    @property
    def rank(self) -> int:
        """Number of spatial dimensions."""
        return len(self.size)

    def first(self, axis: int) -> str:
        """Where an output's window begins, in the input (before the stride's division if transposed)."""
        o = f"o{axes(self.rank)[axis]}"
        if self.transposed:
            return f"{o} + {self.pad[axis]}" if self.pad[axis] else o
        scaled = f"{o} * {self.stride[axis]}" if self.stride[axis] else o
        return f"{scaled} - {self.pad[axis]}" if self.pad[axis] else scaled

    def reach(self, axis: int, tap: str) -> str:
        """How far a tap is from there."""
        return f"{tap} * {self.dilation[axis]}" if self.dilation[axis] else tap

    def read(self, axis: int, place: str) -> tuple[list[str], list[str]]:
        """Lines that give an axis' input coordinate at `place`, and the conditions for it to exist."""
        a, extent = axes(self.rank)[axis], sizes(self.rank)[axis]
        bounds = [f"(i{a} >= 0)", f"(i{a} < {extent})"]
        if self.transposed and self.stride[axis]:
            stride = self.stride[axis]
            lines = [f"t{a} = {place}", f"i{a} = t{a} // {stride}"]
            return lines, [f"(t{a} >= 0)", f"(t{a} % {stride} == 0)", f"(i{a} < {extent})"]
        if self.transposed or self.pad[axis]:
            return [f"i{a} = {place}"], bounds
        return [f"i{a} = {place}"], bounds[1:] if self.bounded else []


def per_axis(kernel: Kernel, stem: str, given: Sequence[int], texts: Sequence[str], trivial: int | None) -> list[str]:
    """Compile-time parameters for a figure per axis: one where all are equal, none where all are `trivial`."""
    if all(value == trivial for value in given):
        return [""] * len(given)
    if len(set(given)) == 1:
        return [kernel.constant(stem, texts[0])] * len(given)
    names = [f"{stem}_{letter}" for letter in sizes(len(given))]
    return [kernel.constant(name, text) for name, text in zip(names, texts, strict=True)]


def taps(kernel: Kernel, window: Window) -> str:
    """Open loops over a window's taps, with each tap's input coordinates; the mask of taps that exist."""
    conditions: list[str] = []
    for axis, letter in enumerate(axes(window.rank)):
        kernel.line(f"for k{letter} in range({window.size[axis]}):", axis)
    for axis, letter in enumerate(axes(window.rank)):
        sign = "-" if window.transposed else "+"
        lines, exists = window.read(axis, f"{window.first(axis)} {sign} {window.reach(axis, f'k{letter}')}")
        conditions += exists
        for line in lines:
            kernel.line(line, window.rank)
    if not conditions:
        return "mask"
    kernel.line(f"inside = {' & '.join(['mask', *conditions])}", window.rank)
    return "inside"


def listed(op: Op, name: str, rank: int) -> list[int]:
    """An argument with a number per axis."""
    given = op.args[name]
    several = [int(one) for one in given] if isinstance(given, (list, tuple)) else [int(cast(int, given))]
    return several * rank if len(several) == 1 else several


def spelled(forward: Forward, op: Op, name: str, rank: int) -> list[str]:
    """The same as `forward` writes it."""
    return [forward.expression(op, name, axis) for axis in range(rank)]


# -- sizes in forward


def add(*terms: tuple[str, str]) -> str:
    """A sum of (sign, text): numbers are added up, zero is left out."""
    number, parts = 0, []
    for sign, text in terms:
        if text.lstrip("-").isdigit():
            number += int(text) if sign == "+" else -int(text)
        else:
            parts.append(f"{sign} {text}")
    if number or not parts:
        parts.append(f"{'+' if number >= 0 else '-'} {abs(number)}")
    return " ".join(parts).removeprefix("+ ")


def times(*factors: str) -> str:
    """A product of texts; ones are left out, numbers multiplied."""
    number, parts = 1, []
    for text in factors:
        if text.lstrip("-").isdigit():
            number *= int(text)
        else:
            parts.append(f"({text})" if " " in text and len(factors) > 1 else text)
    if number == 0 or not parts:
        return str(number)
    return " * ".join([str(number)] * (number != 1) + parts)


def spatial_sizes(forward: Forward, expressions: Sequence[str]) -> list[str]:
    """Variables for the spatial sizes of an output; what is a plain `.shape[i]` needs none."""
    names = []
    for name, expression in zip(["depth", "height", "width"][-len(expressions) :], expressions, strict=True):
        if " " not in expression:
            names.append(expression)
            continue
        name = forward.local(name)
        forward.lines.append(f"{name} = {expression}")
        names.append(name)
    return names


# -- the flat kernel


@dataclass
class Flat:
    """A kernel whose programs take blocks of outputs, in their order in memory."""

    forward: Forward
    kernel: Kernel
    source: Held
    out: Held
    rank: int
    """Spatial dimensions, the last ones."""
    site: Site

    def line(self, text: str, depth: int = 0) -> None:
        """Append a line of the kernel's body."""
        self.kernel.line(text, depth)

    def value(self, at: Sequence[str], mask: str = "mask", other: str = "0.0", plane: str = "plane") -> str:
        """The text that reads the source."""
        pointer = self.kernel.pointer("x", self.source.name)
        offset = nested(plane, sizes(self.rank), at)
        cast = ".to(tl.float32)" if self.source.floating else ""
        return f"tl.load({pointer} + {offset}, mask={mask}, other={other}){cast}"

    def read(self, op: Op, unit: Unit, expression: str) -> str:
        """Assign what was read from the source; the name. An epilogue that reads the source again has `x` for that."""
        others = [v for v in unit.group.externals if v is not op.result] if unit.group else []
        if any(self.forward.held(v).name == self.source.name for v in others):
            return self.kernel.value(expression)
        self.line(f"x = {expression}")
        return "x"

    def finish(self, op: Op, unit: Unit, result: str, note: str) -> None:
        """The epilogue on the outputs, their way to memory, and the launch."""
        kernel = self.kernel
        bound: dict[Value, str] = {op.result: result}
        compute(kernel, self.site, unit.group, self.forward.held, bound, self.forward.number)
        kernel.line(f"tl.store({kernel.pointer('out', self.out.name)} + offs, {bound[unit.result]}, mask=mask)")
        kernel.constant("BLOCK", str(BLOCK))
        kernel.grid = f"(triton.cdiv({self.out.name}.numel(), {BLOCK}),)"
        self.forward.notes.append(f"{kernel.name}: blocks of {BLOCK} outputs, {note}")
        self.forward.emit(kernel)


def begin(
    forward: Forward,
    op: Op,
    unit: Unit,
    name: str,
    source: Value,
    shape: Callable[[Held], Sequence[str]],
    rank: int,
    needs: str = "",
    channels: str = "",
) -> Flat:
    """Allocate the result and write a flat kernel's first lines.

    `shape` gives the output's spatial sizes; `needs` are the axes whose coordinates the kernel uses, by default all;
    `channels` is the output's second size where it is not the source's.
    """
    x = forward.in_order(source)
    lead = len(source.shape) - rank
    kernel = Kernel(forward.kernel_name(name))
    kernel.pointer("x", x.name)
    found = spatial_sizes(forward, shape(x))
    leading = [f"{x.name}.shape[{i}]" for i in range(lead)]
    if channels:
        leading[-1] = channels
    out = forward.allocate(unit.result, [*leading, *found])
    n = kernel.size("n", f"{out.name}.numel()")
    for axis, extent in enumerate(sizes(rank)):
        kernel.size(extent, f"{x.name}.shape[{lead + axis}]")
    outs = [kernel.size(o, f"{out.name}.shape[{lead + a}]") for a, o in enumerate(sizes(rank, "O"))]
    kernel.line("offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
    kernel.line(f"mask = offs < {n}")
    plane, *places = unravel("offs", outs)
    kernel.line(f"plane = {plane}")
    for letter, place in zip(axes(rank), places, strict=True):
        if letter in (needs or "zyx"):
            kernel.line(f"o{letter} = {place}")

    def coordinates(layout: list[Block]) -> tuple[str, str | None] | None:
        full = {d for block in layout if block.full for d in block.dims}
        if full == set(range(lead)):
            return "plane", "mask"
        if full == {1} and lead == 2:
            channels = kernel.size("C", f"{out.name}.shape[1]")
            return f"plane % {channels}", "mask"
        return None

    site = Site(unit.result.shape, out.name, "offs", "mask", coordinates=coordinates)
    return Flat(forward, kernel, x, out, rank, site)


def as_argument(op: Op, **args: object) -> Op:
    """The operator with other arguments, to look up how its module spells them."""
    return replace(op, args={**op.args, **args})
