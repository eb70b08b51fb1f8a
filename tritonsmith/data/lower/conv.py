"""Convolutions, plain and transposed, over one, two or three dimensions.

In general an implicit matrix product: rows are output pixels, columns filters, and the inner dimension runs over
(channel, tap), so that what im2col would write to memory happens in the addresses of the loads. With one channel a
filter there is no product: a program then walks over the taps of a block of outputs. Winograd and FFT are not here,
and a transposed convolution with a stride multiplies by the zeros in between.
"""

from dataclasses import dataclass

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.site import Block, Held, Site, compute
from tritonsmith.data.lower.spatial import (
    Window,
    add,
    as_argument,
    axes,
    begin,
    listed,
    nested,
    per_axis,
    product,
    sizes,
    spatial_sizes,
    spelled,
    taps,
    times,
    unravel,
)
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Value

_TILE = 64
_INNER = 16
_NAMES = tuple(f"{name}{rank}d" for name in ("conv", "conv_transpose") for rank in (1, 2, 3))


@dataclass
class Conv:
    """A convolution's figures, as traced and as `forward` writes them."""

    forward: Forward
    op: Op
    rank: int
    x: Held
    weight: Held
    transposed: bool

    @property
    def groups(self) -> int:
        """Groups as traced."""
        given = self.op.args["groups"]
        assert isinstance(given, int)
        return given

    @property
    def pads(self) -> list[int]:
        """Padding before the first element."""
        if self.op.args["padding"] == "same":
            dilation = listed(self.op, "dilation", self.rank)
            return [d * (k - 1) // 2 for d, k in zip(dilation, self.taps, strict=True)]
        return [0] * self.rank if self.op.args["padding"] == "valid" else listed(self.op, "padding", self.rank)

    @property
    def taps(self) -> list[int]:
        """A filter's extent."""
        return list(self.weight.shape[2:])

    def text(self, name: str) -> list[str]:
        """An argument as `forward` writes it, a text an axis; what changes nothing as `0` or `1`."""
        trivial = 0 if "padding" in name else 1
        if name == "kernel_size":
            return [self._extent(axis) for axis in range(self.rank)]
        if name == "padding" and self.op.args["padding"] == "same":
            reach = zip(self.text("dilation"), self.text("kernel_size"), strict=True)
            return [f"{times(d, f'{k} - 1') if d != '1' else f'({k} - 1)'} // 2" for d, k in reach]
        given = self.pads if name == "padding" else listed(self.op, name, self.rank)
        plain = all(value == trivial for value in given)
        return [str(trivial)] * self.rank if plain else spelled(self.forward, self.op, name, self.rank)

    def _extent(self, axis: int) -> str:
        found = self.forward.expression(as_argument(self.op, kernel_size=self.taps), "kernel_size", axis)
        owned = self.op.owner is not None and found.startswith(self.op.owner)
        return found if owned else f"{self.weight.name}.shape[{2 + axis}]"

    def window(self, kernel: Kernel) -> Window:
        """Which pixels an output reads, with the kernel's compile-time parameters."""
        return Window(
            per_axis(kernel, "KERNEL", self.taps, self.text("kernel_size"), None),
            per_axis(kernel, "STRIDE", listed(self.op, "stride", self.rank), self.text("stride"), 1),
            per_axis(kernel, "PAD", self.pads, self.text("padding"), 0),
            per_axis(kernel, "DILATION", listed(self.op, "dilation", self.rank), self.text("dilation"), 1),
            self.transposed,
        )

    def sizes(self) -> list[str]:
        """The output's spatial sizes, as torch defines them for Conv and ConvTranspose."""
        names = ("kernel_size", "stride", "padding", "dilation")
        figures = list(zip(*(self.text(name) for name in names), strict=True))
        inputs = [f"{self.x.name}.shape[{2 + axis}]" for axis in range(self.rank)]
        if self.transposed:
            extra = self.text("output_padding")
            return [_spread(x, e, *one) for x, e, one in zip(inputs, extra, figures, strict=True)]
        if self.op.args["padding"] == "same":
            return inputs
        return [covered(x, *one) for x, one in zip(inputs, figures, strict=True)]

    @property
    def filters(self) -> str:
        """The number of filters, in `forward`."""
        if not self.transposed:
            return f"{self.weight.name}.shape[0]"
        one = f"{self.weight.name}.shape[1]"
        return one if self.groups == 1 else f"{one} * {self.forward.expression(self.op, 'groups')}"

    @property
    def kind(self) -> str:
        """The operator's name with its rank."""
        return f"conv{'_transpose' * self.transposed}{self.rank}d"


def covered(x: str, size: str, stride: str, pad: str, dilation: str) -> str:
    """How many windows fit: `(x + 2 * pad - dilation * (size - 1) - 1) // stride + 1`."""
    if size == stride and (pad, dilation) == ("0", "1"):
        return f"{x} // {size}"
    room = spare(x, size, pad, dilation)
    return add(*room, ("+", "1")) if stride == "1" else f"({add(*room)}) // {stride} + 1"


def spare(x: str, size: str, pad: str, dilation: str) -> list[tuple[str, str]]:
    """The terms of how far a window can move: `x + 2 * pad - dilation * (size - 1) - 1`."""
    if dilation == "1":
        return [("+", x), ("+", times("2", pad)), ("-", size)]
    return [("+", x), ("+", times("2", pad)), ("-", times(dilation, add(("+", size), ("-", "1")))), ("-", "1")]


def _spread(x: str, extra: str, size: str, stride: str, pad: str, dilation: str) -> str:
    """The reverse: `(x - 1) * stride - 2 * pad + dilation * (size - 1) + extra + 1`."""
    reach = [("+", size), ("-", "1")] if dilation == "1" else [("+", times(dilation, add(("+", size), ("-", "1"))))]
    begin = [("+", x), ("-", "1")] if stride == "1" else [("+", f"({x} - 1) * {stride}")]
    return add(*begin, ("-", times("2", pad)), *reach, ("+", extra), ("+", "1"))


def emit_conv(forward: Forward, op: Op, unit: Unit) -> None:
    """conv1d, conv2d, conv3d and their transposes, with strides, padding, dilation, groups and bias."""
    weight = op.tensor("weight")
    rank = len(weight.shape) - 2
    x = forward.in_order(op.tensor("input"))
    conv = Conv(forward, op, rank, x, forward.in_order(weight), "transpose" in op.name)
    one_channel = conv.groups == x.shape[1] and (weight.shape[1] == 1)
    if conv.groups > 1 and one_channel:
        _emit_depthwise(conv, unit)
    else:
        _emit_product(conv, unit)


# -- one channel a filter


def _emit_depthwise(conv: Conv, unit: Unit) -> None:
    op, rank = conv.op, conv.rank
    several = op.result.shape[1] != conv.x.shape[1]
    filters = conv.filters if several else ""
    name, source = f"depthwise_{conv.kind}", op.tensor("input")
    flat = begin(conv.forward, op, unit, name, source, lambda _: conv.sizes(), rank, channels=filters)
    kernel = flat.kernel
    window = conv.window(kernel)
    channels = kernel.size("C", f"{flat.out.name}.shape[1]")
    kernel.line("acc = tl.zeros((BLOCK,), dtype=tl.float32)")
    inside = taps(kernel, window)
    plane = (
        f"plane // {kernel.constant('FILTERS', f'{filters} // {flat.source.name}.shape[1]')}" if several else "plane"
    )
    kernel.line(f"x = {flat.value([f'i{a}' for a in axes(rank)], inside, plane=plane)}", rank)
    weight = kernel.pointer("weight", conv.weight.name)
    offset = nested(f"plane % {channels}", window.size, [f"k{a}" for a in axes(rank)])
    kernel.line(f"weight = tl.load({weight} + {offset}, mask=mask, other=0.0).to(tl.float32)", rank)
    kernel.line("acc += x * weight", rank)
    result = "acc"
    if isinstance(op.args.get("bias"), Value):
        bias = kernel.pointer("bias", conv.forward.held(op.tensor("bias")).name)
        kernel.line(f"bias = tl.load({bias} + plane % {channels}, mask=mask, other=0.0).to(tl.float32)")
        result = kernel.value("acc + bias")
    flat.finish(op, unit, result, "a loop over the taps of the channel's one filter, float32 accumulator")


# -- in general


def _emit_product(conv: Conv, unit: Unit) -> None:
    forward, op = conv.forward, conv.op
    kernel = Kernel(forward.kernel_name(conv.kind))
    kernel.pointer("x", conv.x.name)
    kernel.pointer("weight", conv.weight.name)
    if isinstance(op.args.get("bias"), Value):
        kernel.pointer("bias", forward.held(op.tensor("bias")).name)
    shape = spatial_sizes(forward, conv.sizes())
    out = forward.allocate(unit.result, [f"{conv.x.name}.shape[0]", conv.filters, *shape])
    pixels, launch = forward.local("pixels"), forward.local("grid")
    forward.lines.append(f"{pixels} = {out.name}.numel() // {out.name}.shape[1]")
    _sizes(conv, kernel, out, pixels)
    window = conv.window(kernel)
    for name, size in (("BLOCK_M", _TILE), ("BLOCK_N", _TILE), ("BLOCK_K", _INNER)):
        kernel.constant(name, str(size))
    _place(conv, kernel)
    _accumulate(conv, kernel, window)
    _finish(conv, unit, kernel, out)
    grid = [f"triton.cdiv({pixels}, {_TILE})", f"triton.cdiv({kernel.sizes['F']}, {_TILE})"]
    if conv.groups > 1:
        grid.append(forward.expression(op, "groups"))
    forward.lines.append(f"{launch} = ({', '.join(grid)})")
    kernel.grid = launch
    forward.notes.append(
        f"{kernel.name}: implicit matrix product of pixels x filters over (channel, tap), "
        f"tiles of {_TILE} x {_TILE} x {_INNER}, {'a group a program, ' * (conv.groups > 1)}"
        f"masks for edges{' and padding' * any(window.pad)}, float32 accumulator"
    )
    forward.emit(kernel)


def _sizes(conv: Conv, kernel: Kernel, out: Held, pixels: str) -> None:
    """Runtime sizes, in this order; C and F count within a group."""
    x, groups = conv.x.name, conv.groups
    kernel.size("pixels", pixels)
    split = f" // {conv.forward.expression(conv.op, 'groups')}" if groups > 1 else ""
    kernel.size("C", f"{x}.shape[1]{split}")
    for axis, name in enumerate(sizes(conv.rank)):
        kernel.size(name, f"{x}.shape[{2 + axis}]")
    kernel.size("F", f"{out.name}.shape[1]{split}")
    for axis, name in enumerate(sizes(conv.rank, "O")):
        kernel.size(name, f"{out.name}.shape[{2 + axis}]")
    if groups > 1:
        kernel.constant("GROUPS", conv.forward.expression(conv.op, "groups"))


def _place(conv: Conv, kernel: Kernel) -> None:
    """Which pixels and filters are a program's."""
    kernel.line("pixel = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)")
    kernel.line("filters = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)")
    if conv.groups > 1:
        kernel.line("group = tl.program_id(2)")
    image, *places = unravel("pixel", sizes(conv.rank, "O"))
    kernel.line(f"image = {image}")
    for letter, place in zip(axes(conv.rank), places, strict=True):
        kernel.line(f"o{letter} = {place}")


def _accumulate(conv: Conv, kernel: Kernel, window: Window) -> None:
    """The loop over channels and taps."""
    rank, grouped = conv.rank, conv.groups > 1
    volume = " * ".join(window.size)
    kernel.line(f"K = C * {volume}")
    kernel.line("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
    kernel.line("for start in range(0, K, BLOCK_K):")
    kernel.line("k = start + tl.arange(0, BLOCK_K)", 1)
    channel, *found = unravel("k", window.size)
    kernel.line(f"channel = {'group * C + ' * grouped}{channel}", 1)
    conditions = []
    for axis, tap in enumerate(found):
        begins, reaches = window.first(axis), window.reach(axis, tap)
        left = f"({begins})[:, None]" if " " in begins else f"{begins}[:, None]"
        lines, exists = window.read(axis, f"{left} {'-' if window.transposed else '+'} ({reaches})[None, :]")
        conditions += exists
        for line in lines:
            kernel.line(line, 1)
    kernel.line("inside = (pixel[:, None] < pixels) & (k[None, :] < K)", 1)
    if conditions:
        kernel.line(f"inside &= {' & '.join(conditions)}", 1)
    images = f"image[:, None] * {'(GROUPS * C)' if grouped else 'C'} + channel[None, :]"
    offset = nested(images, sizes(rank), [f"i{a}" for a in axes(rank)])
    kernel.line(f"patch = tl.load(x_ptr + {offset}, mask=inside, other=0.0)", 1)
    kernel.line("keep = (k[:, None] < K) & (filters[None, :] < F)", 1)
    if window.transposed:
        kernel.line(f"tap = k % {product(window.size)}", 1)
    kernel.line(f"weight = tl.load(weight_ptr + {_weight_offset(conv, window)}, mask=keep, other=0.0)", 1)
    kernel.line('acc = tl.dot(patch, weight, acc, input_precision="ieee")', 1)


def _weight_offset(conv: Conv, window: Window) -> str:
    """A filter's element: filters lead, but in transposed convolutions channels do."""
    if not conv.transposed:
        return f"{_filters(conv)} * K + k[:, None]"
    return f"(channel[:, None] * F + filters[None, :]) * {product(window.size)} + tap[:, None]"


def _filters(conv: Conv) -> str:
    return "(group * F + filters)[None, :]" if conv.groups > 1 else "filters[None, :]"


def _finish(conv: Conv, unit: Unit, kernel: Kernel, out: Held) -> None:
    """Bias, epilogue, store."""
    forward, op = conv.forward, conv.op
    outs = sizes(conv.rank, "O")
    grouped = conv.groups > 1
    if grouped:
        kernel.line("channel = group * F + filters")
    filters, every = ("channel", "(GROUPS * F)") if grouped else ("filters", "F")
    keep = "filters < F"
    kernel.line(f"mask = (pixel[:, None] < pixels) & ({keep})[None, :]")
    plane = product(outs)
    kernel.line(f"offs = (image[:, None] * {every} + {filters}[None, :]) * {plane} + (pixel % {plane})[:, None]")
    result = "acc"
    if isinstance(op.args.get("bias"), Value):
        pointer = kernel.pointer("bias", forward.held(op.tensor("bias")).name)
        kernel.line(f"bias = tl.load({pointer} + {filters}, mask={keep}, other=0.0).to(tl.float32)")
        result = kernel.value("acc + bias[None, :]")

    def coordinates(layout: list[Block]) -> tuple[str, str | None] | None:
        full = {d for block in layout if block.full for d in block.dims}
        spatial = set(range(2, 2 + conv.rank))
        if full == {1}:
            return f"{filters}[None, :]", f"({keep})[None, :]"
        if full == {0, 1}:
            return f"image[:, None] * {every} + {filters}[None, :]", "mask"
        if full == spatial:
            return f"(pixel % {plane})[:, None]", "mask"
        if full == {0} | spatial:
            return "pixel[:, None]", "mask"
        return None

    site = Site(unit.result.shape, out.name, "offs", "mask", coordinates=coordinates)
    bound: dict[Value, str] = {op.result: result}
    compute(kernel, site, unit.group, forward.held, bound, forward.number)
    kernel.line(f"tl.store({kernel.pointer('out', out.name)} + offs, {bound[unit.result]}, mask=mask)")


# -- other spellings


@rule(*_NAMES)
def _batched(op: Op, make: Maker) -> Value | None:
    """One image alone becomes a batch of one."""
    source, weight = op.tensor("input"), op.tensor("weight")
    if len(source.shape) == len(weight.shape):
        return None
    batch = make("unsqueeze", (1, *source.shape), source.dtype, self=source, dim=0)
    made = make(op.name, (1, *op.result.shape), op.result.dtype, **{**op.args, "input": batch})
    return make("squeeze", op.result.shape, op.result.dtype, self=made, dim=0)


@rule("convolution")
def _convolution(op: Op, make: Maker) -> Value:
    """torch's common form of all of them."""
    rank = len(op.tensor("weight").shape) - 2
    name = f"conv{'_transpose' * bool(op.args['transposed'])}{rank}d"
    return make(name, op.result.shape, op.result.dtype, **op.args)


EMITTERS: dict[str, Emitter] = dict.fromkeys(_NAMES, emit_conv)
