"""Gathering by an index, joining and reversing: kernels whose work is to find the place of an element."""

from collections.abc import Sequence

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.site import Held, Site, compute
from tritonsmith.data.lower.spatial import add
from tritonsmith.data.lower.text import Kernel, wrapped
from tritonsmith.data.lower.trace import Op, Untraceable, Value

MANY = 8
"""Parts of one size from which on they are stacked in a loop."""


def _over_elements(forward: Forward, op: Op, unit: Unit, sizes: list[str]) -> tuple[Kernel, Site, str]:
    """A kernel over the elements of the result, up to its mask; the site and the output's variable."""
    kernel = Kernel(forward.kernel_name(op.name))
    out = forward.allocate(unit.result, sizes)
    kernel.size("n", f"{out.name}.numel()")
    kernel.line("offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
    kernel.line("mask = offs < n")
    kernel.constant("BLOCK", "1024")
    kernel.grid = f"(triton.cdiv({out.name}.numel(), 1024),)"
    return kernel, Site(op.result.shape, out.name, "offs", "mask"), out.name


def _finish(forward: Forward, op: Op, unit: Unit, kernel: Kernel, site: Site, out: str, made: str, note: str) -> None:
    bound = {op.result: kernel.value(made)}
    compute(kernel, site, unit.group, forward.held, bound, forward.number)
    kernel.line(f"tl.store({kernel.pointer('out', out)} + offs, {bound[unit.result]}, mask=mask)")
    forward.notes.append(f"{kernel.name}: {note}")
    forward.emit(kernel)


def _shape(held: Held, dims: range) -> str:
    return " * ".join(held.size(d) for d in dims) or "1"


def emit_embedding(forward: Forward, op: Op, unit: Unit) -> None:
    """Rows of a table by index."""
    table, ids = forward.in_order(op.tensor("weight")), forward.in_order(op.tensor("indices"))
    sizes = [ids.size(d) for d in range(len(ids.shape))] + [table.size(1)]
    kernel, site, out = _over_elements(forward, op, unit, sizes)
    width = kernel.size("N", table.size(1))
    index = kernel.pointer("index", ids.name)
    weight = kernel.pointer(table.label, table.name)
    kernel.line(f"index = tl.load({index} + offs // {width}, mask=mask, other=0)")
    made = f"tl.load({weight} + index * {width} + offs % {width}, mask=mask, other=0.0).to(tl.float32)"
    _finish(forward, op, unit, kernel, site, out, made, "each element finds its row through the index")


def emit_gather(forward: Forward, op: Op, unit: Unit) -> None:
    """Elements along one dimension, by an index of the result's shape, or by one index for all (index_select)."""
    source, index = forward.in_order(op.tensor("self")), forward.in_order(op.tensor("index"))
    rank = len(source.shape)
    dim = int(str(op.args["dim"])) % rank
    whole = op.name == "gather"
    if whole and any(a != b for d, (a, b) in enumerate(zip(source.shape, index.shape, strict=True)) if d != dim):
        raise Untraceable("gather from a larger tensor")
    picked = index.size(dim) if whole else index.size(0)
    sizes = [picked if d == dim else source.size(d) for d in range(rank)]
    kernel, site, out = _over_elements(forward, op, unit, sizes)
    x, ids = kernel.pointer(source.label, source.name), kernel.pointer("index", index.name)
    inner = kernel.size("I", _shape(source, range(dim + 1, rank))) if dim + 1 < rank else ""
    k, r = kernel.size("K", picked), kernel.size("R", source.size(dim))
    place = f"offs // {inner}" if inner else "offs"
    kernel.line(f"index = tl.load({ids} + {'offs' if whole else f'{place} % {k}'}, mask=mask, other=0)")
    outer = f"offs // ({k} * {inner}) * {r}" if inner else f"offs // {k} * {r}"
    where = f"({outer} + index) * {inner} + offs % {inner}" if inner else f"{outer} + index"
    cast = ".to(tl.float32)" if source.floating else ""
    made = f"tl.load({x} + {where}, mask=mask, other=0.0){cast}"
    _finish(forward, op, unit, kernel, site, out, made, "each element finds its source through the index")


def emit_flip(forward: Forward, op: Op, unit: Unit) -> None:
    """One dimension backwards."""
    source = forward.in_order(op.tensor("self"))
    dims = op.args["dims"]
    rank = len(source.shape)
    if not isinstance(dims, list) or len(dims) != 1:
        raise Untraceable("flip over several dimensions")
    dim = dims[0] % rank
    kernel, site, out = _over_elements(forward, op, unit, [source.size(d) for d in range(rank)])
    x = kernel.pointer(source.label, source.name)
    r = kernel.size("R", source.size(dim))
    inner = kernel.size("I", _shape(source, range(dim + 1, rank))) if dim + 1 < rank else ""
    kernel.line(f"r = offs // {inner} % {r}" if inner else f"r = offs % {r}")
    back = f"({r} - 1 - 2 * r)"
    cast = ".to(tl.float32)" if source.floating else ""
    made = f"tl.load({x} + offs + {back}{f' * {inner}' if inner else ''}, mask=mask, other=0.0){cast}"
    _finish(forward, op, unit, kernel, site, out, made, "each element is read from the mirrored place")


def emit_roll(forward: Forward, op: Op, unit: Unit) -> None:
    """One dimension moved round."""
    source = forward.in_order(op.tensor("self"))
    dims, shifts = op.args["dims"], op.args["shifts"]
    rank = len(source.shape)
    if not isinstance(dims, list) or not isinstance(shifts, list) or len(dims) != 1:
        raise Untraceable("roll over several dimensions")
    dim = dims[0] % rank
    kernel, site, out = _over_elements(forward, op, unit, [source.size(d) for d in range(rank)])
    x = kernel.pointer(source.label, source.name)
    r = kernel.size("R", source.size(dim))
    shift = kernel.size("shift", f"{shifts[0]} % {source.size(dim)}")
    inner = kernel.size("I", _shape(source, range(dim + 1, rank))) if dim + 1 < rank else ""
    kernel.line(f"r = offs // {inner} % {r}" if inner else f"r = offs % {r}")
    back = f"(({r} + r - {shift}) % {r} - r)"
    cast = ".to(tl.float32)" if source.floating else ""
    made = f"tl.load({x} + offs + {back}{f' * {inner}' if inner else ''}, mask=mask, other=0.0){cast}"
    _finish(forward, op, unit, kernel, site, out, made, "each element is read from the place it came from")


def emit_cat(forward: Forward, op: Op, unit: Unit) -> None:
    """Tensors one after the other along a dimension: a launch for each."""
    given = op.args["tensors"]
    assert isinstance(given, list)
    parts: list[Value] = [one for one in given if isinstance(one, Value)]
    held = [forward.in_order(part) for part in parts]
    rank = len(parts[0].shape)
    dim = int(str(op.args["dim"])) % rank
    along = [one.size(dim) for one in held]
    sizes = [_sum(along) if d == dim else held[0].size(d) for d in range(rank)]
    out = forward.allocate(op.result, sizes)
    name = forward.kernel_name("cat")
    forward.notes.append(f"{name}: copies one part into its place, a launch a part")
    inner = _shape(held[0], range(dim + 1, rank))
    if len(held) > MANY and set(along) == {"1"}:
        _stacked(forward, name, held, out.name, _times(out.size(dim), inner), inner)
        return
    for place, (one, size) in enumerate(zip(held, along, strict=True)):
        shift = _times(_sum(along[:place]), inner) if place else "0"
        forward.emit(_part(name, one.name, out.name, _times(size, inner), _times(out.size(dim), inner), shift))


def _part(name: str, one: str, out: str, span: str, stride: str, shift: str) -> Kernel:
    """The kernel that copies one part into its place."""
    kernel = Kernel(name)
    kernel.line("offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
    kernel.line("mask = offs < n")
    kernel.line("x = tl.load(x_ptr + offs, mask=mask)")
    kernel.line("tl.store(out_ptr + offs // span * stride + offs % span + shift, x, mask=mask)")
    kernel.constant("BLOCK", "1024")
    kernel.pointers = {"x_ptr": one, "out_ptr": out}
    kernel.sizes = {"n": f"{one}.numel()", "span": span, "stride": stride, "shift": shift}
    kernel.grid = f"(triton.cdiv({one}.numel(), 1024),)"
    return kernel


def _stacked(forward: Forward, name: str, held: Sequence[Held], out: str, stride: str, inner: str) -> None:
    """A loop over parts of size one: the states of an unrolled recurrence are hundreds."""
    place, part = forward.local("place"), forward.local("part")
    names = [one.name for one in held]
    forward.lines += wrapped(f"for {place}, {part} in enumerate((", names, ")):")
    begin = len(forward.lines)
    forward.emit(_part(name, part, out, inner, stride, place if inner == "1" else f"{place} * {inner}"))
    forward.lines[begin:] = [f"    {line}" for line in forward.lines[begin:]]


def _sum(sizes: Sequence[str]) -> str:
    """Sizes added up, numbers at once: a stack of many has a one for each."""
    return add(*(("+", size) for size in sizes))


def _times(size: str, inner: str) -> str:
    if inner == "1":
        return size
    if size == "1":
        return inner
    return f"({size}) * {inner}" if "+" in size else f"{size} * {inner}"


ALONE = frozenset(("cat",))
"""These take no epilogue."""

EMITTERS: dict[str, Emitter] = {
    "embedding": emit_embedding,
    "gather": emit_gather,
    "index_select": emit_gather,
    "flip": emit_flip,
    "roll": emit_roll,
    "cat": emit_cat,
}
