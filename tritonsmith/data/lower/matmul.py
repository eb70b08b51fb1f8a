"""Products of matrices: linear, mm, matmul of any rank, bmm, with what follows them in the same kernel.

One skeleton: a program makes a tile of the result, walks along K, accumulates in float32. Factors whose elements do
not lie in order (transposes, permuted heads) are read by strides, so nothing is copied. What is no product of two
matrices (vectors, einsum, addmm, ...) is rewritten in `products`. No split of K, no reordering of programs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tritonsmith.data.lower import constants, products
from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.site import Block, Held, Site, compute, load
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Untraceable, Value

assert constants and products  # their rules register themselves

BLOCK = 64
"""Rows and columns of a tile."""
BLOCK_K = 32
"""How much of K a step takes."""

MAX_GRID = 65535
"""Programs that CUDA takes along any axis of a grid but the first."""


@dataclass
class Tile:
    """The tile of a result (batch..., rows..., column) that a program makes: coordinates `batch`, `rm`, `rn`."""

    kernel: Kernel
    out: Held
    batch: tuple[int, ...]
    """Dimensions of the result that have a matrix each."""
    rows: tuple[int, ...]
    """Dimensions that are its rows, folded into one."""
    columns: str = "rn"
    """The coordinate along its columns, shaped as a row."""
    axes: tuple[int, int, int] = (0, 1, 2)
    """Of the grid, those of rows, columns and batch."""

    @property
    def column(self) -> int:
        """The dimension of its columns."""
        return len(self.out.shape) - 1

    def size(self, dims: Sequence[int]) -> str:
        """The parameter with the product of these dimensions' sizes."""
        if tuple(dims) == self.rows:
            return "M"
        if tuple(dims) == (self.column,):
            return "N"
        return self.kernel.size("D" + "".join(map(str, dims)), product(self.out.name, dims))

    def index(self, variable: str, of: tuple[int, ...], dims: Sequence[int]) -> str:
        """The index into `dims`, neighbours among the dimensions `of` that a variable counts through."""
        inner = of[of.index(dims[-1]) + 1 :]
        text = f"{variable} // {self.size(inner)}" if inner else variable
        return text if dims[0] == of[0] else f"{text} % {self.size(dims)}"

    @property
    def parts(self) -> list[tuple[str, tuple[int, ...]]]:
        """Each coordinate and the dimensions that it counts through."""
        return [("batch", self.batch), ("rm", self.rows), (self.columns, (self.column,))]

    def coordinate(self, dim: int) -> str:
        """The coordinate along a dimension."""
        return next(self.index(variable, of, [dim]) for variable, of in self.parts if dim in of)

    def coordinates(self, layout: list[Block]) -> tuple[str, str | None] | None:
        """Where an operand of the epilogue lies: sums of rows and columns, no division where none is needed."""
        full = [d for block in layout if block.full for d in block.dims]
        if len(full) == len(self.out.shape):
            return None
        terms: list[str] = []
        for variable, of in self.parts:
            dims = [d for d in of if d in full]
            if not dims:
                continue
            if dims != list(range(dims[0], dims[-1] + 1)):
                return None
            later = [d for d in full if d > dims[-1]]
            strides = [[d for d in group if d in later] for _, group in self.parts]
            text = self.index(variable, of, dims)
            terms.append(" * ".join([text, *(self.size(stride) for stride in strides if stride)]))
        row, column = any(d in full for d in self.rows), self.column in full
        masks = {(True, True): "mask", (True, False): "rm < M", (False, True): f"{self.columns} < N"}
        return " + ".join(terms) or "0", masks.get((row, column))


