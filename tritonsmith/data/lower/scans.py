"""Cumulative operators: a program goes along a row, or down columns, and carries the last value on."""

from dataclasses import dataclass

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op
from tritonsmith.data.lower.walk import INFINITY, Walk, dimensions, finish_rows


@dataclass(frozen=True)
class Scan:
    """A block's scan, joined with what came before it."""

    neutral: str
    made: str
    carried: str = "tl.sum(tl.where({last}, {made}, 0.0), axis=0)"
    """What the next block starts from: the value at the block's last place, which places beyond the end leave as it
    was."""
    helper: str = ""


def _running(name: str, neutral: str) -> Scan:
    """Of what only grows, or only falls, the last value is the extreme one."""
    join = f"""@triton.jit
def {name}_of_two(a, b):
    return tl.{name}(a, b)"""
    made = f"tl.{name}(tl.associative_scan({{x}}, 0, {name}_of_two), {{carry}})"
    return Scan(neutral, made, f"tl.{name[:3]}({{made}}, axis=0)", join)


SCANS: dict[str, Scan] = {
    "cumsum": Scan("0.0", "tl.cumsum({x}, axis=0) + {carry}"),
    "cumprod": Scan("1.0", "tl.cumprod({x}, axis=0) * {carry}"),
    "cummax": _running("maximum", f"-{INFINITY}"),
    "cummin": _running("minimum", INFINITY),
}


def emit_scan(forward: Forward, op: Op, unit: Unit) -> None:
    """cumsum, cumprod, and the values of cummax and cummin, over `dim`."""
    source, rule = op.tensor("self"), SCANS[op.name]
    kernel = Kernel(forward.kernel_name(op.name))
    walk = Walk(forward, kernel, op, source, dimensions(op, "dim", len(source.shape)), None)
    if rule.helper:
        forward.help(rule.helper)
    walk.begin()
    start = f"tl.full((BLOCK,), {rule.neutral}, dtype=tl.float32)" if walk.strided else rule.neutral
    kernel.line(f"carry = {start}")
    site = walk.loop()
    x = walk.element(site, rule.neutral)
    made = kernel.value(rule.made.format(x=x, carry="carry[None, :]" if walk.strided else "carry"), 1)
    last = "r == start + BLOCK_R - 1" if walk.strided else "cols == start + BLOCK - 1"
    kernel.line(f"carry = {rule.carried.format(last=last, made=made)}", 1)
    finish_rows(forward, op, unit, walk, site, made)
    forward.notes.append(f"{kernel.name}: a scan inside each block, the last value carried into the next")
    forward.emit(kernel)


EMITTERS: dict[str, Emitter] = dict.fromkeys(SCANS, emit_scan)
