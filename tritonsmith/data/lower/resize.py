"""Resizing, padding and shuffling: outputs that are read from elsewhere, or mixed from two neighbours an axis.

A program takes a block of outputs and finds where each comes from. Bicubic interpolation and antialiasing are not here.
"""

from collections.abc import Sequence
from itertools import product as every

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.site import Held
from tritonsmith.data.lower.spatial import (
    Flat,
    Window,
    add,
    as_argument,
    axes,
    begin,
    listed,
    per_axis,
    sizes,
    times,
)
from tritonsmith.data.lower.trace import Op, Untraceable, Value

# -- interpolation


def _factors(op: Op) -> list[float] | None:
    """How many times larger, where the task says so and not the size."""
    given = op.args.get("scale_factors")
    return [float(factor) for factor in given] if isinstance(given, (list, tuple)) and given else None


def _factor(forward: Forward, op: Op, axis: int) -> str:
    """The factor as `forward` writes it."""
    factors = _factors(op)
    assert factors is not None
    whole = factors[axis].is_integer()
    if op.owner:
        found = forward.expression(as_argument(op, scale_factor=factors), "scale_factor", axis)
        if found.startswith(op.owner):
            return f"int({found})" if whole else found
    given = int(factors[axis]) if whole else factors[axis]
    return forward.expression(as_argument(op, factor=given), "factor")


def _resized(forward: Forward, op: Op, x: Held) -> list[str]:
    """The output's spatial sizes."""
    rank = int(op.name[-2])
    inputs = [f"{x.name}.shape[{len(x.shape) - rank + axis}]" for axis in range(rank)]
    factors = _factors(op)
    if factors is None:
        return wanted_sizes(forward, op, x, "size")
    texts = [_factor(forward, op, axis) for axis in range(rank)]
    return [
        f"{i} * {text}" if factor.is_integer() else f"int({i} * {text})"
        for i, factor, text in zip(inputs, factors, texts, strict=True)
    ]


def wanted_sizes(forward: Forward, op: Op, x: Held, attribute: str) -> list[str]:
    """`output_size` as `forward` writes it; a size that the input has, or another input, follows from there."""
    given = listed(op, "output_size", int(op.name[-2]))
    lead = len(x.shape) - len(given)
    texts = []
    for axis, size in enumerate(given):
        if x.shape[lead + axis] == size:
            texts.append(f"{x.name}.shape[{lead + axis}]")
            continue
        text = forward.expression(as_argument(op, **{attribute: given}), attribute, axis)
        texts.append(_elsewhere(forward, size, lead + axis) if text.isdigit() else text)
    return texts


def _elsewhere(forward: Forward, size: int, dim: int) -> str:
    """A number that the task does not write: the size of another input, or the number after all."""
    if size not in forward.literals:
        for value in forward.program.inputs:
            if len(value.shape) > dim and value.shape[dim] == size:
                return f"{value.name}.shape[{dim}]"
    return str(size)


def _scales(forward: Forward, op: Op, flat: Flat, corners: bool) -> list[str]:
    """Parameters with the inputs' steps from an output to the next, as torch's area_pixel_compute_scale has them."""
    lead = len(flat.out.shape) - flat.rank
    factors, found = _factors(op), []
    for axis, a in enumerate(axes(flat.rank)):
        old, new = (f"{tensor.name}.shape[{lead + axis}]" for tensor in (flat.source, flat.out))
        if corners:
            text = f"({old} - 1) / max({new} - 1, 1)"
        elif factors is not None and not factors[axis].is_integer():
            text = f"1.0 / {_factor(forward, op, axis)}"
        else:
            text = f"{old} / {new}"
        found.append(flat.kernel.size(f"scale_{a}", text))
    return found


def emit_nearest(forward: Forward, op: Op, unit: Unit) -> None:
    """upsample_nearest and nearest-exact over one to three dimensions."""
    rank, exact = int(op.name[-2]), "exact" in op.name
    name = op.name.lstrip("_")
    flat = begin(forward, op, unit, name, op.tensor("input"), lambda x: _resized(forward, op, x), rank)
    factors = _factors(op)
    letters = axes(rank)
    if factors is not None and all(factor.is_integer() for factor in factors):
        texts = [_factor(forward, op, axis) for axis in range(rank)]
        scales = per_axis(flat.kernel, "SCALE", [int(factor) for factor in factors], texts, 1)
        at = [f"o{a} // {scale}" if scale else f"o{a}" for a, scale in zip(letters, scales, strict=True)]
    else:
        scales = _scales(forward, op, flat, corners=False)
        for a, scale, extent in zip(letters, scales, sizes(rank), strict=True):
            place = f"((o{a} + 0.5) * {scale})" if exact else f"(o{a} * {scale})"
            flat.line(f"i{a} = tl.minimum({place}.to(tl.int32), {extent} - 1)")
        at = [f"i{a}" for a in letters]
    x = flat.read(op, unit, flat.value(at))
    flat.finish(op, unit, x, "each copies the input that its coordinates, scaled down, fall on")


