"""Cumulative operators: a program goes along a row, or down columns, and carries the last value on."""

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op
from tritonsmith.data.lower.walk import Walk, dimensions, finish_rows


def emit_scan(forward: Forward, op: Op, unit: Unit) -> None:
    """cumsum and cumprod over `dim`."""
    source = op.tensor("self")
    kernel = Kernel(forward.kernel_name(op.name))
    walk = Walk(forward, kernel, op, source, dimensions(op, "dim", len(source.shape)), None)
    neutral, join = ("0.0", "+") if op.name == "cumsum" else ("1.0", "*")
    walk.begin()
    kernel.line(f"carry = tl.full((BLOCK,), {neutral}, dtype=tl.float32)" if walk.strided else f"carry = {neutral}")
    site = walk.loop()
    x = walk.element(site, neutral)
    carry = "carry[None, :]" if walk.strided else "carry"
    made = kernel.value(f"tl.{op.name}({x}, axis=0) {join} {carry}", 1)
    # What the last place of the block holds is carried on; places beyond the end leave it as it was.
    last = "r == start + BLOCK_R - 1" if walk.strided else "cols == start + BLOCK - 1"
    kernel.line(f"carry = tl.sum(tl.where({last}, {made}, 0.0), axis=0)", 1)
    finish_rows(forward, op, unit, walk, site, made)
    forward.notes.append(f"{kernel.name}: a scan inside each block, the last value carried into the next")
    forward.emit(kernel)


EMITTERS: dict[str, Emitter] = {"cumsum": emit_scan, "cumprod": emit_scan}
