"""Pooling: the maximum or the mean of windows, of fixed or adaptive size.

A program takes a block of outputs and walks over their windows. Windows overlap in the cache, not in shared memory.
Positions of maxima are given where windows are fixed.
"""

from dataclasses import replace

from tritonsmith.data.lower.conv import covered, spare
from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.resize import wanted_sizes
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.site import Held
from tritonsmith.data.lower.spatial import (
    Flat,
    Window,
    add,
    axes,
    begin,
    listed,
    nested,
    per_axis,
    product,
    sizes,
    spelled,
    taps,
)
from tritonsmith.data.lower.trace import Op, Value

_INFINITY = 'float("inf")'


def _rank(op: Op) -> int:
    """Spatial dimensions, out of the operator's name."""
    return int(op.name[-2])


def _listed(op: Op, name: str, default: int | None = None) -> list[int]:
    """A window's figure per axis, where torch may leave it out: no stride is the kernel's size."""
    if op.args.get(name) in (None, []):
        return _listed(op, "kernel_size") if default is None else [default] * _rank(op)
    return listed(op, name, _rank(op))


def _spelled(forward: Forward, op: Op, name: str, default: int | None = None) -> list[str]:
    if op.args.get(name) in (None, []) and default is None:
        return _spelled(forward, op, "kernel_size")
    given = _listed(op, name, default)
    return [str(default)] * len(given) if set(given) == {default} else spelled(forward, op, name, len(given))


def _window(flat: Flat, op: Op) -> Window:
    def figure(stem: str, name: str, default: int | None, trivial: int | None) -> list[str]:
        texts = _spelled(flat.forward, op, name, default)
        return per_axis(flat.kernel, stem, _listed(op, name, default), texts, trivial)

    size = figure("KERNEL", "kernel_size", None, None)
    stride = figure("STRIDE", "stride", None, 1)
    return Window(size, stride, figure("PAD", "padding", 0, 0), figure("DILATION", "dilation", 1, 1))


def _pooled(forward: Forward, op: Op, x: Held) -> list[str]:
    """The output's spatial sizes; with ceil_mode a last window may hang over, but begins inside."""
    rank = _rank(op)
    figures = [
        _spelled(forward, op, "kernel_size"),
        _spelled(forward, op, "stride") if set(_listed(op, "stride")) != {1} else ["1"] * rank,
        _spelled(forward, op, "padding", 0),
        _spelled(forward, op, "dilation", 1),
    ]
    lead = len(x.shape) - rank
    return [
        covered(f"{x.name}.shape[{lead + axis}]", *(texts[axis] for texts in figures))
        if not op.args["ceil_mode"] or figures[1][axis] == "1"
        else _hanging(op, axis, f"{x.name}.shape[{lead + axis}]", *(texts[axis] for texts in figures))
        for axis in range(rank)
    ]


def _hanging(op: Op, axis: int, x: str, size: str, stride: str, pad: str, dilation: str) -> str:
    """How many windows begin inside the input or the padding before it, and reach as far as they must."""
    windows = f"triton.cdiv({add(*spare(x, size, pad, dilation))}, {stride}) + 1"
    extent = _listed(op, "dilation", 1)[axis] * (_listed(op, "kernel_size")[axis] - 1) + 1
    if extent >= _listed(op, "stride")[axis] + _listed(op, "padding", 0)[axis]:
        return windows  # the last window begins inside
    return f"min({windows}, triton.cdiv({add(('+', x), ('+', pad))}, {stride}))"


def _begin(forward: Forward, op: Op, unit: Unit) -> Flat:
    source = op.tensor("self")
    return begin(forward, op, unit, op.name, source, lambda x: _pooled(forward, op, x), _rank(op))


def _max_window(flat: Flat, op: Op) -> Window:
    window = _window(flat, op)
    if op.args["ceil_mode"] and not any(window.pad):
        return replace(window, bounded=True)
    return window


