"""Normalisations over something else than the last dimensions: by group, by channel, by batch."""

from collections.abc import Sequence

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Untraceable, Value
from tritonsmith.data.lower.walk import Walk, centre, finish_rows


def emit_group_norm(forward: Forward, op: Op, unit: Unit) -> None:
    """group_norm: a program takes a group, whose channels lie one after the other; a group a channel: instance_norm."""
    source = op.tensor("input")
    rank = len(source.shape)
    instance = op.args["num_groups"] is None
    kernel = Kernel(forward.kernel_name("instance_norm" if instance else "group_norm"))
    held = forward.in_order(source)
    groups = held.size(1) if instance else forward.expression(op, "num_groups")
    pixels = " * ".join(held.size(d) for d in range(2, rank))
    share = f"{held.name}.shape[1] // {groups}"
    kernel.size("N", pixels if instance else f"{share} * {pixels}" if pixels else share)
    walk = Walk(forward, kernel, op, source, tuple(range(1, rank)), None, parts=True)
    kernel.line("row = tl.program_id(0)")
    centre(walk, forward.number(kernel, op, "eps", op.args["eps"]))
    site = walk.loop()
    x = walk.element(site, "0.0")
    made = f"({x} - mean) * rstd"
    affine = isinstance(op.args.get("weight"), Value)
    if affine and instance:
        kernel.line(f"channel = row % {kernel.size('C', groups)}", 1)
    elif affine:
        inner = f" // {kernel.size('P', pixels)}" if pixels else ""
        kernel.line(f"channel = row % {kernel.size('G', groups)} * {kernel.size('C', share)} + cols{inner}", 1)
    for name, sign in (("weight", "*"), ("bias", "+")):
        if isinstance(op.args.get(name), Value):
            given = forward.in_order(op.tensor(name))
            pointer = kernel.pointer(given.label, given.name)
            masked = "" if instance else ", mask=mask, other=0.0"
            held_here = pointer.removesuffix("_ptr")
            kernel.line(f"{held_here} = tl.load({pointer} + channel{masked}).to(tl.float32)", 1)
            made = f"{made} {sign} {held_here}"
    finish_rows(forward, op, unit, walk, site, made)
    kernel.grid = f"({held.name}.shape[0] * {groups},)"
    forward.notes.append(f"{kernel.name}: a program a group, two walks for mean and variance, a third writes")
    forward.emit(kernel)


def emit_channel_stats(forward: Forward, op: Op, unit: Unit) -> None:
    """Mean and reciprocal deviation of each channel over batch and space: rows first, then rows joined.

    The squares are of values centred by their own row; joining adds what the rows' means differ by
    (Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance", eq. 2.1).
    """
    source = op.tensor("self")
    rank = len(source.shape)
    held = forward.in_order(source)
    kernel = Kernel(forward.kernel_name("row_stats"))
    walk = Walk(forward, kernel, op, source, tuple(range(2, rank)), None)
    rows = f"{held.name}.shape[0] * {held.name}.shape[1]"
    means, squares = forward.scratch(rows, held), forward.scratch(rows, held)
    if rank > 2:
        walk.begin()
        kernel.line("acc = tl.zeros((BLOCK,), dtype=tl.float32)")
        kernel.line(f"acc += {walk.element(walk.loop(), '0.0')}", 1)
        kernel.line("mean = tl.sum(acc, axis=0) / N")
        kernel.line("acc = tl.zeros((BLOCK,), dtype=tl.float32)")
        x = walk.element(walk.loop(), "0.0")
        kernel.line(f"{x} = tl.where(mask, {x} - mean, 0.0)", 1)
        kernel.line(f"acc += {x} * {x}", 1)
        kernel.line(f"tl.store({kernel.pointer('out_mean', means)} + row, mean)")
        kernel.line(f"tl.store({kernel.pointer('out_square', squares)} + row, tl.sum(acc, axis=0))")
        kernel.constant("BLOCK", "1024")
        kernel.grid = f"({rows},)"
        forward.emit(kernel)
    mean, rstd = (forward.allocate(result, [held.size(1)]) for result in op.results)
    join = Kernel(forward.kernel_name("channel_stats"))
    join.pointer("mean", means if rank > 2 else held.name)
    if rank > 2:
        join.pointer("square", squares)
    join.size("B", held.size(0))
    join.size("C", held.size(1))
    if rank > 2:
        join.size("N", " * ".join(held.size(d) for d in range(2, rank)))
    eps = forward.number(join, op, "eps", op.args["eps"])
    join.line("channel = tl.program_id(0)")
    _joined(join, "N" if rank > 2 else "1")
    join.line(f"tl.store({join.pointer('out_mean', mean.name)} + channel, mean)")
    join.line(f"tl.store({join.pointer('out_rstd', rstd.name)} + channel, tl.rsqrt(total / B + {eps}))")
    join.constant("BLOCK", "1024")
    join.grid = f"({held.name}.shape[1],)"
    forward.notes.append(f"{join.name}: joins the rows' means and squares of a channel, so that nothing cancels")
    forward.emit(join)