@dataclass(frozen=True)
class Factor:
    """A matrix, or a stack of them, as a kernel reads it: a block of rows and columns at a time."""

    name: str
    """What the block is called in the kernel."""
    held: Held
    coordinates: tuple[str, str]
    """Of its rows and of its columns, shaped so that the block comes out."""
    letters: str
    """Of its rows and its columns: `mk` is M by K, with strides `stride_am` and `stride_ak`."""

    @property
    def _sizes(self) -> tuple[str, str]:
        return self.letters[0].upper(), self.letters[1].upper()

    def pointer(self, kernel: Kernel) -> str:
        """Its pointer, moved or not."""
        return kernel.pointer(self.held.label, self.held.name, moved=True)

    def declare(self, kernel: Kernel) -> None:
        """Its pointer and, where they are needed, its strides become parameters, in order."""
        self.pointer(kernel)
        if not self.held.contiguous:
            for i, size in enumerate(self.held.shape):
                if size != 1 or i >= len(self.held.shape) - 2:
                    self._stride(kernel, i)

    def _stride(self, kernel: Kernel, i: int) -> str:
        letters = "uvwxyz"[8 - len(self.held.shape) :] + self.letters
        return kernel.size(f"stride_{self.name}{letters[i]}", f"{self.held.name}.stride({i})")

    def read(self, kernel: Kernel) -> str:
        """The statement that loads its block."""
        pointer = self.pointer(kernel)
        (row, column), (rows, columns) = self.coordinates, self._sizes
        rank = len(self.held.shape)
        offset = f"{row} * {columns} + {column}"
        if not self.held.contiguous:
            offset = f"{row} * {self._stride(kernel, rank - 2)} + {column} * {self._stride(kernel, rank - 1)}"
        return f"{self.name} = tl.load({pointer} + {offset}, mask=({row} < {rows}) & ({column} < {columns}), other=0.0)"

    def advance(self, tile: Tile) -> str | None:
        """The statement that moves its pointer to the matrix of the program's batch; None where all share one."""
        lead = len(tile.batch) - (len(self.held.shape) - 2)
        result = [tile.out.shape[d] for d in tile.batch]
        own = [i for i, size in enumerate(self.held.shape[:-2]) if size != 1 or result[lead + i] == 1]
        if not own:
            return None
        pointer = self.pointer(tile.kernel)
        dims = [tile.batch[lead + i] for i in own]
        if self.held.contiguous and dims == list(range(dims[0], dims[-1] + 1)):
            return f"{pointer} += {tile.index('batch', tile.batch, dims)} * {' * '.join(self._sizes)}"
        terms = [
            f"{tile.index('batch', tile.batch, [dim])} * {self._stride(tile.kernel, i)}"
            for i, dim in zip(own, dims, strict=True)
        ]
        return f"{pointer} += {' + '.join(terms)}"


def advance(tile: Tile, factors: Sequence[Factor], axis: int) -> None:
    """Move each factor's pointer to the program's batch, once where a tensor is several of them."""
    tile.kernel.line(f"batch = tl.program_id({axis})")
    seen: set[str] = set()
    for factor in factors:
        pointer = factor.pointer(tile.kernel)
        if pointer not in seen and (line := factor.advance(tile)):
            tile.kernel.line(line)
            tile.kernel.moved.add(pointer)
        seen.add(pointer)


def product(name: str, dims: Sequence[int]) -> str:
    """The product of sizes of a tensor as an expression in `forward`."""
    return " * ".join(f"{name}.shape[{d}]" for d in dims)


def emit_linear(forward: Forward, op: Op, unit: Unit) -> None:
    """x W^T + b over the last dimension."""
    bias = op.args.get("bias")
    _emit(forward, op, unit, op.tensor("input"), op.tensor("weight"), (False, True), bias)


def emit_matmul(forward: Forward, op: Op, unit: Unit) -> None:
    """a b of two matrices, or of two stacks of them that broadcast; each may be transposed."""
    turned = op.args.get("transposed", (False, False))
    assert isinstance(turned, tuple)
    _emit(forward, op, unit, op.tensor("self"), op.tensor("other"), turned, None)


