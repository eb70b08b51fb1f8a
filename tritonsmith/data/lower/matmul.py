"""Products of matrices: linear, mm, matmul of any rank, bmm, with what follows them in the same kernel.

One skeleton: a program makes a tile of the result, walks along K, accumulates in float32. Factors whose elements do
not lie in order (transposes, permuted heads) are read by strides, so nothing is copied. What is no product of two
matrices (vectors, einsum, addmm, ...) is rewritten in `products`. No split of K, no reordering of programs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tritonsmith.data.lower import products as _rules  # noqa: F401  (registers its rules)
from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.site import Block, Held, Site, compute, load
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Untraceable, Value

BLOCK = 64
"""Rows and columns of a tile."""
BLOCK_K = 32
"""How much of K a step takes."""


@dataclass
class Tile:
    """The tile of a result (batch..., rows..., column) that a program makes: coordinates `batch`, `rm`, `rn`."""

    kernel: Kernel
    out: Held
    batch: tuple[int, ...]
    """Dimensions of the result that have a matrix each."""
    rows: tuple[int, ...]
    """Dimensions that are its rows, folded into one."""

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

    def coordinates(self, layout: list[Block]) -> tuple[str, str | None] | None:
        """Where an operand of the epilogue lies: sums of rows and columns, no division where none is needed."""
        full = [d for block in layout if block.full for d in block.dims]
        if len(full) == len(self.out.shape):
            return None
        terms: list[str] = []
        parts = (("batch", self.batch), ("rm", self.rows), ("rn", (self.column,)))
        for variable, of in parts:
            dims = [d for d in of if d in full]
            if not dims:
                continue
            if dims != list(range(dims[0], dims[-1] + 1)):
                return None
            later = [d for d in full if d > dims[-1]]
            strides = [[d for d in group if d in later] for _, group in parts]
            text = self.index(variable, of, dims)
            terms.append(" * ".join([text, *(self.size(stride) for stride in strides if stride)]))
        row, column = any(d in full for d in self.rows), self.column in full
        masks = {(True, True): "mask", (True, False): "rm < M", (False, True): "rn < N"}
        return " + ".join(terms) or "0", masks.get((row, column))


@dataclass(frozen=True)
class Factor:
    """A factor as the kernel reads it: `a` by rows `rm` and `rk`, `b` by `rk` and columns `rn`."""

    name: str
    """`a` or `b`."""
    held: Held
    by_columns: bool = False
    """A `b` whose columns lie in order, as the weight of a linear layer."""

    @property
    def _dims(self) -> str:
        """A letter for each dimension, as in `stride_am`: batches from x on, then rows and columns."""
        letters = "mk" if self.name == "a" else "nk" if self.by_columns else "kn"
        return "uvwxyz"[8 - len(self.held.shape) :] + letters

    def declare(self, kernel: Kernel) -> None:
        """Its pointer and, where they are needed, its strides become parameters, in order."""
        kernel.pointer(self.held.label, self.held.name)
        if not self.held.contiguous:
            for i, size in enumerate(self.held.shape):
                if size != 1 or i >= len(self.held.shape) - 2:
                    self._stride(kernel, i)

    def _stride(self, kernel: Kernel, i: int) -> str:
        return kernel.size(f"stride_{self.name}{self._dims[i]}", f"{self.held.name}.stride({i})")

    def read(self, kernel: Kernel) -> str:
        """The statement that loads its block."""
        pointer = kernel.pointer(self.held.label, self.held.name)
        outer, inner = ("rm", "rk[None, :]") if self.name == "a" else ("rk[:, None]", "rn")
        bounds = "(rm < M) & (rk[None, :] < K)" if self.name == "a" else "(rk[:, None] < K) & (rn < N)"
        if self.by_columns:
            outer, inner = inner, outer
        if self.held.contiguous:
            width = "K" if self.name == "a" or self.by_columns else "N"
            offset = f"{outer} * {width} + {inner}"
        else:
            rank = len(self.held.shape)
            offset = f"{outer} * {self._stride(kernel, rank - 2)} + {inner} * {self._stride(kernel, rank - 1)}"
        return f"{self.name} = tl.load({pointer} + {offset}, mask={bounds}, other=0.0)"

    def advance(self, tile: Tile) -> str | None:
        """The statement that moves its pointer to the matrix of the program's batch; None where all share one."""
        lead = len(tile.batch) - (len(self.held.shape) - 2)
        result = [tile.out.shape[d] for d in tile.batch]
        own = [i for i, size in enumerate(self.held.shape[:-2]) if size != 1 or result[lead + i] == 1]
        if not own or all(self.held.shape[i] == 1 for i in own) and len(own) < len(tile.batch):
            return None
        pointer = tile.kernel.pointer(self.held.label, self.held.name)
        matrix = "M * K" if self.name == "a" else "K * N"
        dims = [tile.batch[lead + i] for i in own]
        if self.held.contiguous and dims == list(range(dims[0], dims[-1] + 1)):
            return f"{pointer} += {tile.index('batch', tile.batch, dims)} * {matrix}"
        terms = []
        for i, dim in zip(own, dims, strict=True):
            terms.append(f"{tile.index('batch', tile.batch, [dim])} * {self._stride(tile.kernel, i)}")
        return f"{pointer} += {' + '.join(terms)}"


