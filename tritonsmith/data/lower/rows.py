"""Reductions, and what is made of them: softmax, normalisations.

The reduced dimensions lie side by side, so a tensor is (outer, reduced, inner). Where nothing is inside, a program
takes a row and walks along it; else a program takes a block of outputs and walks down their columns. Both walk in
blocks, so that any length fits, and accumulate in float32.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Group, Unit
from tritonsmith.data.lower.site import Held, Site, compute, load
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Untraceable, Value

_INFINITY = 'float("inf")'


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
        if self.strided or self.whole:
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


@dataclass(frozen=True)
class Reduction:
    """A running combination and its end."""

    start: str
    """Fills the accumulator: a function of its shape."""
    step: str
    finish: str
    neutral: str = "0.0"


_MULTIPLY = """@triton.jit
def multiply(a, b):
    return a * b"""
_SUM = "acc += {x}", "tl.sum(acc, axis=0)"
REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction("tl.zeros({lanes}, dtype=tl.float32)", *_SUM),
    "mean": Reduction("tl.zeros({lanes}, dtype=tl.float32)", _SUM[0], "tl.sum(acc, axis=0) / {count}"),
    "amax": Reduction(
        "tl.full({lanes}, -" + _INFINITY + ", dtype=tl.float32)",
        "acc = tl.maximum(acc, {x})", "tl.max(acc, axis=0)", "-" + _INFINITY,
    ),
    "amin": Reduction(
        "tl.full({lanes}, " + _INFINITY + ", dtype=tl.float32)",
        "acc = tl.minimum(acc, {x})", "tl.min(acc, axis=0)", _INFINITY,
    ),
    "prod": Reduction(
        "tl.full({lanes}, 1.0, dtype=tl.float32)",
        "acc *= {x}", "tl.reduce(acc, 0, multiply)", "1.0",
    ),
    "norm2": Reduction("tl.zeros({lanes}, dtype=tl.float32)", "acc += {x} * {x}", "tl.sqrt(tl.sum(acc, axis=0))"),
    "norm1": Reduction("tl.zeros({lanes}, dtype=tl.float32)", "acc += tl.abs({x})", "tl.sum(acc, axis=0)"),
}  # fmt: skip


def emit_reduction(forward: Forward, op: Op, unit: Unit) -> None:
    """sum, mean, amax, amin, norms over `dim`."""
    source = op.tensor("self")
    dims = dimensions(op, "dim", len(source.shape))
    kernel = Kernel(forward.kernel_name(op.name))
    walk = Walk(forward, kernel, op, source, dims, unit.prologues.get("self"))
    if len(dims) == len(source.shape) and op.name != "prod":
        _whole(forward, op, unit, walk)
        return
    rule = REDUCTIONS[op.name]
    if op.name == "prod":
        forward.help(_MULTIPLY)
    walk.begin()
    _accumulate(walk, rule)
    store_reduced(forward, op, unit, walk, rule.finish.format(count=walk.count))
    forward.notes.append(f"{kernel.name}: {_walked(walk)}")
    forward.emit(kernel)


def _accumulate(walk: Walk, rule: Reduction) -> None:
    walk.kernel.line(f"acc = {rule.start.format(lanes=walk.lanes)}")
    site = walk.loop()
    x = walk.element(site, rule.neutral)
    walk.kernel.line(rule.step.format(x=x), 1)


def store_reduced(forward: Forward, op: Op, unit: Unit, walk: Walk, finish: str) -> None:
    """The epilogue on the reduced values, and their way to memory."""
    kernel = walk.kernel
    result = unit.result
    sizes = result_sizes(walk, result)
    site = walk.result_site(result.shape, "", dim=lambda i: sizes[i])
    bound = {op.result: kernel.value(finish)}
    compute(kernel, site, unit.group, forward.held, bound, forward.number)
    out = forward.allocate(result, sizes)
    pointer = kernel.pointer("out", out.name)
    mask = f", mask={site.mask}" if site.mask else ""
    kernel.line(f"tl.store({pointer} + {site.offs}, {bound[result]}{mask})")
    walk.launch_over_results()


def result_sizes(walk: Walk, result: Value) -> list[str]:
    """The sizes of a reduction's result, kept dimensions as ones."""
    rank = len(walk.shape)
    if len(result.shape) == rank:
        return ["1" if i in walk.dims else walk.size((i,)) for i in range(rank)]
    return [walk.size((i,)) for i in range(rank) if i not in walk.dims]