def _emit(
    forward: Forward, op: Op, unit: Unit, left: Value, right: Value, turned: tuple[bool, bool], bias: object
) -> None:
    """The kernel of a product and its epilogue; `turned` factors are stored as their transposes."""
    if op.result.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise Untraceable(f"a product of {op.result.dtype}")
    a, b = forward.held(left), forward.held(right)
    folded = len(b.shape) == 2 and (len(a.shape) == 2 or (a.contiguous and not turned[0]))
    rank = len(op.result.shape)
    batch, rows = ((), tuple(range(rank - 1))) if folded else (tuple(range(rank - 2)), (rank - 2,))
    out = forward.allocate(unit.result, _sizes(op.result.shape, a, b, turned))
    kernel = Kernel(forward.kernel_name(op.name))
    tile = Tile(kernel, out, batch, rows, axes=_axes(out, batch, rows))
    factors = [
        Factor("a", a, ("rk[None, :]", "rm"), "km") if turned[0] else Factor("a", a, ("rm", "rk[None, :]"), "mk"),
        Factor("b", b, ("rn", "rk[:, None]"), "nk") if turned[1] else Factor("b", b, ("rk[:, None]", "rn"), "kn"),
    ]
    kernel.sizes |= {"M": product(out.name, rows), "N": f"{out.name}.shape[{rank - 1}]"}
    kernel.sizes["K"] = a.size(len(a.shape) - (2 if turned[0] else 1))
    _walk(kernel, tile, factors)
    kernel.line("offs = batch * M * N + rm * N + rn" if batch else "offs = rm * N + rn")
    kernel.line("mask = (rm < M) & (rn < N)")
    site = Site(op.result.shape, out.name, "offs", "mask", coordinates=tile.coordinates, index=tile.coordinate)
    made = "acc"
    if isinstance(bias, Value):
        made = kernel.value(f"acc + {load(kernel, site, forward.held(bias))}")
    bound = {op.result: made}
    compute(kernel, site, unit.group, forward.held, bound, forward.number)
    kernel.line(f"tl.store({kernel.pointer('out', out.name)} + offs, {bound[unit.result]}, mask=mask)")
    cells = [f"triton.cdiv({kernel.sizes[size]}, {BLOCK})" for size in ("M", "N")]
    cells += [product(out.name, batch)] if batch else []
    kernel.grid = f"({', '.join(cells[tile.axes.index(axis)] for axis in range(len(cells)))})"
    forward.notes.append(_note(kernel, unit, isinstance(bias, Value), bool(batch)))
    forward.emit(kernel)


def _axes(out: Held, batch: tuple[int, ...], rows: tuple[int, ...]) -> tuple[int, int, int]:
    """Rows, columns and batch in this order, unless there are more of the latter than the grid's later axes take."""
    counts = [-(-math.prod(out.shape[d] for d in rows) // BLOCK), -(-out.shape[-1] // BLOCK)]
    counts.append(math.prod(out.shape[d] for d in batch))
    if max(counts[1:]) <= MAX_GRID:
        return 0, 1, 2
    return (1, 0, 2) if counts[1] > counts[2] else (2, 1, 0)


def _walk(kernel: Kernel, tile: Tile, factors: list[Factor]) -> None:
    """The lines up to the end of the loop over K."""
    for factor in factors:
        factor.declare(kernel)
    for variable, axis, shape in (("rm", tile.axes[0], "[:, None]"), ("rn", tile.axes[1], "[None, :]")):
        block = kernel.constant(f"BLOCK_{variable[1].upper()}", str(BLOCK))
        kernel.line(f"{variable} = tl.program_id({axis}) * {block} + tl.arange(0, {block}){shape}")
    kernel.constant("BLOCK_K", str(BLOCK_K))
    if tile.batch:
        advance(tile, factors, tile.axes[2])
    kernel.line("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
    kernel.line("for start in range(0, K, BLOCK_K):")
    kernel.line("rk = start + tl.arange(0, BLOCK_K)", 1)
    for factor in factors:
        kernel.line(factor.read(kernel), 1)
    kernel.line('acc = tl.dot(a, b, acc, input_precision="ieee")', 1)


def _sizes(shape: tuple[int, ...], a: Held, b: Held, turned: tuple[bool, bool]) -> list[str]:
    """The sizes of the result: rows from a, columns from b, a batch from whoever has it."""
    sizes = []
    for place, size in enumerate(shape[:-2]):
        has = (
            (held, i) for held in (a, b) if (i := place - (len(shape) - len(held.shape))) >= 0 and held.shape[i] == size
        )
        held, i = next(has)
        sizes.append(held.size(i))
    last = len(b.shape) - (2 if turned[1] else 1)
    return [*sizes, a.size(len(a.shape) - (1 if turned[0] else 2)), b.size(last)]


_UNSAID = ("index", "full", "as_float")


def _note(kernel: Kernel, unit: Unit, bias: bool, batched: bool) -> str:
    names = ["bias"] if bias else []
    names += [op.name for op in (unit.group.ops if unit.group else []) if op.name not in _UNSAID]
    fused = f", then {', '.join(names)} on the tile in registers" if names else ""
    matrix = " of a matrix of the batch" if batched else ""
    tiles = f"a program a {BLOCK}x{BLOCK} tile{matrix}, K in steps of {BLOCK_K}"
    return f"{kernel.name}: {tiles}, float32 accumulator, masks at the edges{fused}"


EMITTERS: dict[str, Emitter] = {
    "linear": emit_linear,
    **dict.fromkeys(("mm", "bmm", "matmul"), emit_matmul),
}
