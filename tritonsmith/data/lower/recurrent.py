"""LSTM, GRU and plain recurrent networks: a layer's products with its inputs at once, then a launch a step of time.

A step's program makes a tile of the next state, rows of the batch by hidden units: it walks along the state before for
each gate, and the gates stay in registers. Dropout between layers, projections and packed sequences are left out.
"""

from dataclasses import dataclass

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Untraceable, Value

BLOCK_M, BLOCK_N, BLOCK_K = 16, 32, 32
"""Rows of the batch and hidden units of a tile, and how much of the state a step along it takes."""


@dataclass(frozen=True)
class Cell:
    """One kind of layer, as torch documents it."""

    gates: tuple[str, ...]
    """In the order in which the weights have them."""
    lines: tuple[str, ...]
    """From `x_g`, what the inputs give a gate, and `h_g`, what the state gives it, to the state `h`."""


CELLS: dict[str, Cell] = {
    "lstm": Cell(
        ("i", "f", "g", "o"),
        (
            "c = tl.sigmoid(x_f + h_f) * c + tl.sigmoid(x_i + h_i) * libdevice.tanh(x_g + h_g)",
            "h = tl.sigmoid(x_o + h_o) * libdevice.tanh(c)",
        ),
    ),
    "gru": Cell(
        ("r", "z", "n"),
        (
            "new = libdevice.tanh(x_n + tl.sigmoid(x_r + h_r) * h_n)",
            "h = new + tl.sigmoid(x_z + h_z) * (h - new)",
        ),
    ),
    "rnn_tanh": Cell(("h",), ("h = libdevice.tanh(x_h + h_h)",)),
    "rnn_relu": Cell(("h",), ("h = tl.maximum(x_h + h_h, 0.0)",)),
}


@rule("lstm", "gru", "rnn_tanh", "rnn_relu")
def _layers(op: Op, make: Maker) -> tuple[Value, ...]:
    """A `recurrent` operator for each layer and direction, a product in front of each."""
    if "input" not in op.args or len(op.tensor("input").shape) != 3:
        raise Untraceable("a recurrent network without a batch")
    layers, params, first = op.args["num_layers"], op.args["params"], op.args["hx"]
    assert isinstance(layers, int) and isinstance(params, (list, tuple))
    if op.args["train"] and op.args["dropout"] and layers > 1:
        raise Untraceable("random numbers")
    states = first if isinstance(first, (list, tuple)) else [first]
    directions, time = 1 + bool(op.args["bidirectional"]), 1 if op.args["batch_first"] else 0
    each = 4 if op.args["has_biases"] else 2
    x, ends = op.tensor("input"), [[] for _ in states]
    for layer in range(layers):
        made = []
        for direction in range(directions):
            place = layer * directions + direction
            own = [*params[place * each : (place + 1) * each], None, None]
            begin = [_first_state(make, state, place) for state in states]
            gates = make("linear", (*x.shape[:2], own[0].shape[0]), x.dtype, input=x, weight=own[0], bias=own[2])
            batch = begin[0].shape
            args = {"gates": gates, "h": begin[0], "c": begin[1] if len(begin) > 1 else None}
            args |= {"weight": own[1], "bias": own[3], "time": time, "backwards": direction == 1}
            out, cell = make.several(
                "recurrent", [(*x.shape[:2], batch[1]), batch], [x.dtype] * 2, kind=op.name, **args
            )
            made.append(out)
            last = make("select", batch, x.dtype, self=out, dim=time, index=0 if direction else -1)
            for end, value in zip(ends, (last, cell), strict=False):
                end.append(make("unsqueeze", (1, *batch), x.dtype, self=value, dim=0))
        x = made[0]
        if directions > 1:
            x = make("cat", (*x.shape[:2], 2 * x.shape[2]), x.dtype, tensors=made, dim=2)
    shapes = [one.shape for one in op.results[1:]]
    lasts = [make("cat", shape, x.dtype, tensors=end, dim=0) for shape, end in zip(shapes, ends, strict=True)]
    return x, *lasts


def _first_state(make: Maker, states: object, place: int) -> Value:
    """A layer's state before the first step; zeros that nobody gave are written, for steps read them from memory."""
    assert isinstance(states, Value)
    shape = states.shape[1:]
    known = make.producers.get(states)
    if known is not None and known.name == "full":
        return make("copy", shape, states.dtype, self=make("full", shape, states.dtype, **known.args))
    return make("select", shape, states.dtype, self=states, dim=0, index=place)