def _read(flat: Flat, inside: str) -> None:
    """Load a tap of a maximum; what is outside the input never is one."""
    inputs = [f"i{a}" for a in axes(flat.rank)]
    flat.line(f"x = {flat.value(inputs, inside, f'-{_INFINITY}')}", flat.rank)


def emit_max_pool(forward: Forward, op: Op, unit: Unit) -> None:
    """max_pool1d, 2d, 3d: padding counts as minus infinity."""
    flat = _begin(forward, op, unit)
    window = _max_window(flat, op)
    flat.line(f"acc = tl.full((BLOCK,), -{_INFINITY}, dtype=tl.float32)")
    _read(flat, taps(flat.kernel, window))
    flat.line("acc = tl.maximum(acc, x)", flat.rank)
    flat.finish(op, unit, "acc", "the maximum over each window, nothing read outside the input")


def emit_max_pool_places(forward: Forward, op: Op, unit: Unit) -> None:
    """The same with where each maximum is, the first of equal ones: an index into its plane."""
    flat = _begin(forward, op, unit)
    window = _max_window(flat, op)
    out = forward.allocate(op.results[1], flat.out)
    flat.line(f"acc = tl.full((BLOCK,), -{_INFINITY}, dtype=tl.float32)")
    flat.line("index = tl.zeros((BLOCK,), dtype=tl.int32)")
    _read(flat, taps(flat.kernel, window))
    first, *later = [f"i{a}" for a in axes(flat.rank)]
    flat.line(f"index = tl.where(x > acc, {nested(first, sizes(flat.rank)[1:], later)}, index)", flat.rank)
    flat.line("acc = tl.maximum(acc, x)", flat.rank)
    flat.line(f"tl.store({flat.kernel.pointer('out_places', out.name)} + offs, index, mask=mask)")
    flat.finish(op, unit, "acc", "the maximum over each window and the place of the first such element")


def emit_avg_pool(forward: Forward, op: Op, unit: Unit) -> None:
    """avg_pool1d, 2d, 3d: what is divided by are the window's elements, with or without padding."""
    flat = _begin(forward, op, unit)
    window = _window(flat, op)
    hangs, padded = bool(op.args["ceil_mode"]), any(window.pad)
    override = op.args.get("divisor_override")
    inner = not op.args["count_include_pad"] and (padded or hangs) and override is None
    window = Window(window.size, window.stride, window.pad, window.dilation, bounded=hangs)
    flat.line("acc = tl.zeros((BLOCK,), dtype=tl.float32)")
    if inner:
        flat.line("cells = tl.zeros((BLOCK,), dtype=tl.float32)")
    inside = taps(flat.kernel, window)
    flat.line(f"acc += {flat.value([f'i{a}' for a in axes(flat.rank)], inside)}", flat.rank)
    if inner:
        flat.line("cells += tl.where(inside, 1.0, 0.0)", flat.rank)
        divisor = "tl.maximum(cells, 1.0)"
    elif override is not None:
        divisor = forward.number(flat.kernel, op, "divisor_override", override)
    elif hangs:
        divisor = product([f"rows_{a}" for a in axes(flat.rank)])
        for axis, (a, extent) in enumerate(zip(axes(flat.rank), sizes(flat.rank), strict=True)):
            limit = f"{extent} + {window.pad[axis]}" if window.pad[axis] else extent
            start = window.first(axis)
            flat.line(f"rows_{a} = tl.minimum({start} + {window.size[axis]}, {limit}) - ({start})")
    else:
        divisor = product(window.size)
    flat.line(f"mean = acc / {divisor}")
    flat.finish(op, unit, "mean", "the sum over each window in float32, divided by its elements")


# -- adaptive