def emit_linear(forward: Forward, op: Op, unit: Unit) -> None:
    """Linear, bilinear and trilinear interpolation, with corners aligned or not."""
    rank, corners = int(op.name[-2]), bool(op.args["align_corners"])
    flat = begin(forward, op, unit, op.name, op.tensor("input"), lambda x: _resized(forward, op, x), rank)
    scales = _scales(forward, op, flat, corners)
    letters = axes(rank)
    for a, scale, extent in zip(letters, scales, sizes(rank), strict=True):
        place = f"o{a} * {scale}" if corners else f"tl.maximum((o{a} + 0.5) * {scale} - 0.5, 0.0)"
        flat.line(f"s{a} = {place}")
        flat.line(f"{a}0 = tl.minimum(s{a}.to(tl.int32), {extent} - 1)")
        flat.line(f"{a}1 = tl.minimum({a}0 + 1, {extent} - 1)")
        flat.line(f"w{a} = s{a} - {a}0")
    values = []
    for name, corner in zip("abcdefgh", every("01", repeat=rank), strict=False):
        flat.line(f"{name} = {flat.value([f'{a}{side}' for a, side in zip(letters, corner, strict=True)])}")
        values.append(name)
    for a in reversed(letters):
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [flat.kernel.value(f"{low} + w{a} * ({high} - {low})") for low, high in pairs]
    flat.finish(op, unit, values[0], f"each mixes {2**rank} inputs by its distance from them, weights in float32")


# -- padding

_FILLS = {
    "reflect": ["i{a} = tl.abs({at})", "i{a} = {n} - 1 - tl.abs({n} - 1 - i{a})"],
    "replicate": ["i{a} = tl.minimum(tl.maximum({at}, 0), {n} - 1)"],
    "circular": ["i{a} = ({at} + {n}) % {n}"],
}
"""Which input a place beyond the edges stands for."""


def emit_pad(forward: Forward, op: Op, unit: Unit) -> None:
    """pad with a constant, by reflection, by the edges, or around; negative amounts cut off."""
    amounts = op.args["pad"]
    assert isinstance(amounts, list)
    rank, mode = len(amounts) // 2, op.args["mode"]
    before, after = amounts[-2::-2], amounts[::-2]
    if rank > 3:
        raise Untraceable("padding of more than three dimensions")
    texts = _amounts(forward, op, amounts)
    lower, upper = texts[-2::-2], texts[::-2]

    def shape(x: Held) -> list[str]:
        lead = len(x.shape) - rank
        sides = enumerate(zip(lower, upper, strict=True))
        return [
            add(("+", f"{x.name}.shape[{lead + i}]"), *([("+", times("2", a))] if a == b else [("+", a), ("+", b)]))
            for i, (a, b) in sides
        ]

    flat = begin(forward, op, unit, f"{mode}_pad" if mode != "constant" else "pad", op.tensor("self"), shape, rank)
    pads = per_axis(flat.kernel, "PAD", before, lower, 0)
    window = Window([""] * rank, [""] * rank, pads, [""] * rank)
    touched = [axis for axis in range(rank) if before[axis] or after[axis]]
    conditions = []
    for axis, (a, n) in enumerate(zip(axes(rank), sizes(rank), strict=True)):
        plain = mode == "constant" or axis not in touched
        for text in [f"i{a} = {window.first(axis)}"] if plain else _FILLS[str(mode)]:
            flat.line(text.format(a=a, at=window.first(axis), n=n))
        if plain and axis in touched:
            conditions += [f"(i{a} >= 0)", f"(i{a} < {n})"]
    inside = "mask"
    if conditions:
        flat.line(f"inside = mask & {' & '.join(conditions)}")
        inside = "inside"
    x = flat.read(op, unit, flat.value([f"i{a}" for a in axes(rank)], inside, _fill(flat, op)))
    flat.finish(op, unit, x, "each finds the input it copies, or takes the fill" if conditions else _COPIES)


_COPIES = "each finds the input it copies"


def _fill(flat: Flat, op: Op) -> str:
    """What stands where there is no input."""
    value = op.args.get("value")
    if not flat.source.floating:
        return str(int(value)) if isinstance(value, (int, float)) else "0"
    return flat.forward.number(flat.kernel, op, "value", float(value)) if isinstance(value, (int, float)) else "0.0"


