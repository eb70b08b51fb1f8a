"""How a kernel goes over the reduced dimensions of a tensor.

The reduced dimensions lie side by side, so a tensor is (outer, reduced, inner). Where nothing is inside, a program
takes a row and walks along it; else a program takes a block of outputs and walks down their columns. Both walk in
blocks, so that any length fits, and accumulate in float32. What is computed on the way is `reductions`, `rows`,
`norms` and `scans`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tritonsmith.data.lower.forward import Forward
from tritonsmith.data.lower.schedule import Group, Unit
from tritonsmith.data.lower.site import Held, Site, compute, load
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Untraceable, Value

INFINITY = 'float("inf")'


@dataclass
class Walk:
    """How a kernel goes over the reduced dimensions of a tensor."""

    forward: Forward
    kernel: Kernel
    op: Op
    source: Value
    """The tensor that is reduced, or what stands for it: its operands in memory, through the prologue."""
    dims: tuple[int, ...]
    """The reduced dimensions, side by side."""
    prologue: Group | None
    whole: bool = False
    """All of a long tensor is reduced: each program takes a share of it."""
    parts: bool = False
    """A program takes a part of the reduced dimensions, such as a group of channels, which `row` counts."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's sizes."""
        return self.source.shape

    @property
    def strided(self) -> bool:
        """Whether there are dimensions inside the reduced ones."""
        return self.dims[-1] + 1 < len(self.shape)

    @property
    def like(self) -> Held:
        """A tensor in memory with the walked shape."""
        if self.prologue is None:
            return self.forward.in_order(self.source)
        for value in self.prologue.externals:
            held = self.forward.held(value)
            if held.shape == self.shape:
                return self.forward.in_order(value)
        raise Untraceable("a broadcast on the way into a reduction")

    def size(self, dims: tuple[int, ...]) -> str:
        """The product of sizes, as an expression in `forward`; 1 for none."""
        return " * ".join(self.like.size(i) for i in dims) or "1"

    def begin(self) -> None:
        """The lines before the first loop."""
        k = self.kernel
        if self.whole:
            k.line("pid = tl.program_id(0)")
        elif self.strided:
            inner = tuple(range(self.dims[-1] + 1, len(self.shape)))
            outer = tuple(range(self.dims[0]))
            n, r, i = k.size("n", self.size(outer + inner)), k.size("R", self.size(self.dims)), "I"
            k.sizes["I"] = self.size(inner)  # a parameter of its own even where nothing is outside
            k.line("pos = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
            k.line(f"keep = pos < {n}")
            k.line(f"base = pos // {i} * {r} * {i} + pos % {i}" if outer else "base = pos")
        else:
            k.size("N", self.size(self.dims))
            k.line("row = tl.program_id(0)")

    def loop(self) -> Site:
        """Open a loop over the blocks; the site inside it."""
        k = self.kernel
        if self.whole:
            k.line("for start in range(pid * BLOCK, n, tl.num_programs(0) * BLOCK):")
            k.line("offs = start + tl.arange(0, BLOCK)", 1)
            k.line("mask = offs < n", 1)
        elif self.strided:
            k.line("for start in range(0, R, BLOCK_R):")
            k.line("r = start + tl.arange(0, BLOCK_R)[:, None]", 1)
            k.line("mask = (r < R) & keep[None, :]", 1)
            k.line("offs = base[None, :] + r * I", 1)
        else:
            k.line("for start in range(0, N, BLOCK):")
            k.line("cols = start + tl.arange(0, BLOCK)", 1)
            k.line("mask = cols < N", 1)
            k.line("offs = row * N + cols", 1)
        return Site(
            self.shape, self.like.name, "offs", "mask", depth=1, coordinates=self._coordinates, dim=self.like.size
        )

    def _coordinates(self, layout: list) -> tuple[str, str | None] | None:
        """Rows and columns need no division."""
        if self.strided or self.whole or self.parts:
            return None
        full = [d for block in layout if block.full for d in block.dims]
        reduced, outer = list(self.dims), list(range(self.dims[0]))
        if full == reduced:
            return "cols", "mask"
        if full == outer:
            return "row", None
        return None

    def element(self, site: Site, neutral: str) -> str:
        """The element at a site, `neutral` where there is none."""
        if self.prologue is None:
            return load(self.kernel, site, self.like, neutral)
        bound: dict[Value, str] = {}
        compute(self.kernel, site, self.prologue, self.forward.held, bound, self.forward.number)
        masked = f"tl.where(mask, {bound[self.source]}, {neutral})"
        return self.kernel.value(masked, site.depth)

    @property
    def lanes(self) -> str:
        """The shape of a block, as the kernel writes it."""
        return "(BLOCK_R, BLOCK)" if self.strided else "(BLOCK,)"

    @property
    def count(self) -> str:
        """How many elements are reduced into one."""
        return "n" if self.whole else "R" if self.strided else "N"

    def result_site(self, shape: tuple[int, ...], like: str, dim: Callable[[int], str] | None = None) -> Site:
        """Where the reduced values are, one a row or one a column."""
        if self.strided:
            return Site(shape, like, "pos", "keep", dim=dim)
        return Site(shape, like, "row", None, dim=dim)

    def launch_over_results(self) -> None:
        """The grid: a program a row, or a program a block of columns."""
        outer = tuple(range(self.dims[0]))
        if self.strided:
            self.kernel.grid = f"(triton.cdiv({self.kernel.sizes['n']}, 64),)"
            self.kernel.constant("BLOCK", "64")
            self.kernel.constant("BLOCK_R", "16")
        else:
            self.kernel.grid = f"({self.size(outer)},)"
            self.kernel.constant("BLOCK", "1024")


def dimensions(op: Op, name: str, rank: int) -> tuple[int, ...]:
    """The reduced dimensions, counted from the front, in order; all where none are named."""
    given = op.args.get(name)
    listed = [given] if isinstance(given, int) else list(given or [])  # type: ignore[call-overload]
    found = tuple(sorted(d % rank for d in listed)) or tuple(range(rank))
    if found != tuple(range(found[0], found[-1] + 1)):
        raise Untraceable("reduced dimensions that do not lie side by side")
    return found


def finish_rows(forward: Forward, op: Op, unit: Unit, walk: Walk, site: Site, made: str) -> None:
    """The epilogue on values of the walked shape, inside the last loop, and their way to memory."""
    kernel = walk.kernel
    bound = {op.result: kernel.value(made, site.depth)}
    compute(kernel, site, unit.group, forward.held, bound, forward.number)
    out = forward.allocate(unit.result, walk.like)
    pointer = kernel.pointer("out", out.name)
    kernel.line(f"tl.store({pointer} + offs, {bound[unit.result]}, mask=mask)", site.depth)
    walk.launch_over_results()


def peak(walk: Walk) -> None:
    """top and total: the maximum and the sum of exponentials below it, in one walk.

    Online softmax: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3.
    """
    kernel = walk.kernel
    if walk.strided:
        kernel.line(f"top = tl.full((BLOCK,), -{INFINITY}, dtype=tl.float32)")
        kernel.line("total = tl.zeros((BLOCK,), dtype=tl.float32)")
    else:
        kernel.line(f"top = -{INFINITY}")
        kernel.line("total = 0.0")
    x = walk.element(walk.loop(), f"-{INFINITY}")
    kernel.line(f"peak = tl.maximum(top, tl.max({x}, axis=0))", 1)
    shifted = f"{x} - peak[None, :]" if walk.strided else f"{x} - peak"
    kernel.line(f"total = total * tl.exp(top - peak) + tl.sum(tl.exp({shifted}), axis=0)", 1)
    kernel.line("top = peak", 1)


def centre(walk: Walk, eps: str) -> None:
    """mean and rstd of a row, in two walks."""
    squares(walk)
    walk.kernel.line(f"rstd = tl.rsqrt(tl.sum(acc, axis=0) / {walk.count} + {eps})")


def squares(walk: Walk) -> None:
    """mean, and acc: the squares of centred values, so that nothing cancels."""
    kernel = walk.kernel
    kernel.line(f"acc = tl.zeros({walk.lanes}, dtype=tl.float32)")
    kernel.line(f"acc += {walk.element(walk.loop(), '0.0')}", 1)
    kernel.line(f"mean = tl.sum(acc, axis=0) / {walk.count}")
    kernel.line(f"acc = tl.zeros({walk.lanes}, dtype=tl.float32)")
    x = walk.element(walk.loop(), "0.0")
    mean = "mean[None, :]" if walk.strided else "mean"
    centred = kernel.value(f"tl.where(mask, {x} - {mean}, 0.0)", 1)
    kernel.line(f"acc += {centred} * {centred}", 1)