def emit_adaptive(forward: Forward, op: Op, unit: Unit) -> None:
    """Adaptive pooling: output i takes the inputs from floor(i H / OH) to ceil((i + 1) H / OH)."""
    rank, maximum = _rank(op), "max" in op.name
    name = op.name.replace("_values", "")
    flat = begin(
        forward, op, unit, name, op.tensor("self"), lambda x: wanted_sizes(forward, op, x, "output_size"), rank
    )
    letters = axes(rank)
    for a, extent, out in zip(letters, sizes(rank), sizes(rank, "O"), strict=True):
        flat.line(f"first_{a} = o{a} * {extent} // {out}")
        flat.line(f"last_{a} = ((o{a} + 1) * {extent} + {out} - 1) // {out}")
    start = f"tl.full((BLOCK,), -{_INFINITY}, dtype=tl.float32)" if maximum else "tl.zeros((BLOCK,), dtype=tl.float32)"
    flat.line(f"acc = {start}")
    for axis, (a, extent, out) in enumerate(zip(letters, sizes(rank), sizes(rank, "O"), strict=True)):
        # A window that begins between two multiples takes one element more.
        flat.line(f"for k{a} in range(tl.cdiv({extent}, {out}) + 1):", axis)
    for a in letters:
        flat.line(f"i{a} = first_{a} + k{a}", rank)
    conditions = [f"(i{a} < last_{a})" for a in letters]
    flat.line(f"inside = {' & '.join(['mask', *conditions])}", rank)
    inputs = [f"i{a}" for a in letters]
    if maximum:
        flat.line(f"x = {flat.value(inputs, 'inside', f'-{_INFINITY}')}", rank)
        flat.line("acc = tl.maximum(acc, x)", rank)
        flat.finish(op, unit, "acc", "the maximum over windows whose edges follow from the two sizes")
        return
    flat.line(f"acc += {flat.value(inputs, 'inside')}", rank)
    divisor = product([f"(last_{a} - first_{a})" for a in letters])
    flat.line(f"mean = acc / {divisor}")
    flat.finish(op, unit, "mean", "the mean of windows whose edges follow from the two sizes")


# -- other spellings


@rule("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _global_mean(op: Op, make: Maker) -> Value | None:
    """To one element: the mean of the last dimensions."""
    return _global(op, make, "mean")


def _global(op: Op, make: Maker, name: str) -> Value | None:
    rank, source = _rank(op), op.tensor("self")
    if set(listed(op, "output_size", rank)) != {1}:
        return None
    dims = list(range(len(source.shape) - rank, len(source.shape)))
    return make(name, op.result.shape, op.result.dtype, self=source, dim=dims, keepdim=True)


@rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(op: Op, make: Maker) -> tuple[Value, ...]:
    found = _global(op, make, "amax")
    name = op.name.replace("max_pool", "max_pool_values")
    return (found or make(name, op.result.shape, op.result.dtype, **op.args),)


@rule("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def _values_alone(op: Op, make: Maker) -> tuple[Value, ...]:
    """The values alone, where nobody reads the places."""
    name = op.name.removesuffix("_with_indices")
    if op.results[1] not in make.read:
        return (make(name, op.result.shape, op.result.dtype, **op.args),)
    shapes, kinds = [one.shape for one in op.results], [one.dtype for one in op.results]
    return make.several(name.replace("pool", "pool_places"), shapes, kinds, **op.args)


ALONE = frozenset(f"max_pool_places{rank}d" for rank in (1, 2, 3))
"""These take no epilogue: what comes out are two tensors."""

EMITTERS: dict[str, Emitter] = {
    **{f"max_pool{rank}d": emit_max_pool for rank in (1, 2, 3)},
    **dict.fromkeys(ALONE, emit_max_pool_places),
    **{f"avg_pool{rank}d": emit_avg_pool for rank in (1, 2, 3)},
    **{f"adaptive_avg_pool{rank}d": emit_adaptive for rank in (1, 2, 3)},
    **{f"adaptive_max_pool_values{rank}d": emit_adaptive for rank in (1, 2, 3)},
}