def _whole(forward: Forward, op: Op, unit: Unit, walk: Walk) -> None:
    """Everything into one number: each program a share, then one program over the shares."""
    rule = REDUCTIONS[op.name]
    kernel = walk.kernel
    kernel.name = forward.kernel_name(f"{op.name}_parts")
    walk.whole = True
    first = walk.like
    kernel.size("n", f"{first.name}.numel()")
    walk.begin()
    _accumulate(walk, rule)
    plain = rule.finish.replace(" / {count}", "").replace("tl.sqrt(tl.sum(acc, axis=0))", "tl.sum(acc, axis=0)")
    forward.lines.append(f"parts = min(triton.cdiv({first.name}.numel(), 1024), 1024)")
    partial = forward.scratch("parts", first)
    pointer = kernel.pointer("out", partial)
    kernel.line(f"tl.store({pointer} + pid, {plain})")
    kernel.constant("BLOCK", "1024")
    kernel.grid = "(parts,)"
    forward.emit(kernel)
    last = Kernel(forward.kernel_name(op.name))
    last.pointer("part", partial)
    last.size("parts", "parts")
    last.line("offs = tl.arange(0, BLOCK)")
    neutral = rule.neutral
    last.line(f"acc = tl.load(part_ptr + offs, mask=offs < parts, other={neutral})")
    count = last.size("n", f"{first.name}.numel()") if "{count}" in rule.finish else ""
    bound = {op.result: last.value(rule.finish.format(count=count))}
    site = Site(unit.result.shape, "", "0", None)
    compute(last, site, unit.group, forward.held, bound, forward.number)
    out = forward.allocate(unit.result, [])
    last.line(f"tl.store({last.pointer('out', out.name)}, {bound[unit.result]})")
    last.constant("BLOCK", "1024")
    last.grid = "(1,)"
    forward.notes.append(f"{kernel.name}: each program adds up a share of all elements; {last.name} joins the shares")
    forward.emit(last)


def _walked(walk: Walk) -> str:
    if walk.strided:
        return "a program walks down 64 columns in blocks of 16, float32 accumulators"
    return "a program walks along a row in blocks of 1024, float32 accumulators"


def emit_softmax(forward: Forward, op: Op, unit: Unit) -> None:
    """softmax and log_softmax over `dim`: one walk for maximum and sum together, one to write."""
    source = op.tensor("self")
    dims = dimensions(op, "dim", len(source.shape))
    kernel = Kernel(forward.kernel_name(op.name))
    walk = Walk(forward, kernel, op, source, dims, unit.prologues.get("self"))
    walk.begin()
    _peak(walk)
    site = walk.loop()
    x = walk.element(site, "0.0")
    top, total = ("top[None, :]", "total[None, :]") if walk.strided else ("top", "total")
    made = f"tl.exp({x} - {top}) / {total}" if op.name == "softmax" else f"{x} - {top} - tl.log({total})"
    finish_rows(forward, op, unit, walk, site, made)
    forward.notes.append(f"{kernel.name}: maximum and sum in one walk (online softmax), a second walk writes")
    forward.emit(kernel)


def _peak(walk: Walk) -> None:
    """top and total: the maximum and the sum of exponentials below it, in one walk.

    Online softmax: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3.
    """
    kernel = walk.kernel
    if walk.strided:
        kernel.line(f"top = tl.full((BLOCK,), -{_INFINITY}, dtype=tl.float32)")
        kernel.line("total = tl.zeros((BLOCK,), dtype=tl.float32)")
    else:
        kernel.line(f"top = -{_INFINITY}")
        kernel.line("total = 0.0")
    x = walk.element(walk.loop(), f"-{_INFINITY}")
    kernel.line(f"peak = tl.maximum(top, tl.max({x}, axis=0))", 1)
    shifted = f"{x} - peak[None, :]" if walk.strided else f"{x} - peak"
    kernel.line(f"total = total * tl.exp(top - peak) + tl.sum(tl.exp({shifted}), axis=0)", 1)
    kernel.line("top = peak", 1)


def emit_layer_norm(forward: Forward, op: Op, unit: Unit) -> None:
    """layer_norm over the last dimensions: mean, then squares of what is left, then the affine map."""
    source = op.tensor("input")
    shape = op.args["normalized_shape"]
    assert isinstance(shape, list)
    rank = len(source.shape)
    kernel = Kernel(forward.kernel_name("layer_norm"))
    walk = Walk(forward, kernel, op, source, tuple(range(rank - len(shape), rank)), unit.prologues.get("input"))
    walk.begin()
    eps = forward.number(kernel, op, "eps", op.args["eps"])
    centre(walk, eps)
    site = walk.loop()
    x = walk.element(site, "0.0")
    made = f"({x} - mean) * rstd"
    for name, sign in (("weight", "*"), ("bias", "+")):
        if isinstance(op.args.get(name), Value):
            made = f"{made} {sign} {load(kernel, site, forward.in_order(op.tensor(name)))}"
    finish_rows(forward, op, unit, walk, site, made)
    forward.notes.append(f"{kernel.name}: a program a row, two walks for mean and variance, a third writes")
    forward.emit(kernel)


def centre(walk: Walk, eps: str) -> None:
    """mean and rstd of a row, in two walks."""
    _squares(walk)
    walk.kernel.line(f"rstd = tl.rsqrt(tl.sum(acc, axis=0) / {walk.count} + {eps})")


def _squares(walk: Walk) -> None:
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