def product(name: str, dims: Sequence[int]) -> str:
    """The product of sizes of a tensor as an expression in `forward`."""
    return " * ".join(f"{name}.shape[{d}]" for d in dims)


def emit_linear(forward: Forward, op: Op, unit: Unit) -> None:
    """x W^T + b over the last dimension."""
    bias = op.args.get("bias")
    weight = forward.held(op.tensor("weight"))
    if len(weight.shape) != 2:
        raise Untraceable("a linear layer whose weight is a vector")
    emit_product(forward, op, unit, op.tensor("input"), weight, True, bias if isinstance(bias, Value) else None)


def emit_matmul(forward: Forward, op: Op, unit: Unit) -> None:
    """a b of two matrices, or of two stacks of them that broadcast."""
    a, b = op.operands[0], op.operands[-1]
    emit_product(forward, op, unit, a, forward.held(b), False, None)


def emit_product(
    forward: Forward, op: Op, unit: Unit, left: Value, b: Held, by_columns: bool, bias: Value | None
) -> None:
    """The kernel of a product and its epilogue."""
    if op.result.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise Untraceable(f"a product of {op.result.dtype}")
    a = forward.held(left)
    folded = len(b.shape) == 2 and (len(a.shape) == 2 or a.contiguous)
    rank = len(op.result.shape)
    batch, rows = ((), tuple(range(rank - 1))) if folded else (tuple(range(rank - 2)), (rank - 2,))
    out = forward.allocate(unit.result, _sizes(op.result.shape, a, b, by_columns))
    kernel = Kernel(forward.kernel_name(op.name))
    tile = Tile(kernel, out, batch, rows)
    factors = [Factor("a", a), Factor("b", b, by_columns)]
    kernel.sizes |= {"M": product(out.name, rows), "N": f"{out.name}.shape[{rank - 1}]"}
    kernel.sizes["K"] = f"{a.name}.shape[{len(a.shape) - 1}]"
    for factor in factors:
        factor.declare(kernel)
    _walk(kernel, tile, factors)
    kernel.line("offs = batch * M * N + rm * N + rn" if batch else "offs = rm * N + rn")
    kernel.line("mask = (rm < M) & (rn < N)")
    site = Site(op.result.shape, out.name, "offs", "mask", coordinates=tile.coordinates)
    made = "acc"
    if bias is not None:
        made = kernel.value(f"acc + {load(kernel, site, forward.held(bias))}")
    bound = {op.result: made}
    compute(kernel, site, unit.group, forward.held, bound, forward.number)
    kernel.line(f"tl.store({kernel.pointer('out', out.name)} + offs, {bound[unit.result]}, mask=mask)")
    cells = [f"triton.cdiv({kernel.sizes[size]}, {BLOCK})" for size in ("M", "N")]
    kernel.grid = f"({', '.join([*cells, *([product(out.name, batch)] if batch else [])])})"
    forward.notes.append(_note(kernel, unit, bias is not None, bool(batch)))
    forward.emit(kernel)


def _walk(kernel: Kernel, tile: Tile, factors: list[Factor]) -> None:
    """The lines up to the end of the loop over K."""
    for variable, axis in (("rm", 0), ("rn", 1)):
        block = kernel.constant(f"BLOCK_{variable[1].upper()}", str(BLOCK))
        shape = "[:, None]" if axis == 0 else "[None, :]"
        kernel.line(f"{variable} = tl.program_id({axis}) * {block} + tl.arange(0, {block}){shape}")
    kernel.constant("BLOCK_K", str(BLOCK_K))
    if tile.batch:
        kernel.line("batch = tl.program_id(2)")
        for line in (factor.advance(tile) for factor in factors):
            if line:
                kernel.line(line)
    kernel.line("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
    kernel.line("for start in range(0, K, BLOCK_K):")
    kernel.line("rk = start + tl.arange(0, BLOCK_K)", 1)
    for factor in factors:
        kernel.line(factor.read(kernel), 1)
    kernel.line('acc = tl.dot(a, b, acc, input_precision="ieee")', 1)


def _sizes(shape: tuple[int, ...], a: Held, b: Held, by_columns: bool) -> list[str]:
    """The sizes of the result: rows from a, columns from b, a batch from whoever has it."""
    sizes = []
    for place, size in enumerate(shape[:-2]):
        has = (
            (held, i) for held in (a, b) if (i := place - (len(shape) - len(held.shape))) >= 0 and held.shape[i] == size
        )
        held, i = next(has)
        sizes.append(f"{held.name}.shape[{i}]")
    last = len(b.shape) - (2 if by_columns else 1)
    return [*sizes, f"{a.name}.shape[{len(a.shape) - 2}]", f"{b.name}.shape[{last}]"][-len(shape) :]


def _note(kernel: Kernel, unit: Unit, bias: bool, batched: bool) -> str:
    names = [*(["bias"] if bias else []), *(op.name for op in (unit.group.ops if unit.group else []))]
    fused = f", then {', '.join(names)} on the tile in registers" if names else ""
    matrix = " of a matrix of the batch" if batched else ""
    tiles = f"a program a {BLOCK}x{BLOCK} tile{matrix}, K in steps of {BLOCK_K}"
    return f"{kernel.name}: {tiles}, float32 accumulator, masks at the edges{fused}"


EMITTERS: dict[str, Emitter] = {
    "linear": emit_linear,
    **dict.fromkeys(("mm", "bmm", "matmul"), emit_matmul),
}