def _joined(kernel: Kernel, each: str) -> None:
    """mean, and total: the mean square a sample times the batch, from the rows' figures."""
    loop = "for start in range(0, B, BLOCK):"
    head = ("row = start + tl.arange(0, BLOCK)", "mask = row < B")
    read = "tl.load({0}_ptr + row * C + channel, mask=mask, other=0.0).to(tl.float32)"
    kernel.line("acc = tl.zeros((BLOCK,), dtype=tl.float32)")
    kernel.line(loop)
    for line in (*head, f"acc += {read.format('mean')}"):
        kernel.line(line, 1)
    kernel.line("mean = tl.sum(acc, axis=0) / B")
    kernel.line("acc = tl.zeros((BLOCK,), dtype=tl.float32)")
    kernel.line(loop)
    for line in (*head, f"gap = tl.where(mask, {read.format('mean')} - mean, 0.0)", "acc += gap * gap"):
        kernel.line(line, 1)
    if each == "N":
        kernel.line(f"acc += {read.format('square')} / N", 1)
    kernel.line("total = tl.sum(acc, axis=0)")


@rule("batch_norm", "_native_batch_norm_legit", "native_batch_norm")
def _batch_norm(op: Op, make: Maker) -> Value | None:
    source = op.tensor("input")
    channel = (source.shape[1],) + (1,) * (len(source.shape) - 2)
    eps = op.args["eps"]
    if op.args["training"]:
        stats = make.several("channel_stats", [channel[:1], channel[:1]], self=source, eps=eps)
        mean, rstd = (make.shaped(one, channel) for one in stats)
    else:
        mean = make.shaped(op.tensor("running_mean"), channel)
        variance = make.shaped(op.tensor("running_var"), channel)
        moved = make("add", channel, self=variance, other=eps, alpha=1)
        rstd = make("rsqrt", channel, self=moved)
    centred = make("sub", source.shape, source.dtype, self=source, other=mean, alpha=1)
    made = make("mul", source.shape, source.dtype, self=centred, other=rstd)
    return _affine(op, make, made, channel)


def _affine(op: Op, make: Maker, made: Value, shape: Sequence[int]) -> Value:
    for name, action in (("weight", "mul"), ("bias", "add")):
        if isinstance(op.args.get(name), Value):
            given = make.shaped(op.tensor(name), tuple(shape))
            extra = {"alpha": 1} if action == "add" else {}
            made = make(action, made.shape, made.dtype, self=made, other=given, **extra)
    return made


@rule("instance_norm")
def _instance_norm(op: Op, make: Maker) -> Value:
    source = op.tensor("input")
    if not op.args["use_input_stats"]:
        raise Untraceable("instance norm by stored statistics")
    given = {name: op.args[name] for name in ("weight", "bias", "eps")}
    return make("group_norm", source.shape, source.dtype, input=source, num_groups=None, **given)


@rule("rms_norm")
def _rms_norm(op: Op, make: Maker) -> Value:
    source = op.tensor("input")
    shape = op.args["normalized_shape"]
    assert isinstance(shape, list)
    rank = len(source.shape)
    dims = list(range(rank - len(shape), rank))
    kept = tuple(1 if d in dims else size for d, size in enumerate(source.shape))
    square = make("square", source.shape, source.dtype, self=source)
    mean = make("mean", kept, source.dtype, self=square, dim=dims, keepdim=True)
    eps = 1.1920928955078125e-07 if op.args["eps"] is None else op.args["eps"]
    moved = make("add", kept, source.dtype, self=mean, other=eps, alpha=1)
    scaled = make("mul", source.shape, source.dtype, self=source, other=make("rsqrt", kept, source.dtype, self=moved))
    if not isinstance(op.args.get("weight"), Value):
        return scaled
    return make("mul", source.shape, source.dtype, self=scaled, other=op.tensor("weight"))


EMITTERS: dict[str, Emitter] = {"group_norm": emit_group_norm, "channel_stats": emit_channel_stats}