def _amounts(forward: Forward, op: Op, amounts: Sequence[int]) -> list[str]:
    """The amounts in torch's order, as `forward` writes them: a padding module has them so, a convolution an axis."""
    rank = len(amounts) // 2
    if op.owner and list(amounts[::2]) == list(amounts[1::2]):
        by_axis = as_argument(op, padding=list(amounts[-2::-2]))
        found = [forward.expression(by_axis, "padding", axis) for axis in range(rank)]
        if all(text.startswith(op.owner) for text in found):
            return [text for text in reversed(found) for _ in range(2)]
    by_side = as_argument(op, padding=list(amounts))
    return [forward.expression(by_side, "padding", place) for place in range(len(amounts))]


@rule("constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
@rule("replication_pad1d", "replication_pad2d", "replication_pad3d")
def _pad(op: Op, make: Maker) -> Value:
    """The forms of torch's second level."""
    modes = {"c": "constant", "f": "reflect", "p": "replicate"}
    amounts = op.args.get("pad", op.args.get("padding"))
    mode, value = modes[op.name[0 if op.name[0] == "c" else 2]], op.args.get("value")
    source = op.tensor("self")
    return make("pad", op.result.shape, op.result.dtype, self=source, pad=amounts, mode=mode, value=value)


# -- shuffles


def emit_pixel_shuffle(forward: Forward, op: Op, unit: Unit) -> None:
    """pixel_shuffle: (C r^2, H, W) -> (C, H r, W r)."""
    factor = forward.expression(op, "upscale_factor")

    def shape(x: Held) -> list[str]:
        return [f"{x.name}.shape[{d}] * {factor}" for d in (len(x.shape) - 2, len(x.shape) - 1)]

    source = op.tensor("self")
    x = forward.in_order(source)
    channels = f"{x.name}.shape[{len(source.shape) - 3}] // {factor}**2"
    flat = begin(forward, op, unit, "pixel_shuffle", source, shape, 2, channels=channels)
    flat.kernel.constant("R", factor)
    flat.line("channel = (plane * R + oy % R) * R + ox % R")
    x = flat.read(op, unit, flat.value(["oy // R", "ox // R"], plane="channel"))
    flat.finish(op, unit, x, "each finds its channel in its place within the R x R square")


def emit_pixel_unshuffle(forward: Forward, op: Op, unit: Unit) -> None:
    """pixel_unshuffle: (C, H r, W r) -> (C r^2, H, W)."""
    factor = forward.expression(op, "downscale_factor")

    def shape(x: Held) -> list[str]:
        return [f"{x.name}.shape[{d}] // {factor}" for d in (len(x.shape) - 2, len(x.shape) - 1)]

    source = op.tensor("self")
    x = forward.in_order(source)
    channels = f"{x.name}.shape[{len(source.shape) - 3}] * {factor}**2"
    flat = begin(forward, op, unit, "pixel_unshuffle", source, shape, 2, channels=channels)
    flat.kernel.constant("R", factor)
    flat.line("iy = oy * R + plane // R % R")
    flat.line("ix = ox * R + plane % R")
    x = flat.read(op, unit, flat.value(["iy", "ix"], plane="plane // (R * R)"))
    flat.finish(op, unit, x, "each finds its place within the R x R square in its channel")


def emit_channel_shuffle(forward: Forward, op: Op, unit: Unit) -> None:
    """channel_shuffle: (g, C / g) channels become (C / g, g)."""
    source = op.tensor("self")
    rank = len(source.shape) - 2
    groups = forward.expression(op, "groups")

    def shape(x: Held) -> list[str]:
        return [f"{x.name}.shape[{2 + axis}]" for axis in range(rank)]

    flat = begin(forward, op, unit, "channel_shuffle", source, shape, rank)
    flat.kernel.size("C", f"{flat.out.name}.shape[1]")
    flat.kernel.constant("GROUPS", groups)
    flat.line("channel = plane % C")
    flat.line("source = plane - channel + channel % GROUPS * (C // GROUPS) + channel // GROUPS")
    x = flat.read(op, unit, flat.value([f"o{a}" for a in axes(rank)], plane="source"))
    flat.finish(op, unit, x, "each copies from the channel that lands here")


EMITTERS: dict[str, Emitter] = {
    **{
        f"{name}{rank}d": emit_nearest for name in ("upsample_nearest", "_upsample_nearest_exact") for rank in (1, 2, 3)
    },
    **dict.fromkeys(("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), emit_linear),
    "pad": emit_pad,
    "pixel_shuffle": emit_pixel_shuffle,
    "pixel_unshuffle": emit_pixel_unshuffle,
    "channel_shuffle": emit_channel_shuffle,
}