def emit_recurrent(forward: Forward, op: Op, unit: Unit) -> None:
    """A layer in one direction: a launch a step, in a loop of `forward`."""
    kind, time = str(op.args["kind"]), op.args["time"]
    assert isinstance(time, int)
    gates, h, weight = (forward.in_order(op.tensor(name)) for name in ("gates", "h", "weight"))
    c = forward.in_order(op.tensor("c")) if op.args["c"] is not None else None
    bias = forward.in_order(op.tensor("bias")) if op.args["bias"] is not None else None
    out = forward.allocate(op.results[0], [gates.size(0), gates.size(1), h.size(1)])
    after = forward.allocate(op.results[1], h) if c is not None else None
    step, state, memory = forward.local("step"), forward.fresh(), forward.fresh()
    kernel = Kernel(forward.kernel_name(f"{kind}_step"))
    at = f"select({time}, {step})"
    tensors = {"gates": f"{gates.name}.{at}", "h": state, "c": memory if c else "", "weight": weight.name}
    tensors |= {"bias": bias.name if bias else "", "out": f"{out.name}.{at}", "out_c": after.name if after else ""}
    kernel.pointers = {f"{name}_ptr": given for name, given in tensors.items() if given}
    kernel.sizes = {"B": h.size(0), "H": h.size(1), "stride_g": f"{gates.name}.stride({1 - time})"}
    kernel.sizes |= {"stride_h": f"{state}.stride(0)", "stride_o": f"{out.name}.stride({1 - time})"}
    for name, size in (("BLOCK_M", BLOCK_M), ("BLOCK_N", BLOCK_N), ("BLOCK_K", BLOCK_K)):
        kernel.constant(name, str(size))
    _write(kernel, kind, bias is not None)
    kernel.grid = f"(triton.cdiv({h.size(0)}, {BLOCK_M}), triton.cdiv({h.size(1)}, {BLOCK_N}))"
    forward.lines.append(f"{state} = {h.name}")
    if c is not None:
        forward.lines.append(f"{memory} = {c.name}")
    steps = f"range({gates.name}.shape[{time}])"
    forward.lines.append(f"for {step} in {f'reversed({steps})' if op.args['backwards'] else steps}:")
    tile = f"a tile of {BLOCK_M} rows x {BLOCK_N} units"
    forward.notes.append(f"{kernel.name}: a launch a step, {tile}, gates in registers")
    begin = len(forward.lines)
    forward.emit(kernel)
    forward.lines.append(f"{state} = {out.name}.{at}")
    if after is not None:
        forward.lines.append(f"{memory} = {after.name}")
    forward.lines[begin:] = [f"    {line}" for line in forward.lines[begin:]]


def _write(kernel: Kernel, kind: str, bias: bool) -> None:
    """The kernel's body."""
    cell = CELLS[kind]
    line = kernel.line
    line("rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]")
    line("rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]")
    for gate in cell.gates:
        line(f"h_{gate} = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
    line("for start in range(0, H, BLOCK_K):")
    line("rk = start + tl.arange(0, BLOCK_K)", 1)
    line("before = tl.load(h_ptr + rm * stride_h + rk[None, :], mask=(rm < B) & (rk[None, :] < H), other=0.0)", 1)
    line("keep = (rk[:, None] < H) & (rn < H)", 1)
    for place, gate in enumerate(cell.gates):
        line(f"w = tl.load(weight_ptr + ({_row(place)}) * H + rk[:, None], mask=keep, other=0.0)", 1)
        line(f'h_{gate} = tl.dot(before, w, h_{gate}, input_precision="ieee")', 1)
    line("mask = (rm < B) & (rn < H)")
    for place, gate in enumerate(cell.gates):
        line(f"x_{gate} = tl.load(gates_ptr + rm * stride_g + {_row(place)}, mask=mask, other=0.0).to(tl.float32)")
        if bias:
            line(f"h_{gate} += tl.load(bias_ptr + {_row(place)}, mask=rn < H, other=0.0).to(tl.float32)")
    if kind == "lstm":
        line("c = tl.load(c_ptr + rm * H + rn, mask=mask, other=0.0).to(tl.float32)")
    if kind == "gru":
        line("h = tl.load(h_ptr + rm * stride_h + rn, mask=mask, other=0.0).to(tl.float32)")
    for text in cell.lines:
        line(text)
    line("tl.store(out_ptr + rm * stride_o + rn, h, mask=mask)")
    if kind == "lstm":
        line("tl.store(out_c_ptr + rm * H + rn, c, mask=mask)")


def _row(place: int) -> str:
    """The row of a gate's weights for each hidden unit."""
    return {0: "rn", 1: "H + rn"}.get(place, f"{place} * H + rn")


EMITTERS: dict[str, Emitter] = {"recurrent": emit_recurrent}
