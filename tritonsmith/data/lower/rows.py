"""Kernels that keep their rows' shape: softmax, log-softmax, layer normalisation."""

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.site import load
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Value
from tritonsmith.data.lower.walk import Walk, centre, dimensions, finish_rows, peak


def emit_softmax(forward: Forward, op: Op, unit: Unit) -> None:
    """softmax and log_softmax over `dim`: one walk for maximum and sum together, one to write."""
    source = op.tensor("self")
    dims = dimensions(op, "dim", len(source.shape))
    kernel = Kernel(forward.kernel_name(op.name))
    walk = Walk(forward, kernel, op, source, dims, unit.prologues.get("self"))
    walk.begin()
    peak(walk)
    site = walk.loop()
    x = walk.element(site, "0.0")
    top, total = ("top[None, :]", "total[None, :]") if walk.strided else ("top", "total")
    made = f"tl.exp({x} - {top}) / {total}" if op.name == "softmax" else f"{x} - {top} - tl.log({total})"
    finish_rows(forward, op, unit, walk, site, made)
    forward.notes.append(f"{kernel.name}: maximum and sum in one walk (online softmax), a second walk writes")
    forward.emit(kernel)


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


EMITTERS: dict[str, Emitter] = {
    "softmax": emit_softmax,
    "log_softmax": emit_softmax,
    "layer_norm": emit_layer_norm,
}