def emit_logsumexp(forward: Forward, op: Op, unit: Unit) -> None:
    """logsumexp over `dim`: the first walk of a softmax."""
    source = op.tensor("self")
    kernel = Kernel(forward.kernel_name("logsumexp"))
    walk = Walk(forward, kernel, op, source, dimensions(op, "dim", len(source.shape)), None)
    walk.begin()
    _peak(walk)
    store_reduced(forward, op, unit, walk, "top + tl.log(total)")
    forward.notes.append(f"{kernel.name}: maximum and sum in one walk, so that no exponential overflows")
    forward.emit(kernel)


def emit_variance(forward: Forward, op: Op, unit: Unit) -> None:
    """var and std over `dim`: the mean, then the squares of what is left."""
    source = op.tensor("self")
    kernel = Kernel(forward.kernel_name(op.name))
    walk = Walk(forward, kernel, op, source, dimensions(op, "dim", len(source.shape)), None)
    correction = op.args.get("correction")
    if correction is None:
        correction = 0 if op.args.get("unbiased") is False else 1
    walk.begin()
    _squares(walk)
    freedom = f"({walk.count} - {correction})" if correction else walk.count
    made = f"tl.sum(acc, axis=0) / {freedom}"
    store_reduced(forward, op, unit, walk, f"tl.sqrt({made})" if op.name == "std" else made)
    forward.notes.append(f"{kernel.name}: mean first, then squares of centred values, so that nothing cancels")
    forward.emit(kernel)


def emit_arg(forward: Forward, op: Op, unit: Unit) -> None:
    """argmax and argmin over `dim`: the first place of the extreme value, as torch has it."""
    source = op.tensor("self")
    kernel = Kernel(forward.kernel_name(op.name))
    walk = Walk(forward, kernel, op, source, dimensions(op, "dim", len(source.shape)), None)
    walk.begin()
    place = _extreme(walk, least=op.name == "argmin")
    store_reduced(forward, op, unit, walk, place)
    forward.notes.append(f"{kernel.name}: best value and its place in each lane, then the first of the best lanes")
    forward.emit(kernel)


def _extreme(walk: Walk, least: bool) -> str:
    """The walk of argmax or argmin; the expression of the place. `best` holds the lanes' values."""
    kernel = walk.kernel
    edge, better = (_INFINITY, "<") if least else (f"-{_INFINITY}", ">")
    kernel.line(f"best = tl.full({walk.lanes}, {edge}, dtype=tl.float32)")
    kernel.line(f"index = tl.full({walk.lanes}, {walk.count}, dtype=tl.int32)")
    x = walk.element(walk.loop(), edge)
    kernel.line(f"index = tl.where({x} {better} best, {'r' if walk.strided else 'cols'}, index)", 1)
    kernel.line(f"best = tl.{'minimum' if least else 'maximum'}(best, {x})", 1)
    kernel.line(f"top = tl.{'min' if least else 'max'}(best, axis=0)")
    top = "top[None, :]" if walk.strided else "top"
    return f"tl.min(tl.where(best == {top}, index, {walk.count}), axis=0)"


def emit_extreme_with_place(forward: Forward, op: Op, unit: Unit) -> None:
    """max and min over `dim`, which give values and places."""
    source = op.tensor("self")
    kernel = Kernel(forward.kernel_name(op.name))
    walk = Walk(forward, kernel, op, source, dimensions(op, "dim", len(source.shape)), None)
    walk.begin()
    place = _extreme(walk, least=op.name == "min_dim")
    values, places = op.results
    sizes = result_sizes(walk, values)
    offs, mask = ("pos", ", mask=keep") if walk.strided else ("row", "")
    for result, made in ((values, "top"), (places, place)):
        out = forward.allocate(result, sizes)
        pointer = kernel.pointer("out_values" if result is values else "out_places", out.name)
        kernel.line(f"tl.store({pointer} + {offs}, {made}{mask})")
    walk.launch_over_results()
    forward.notes.append(f"{kernel.name}: best value and its place in each lane, then the first of the best lanes")
    forward.emit(kernel)


def finish_rows(forward: Forward, op: Op, unit: Unit, walk: Walk, site: Site, made: str) -> None:
    """The epilogue on values of the walked shape, inside the last loop, and their way to memory."""
    kernel = walk.kernel
    bound = {op.result: kernel.value(made, site.depth)}
    compute(kernel, site, unit.group, forward.held, bound, forward.number)
    out = forward.allocate(unit.result, walk.like)
    pointer = kernel.pointer("out", out.name)
    kernel.line(f"tl.store({pointer} + offs, {bound[unit.result]}, mask=mask)", site.depth)
    walk.launch_over_results()


EMITTERS: dict[str, Emitter] = {
    **dict.fromkeys(REDUCTIONS, emit_reduction),
    "softmax": emit_softmax,
    "log_softmax": emit_softmax,
    "layer_norm": emit_layer_norm,
    "logsumexp": emit_logsumexp,
    "var": emit_variance,
    "std": emit_variance,
    "argmax": emit_arg,
    "argmin": emit_arg,
    "max_dim": emit_extreme_with_place,
    "min_dim": emit_extreme_with_place,
}
