"""Reductions: many elements into one, along a row, down columns, or all of a tensor."""

from dataclasses import dataclass

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.site import Site, compute
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Value
from tritonsmith.data.lower.walk import INFINITY, Walk, dimensions, peak, squares


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
        "tl.full({lanes}, -" + INFINITY + ", dtype=tl.float32)",
        "acc = tl.maximum(acc, {x})", "tl.max(acc, axis=0)", "-" + INFINITY,
    ),
    "amin": Reduction(
        "tl.full({lanes}, " + INFINITY + ", dtype=tl.float32)",
        "acc = tl.minimum(acc, {x})", "tl.min(acc, axis=0)", INFINITY,
    ),
    "prod": Reduction(
        "tl.full({lanes}, 1.0, dtype=tl.float32)",
        "acc *= {x}", "tl.reduce(acc, 0, multiply)", "1.0",
    ),
    "any": Reduction(
        "tl.zeros({lanes}, dtype=tl.int32)", "acc |= ({x} != 0).to(tl.int32)", "tl.max(acc, axis=0) != 0", "0"
    ),
    "norm2": Reduction("tl.zeros({lanes}, dtype=tl.float32)", "acc += {x} * {x}", "tl.sqrt(tl.sum(acc, axis=0))"),
    "norm1": Reduction("tl.zeros({lanes}, dtype=tl.float32)", "acc += tl.abs({x})", "tl.sum(acc, axis=0)"),
}  # fmt: skip


def emit_reduction(forward: Forward, op: Op, unit: Unit) -> None:
    """sum, mean, amax, amin, prod, any, norms over `dim`."""
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
    forward.notes.append(
        f"{kernel.name}: {_walked(walk)}, {'a flag a lane' if op.name == 'any' else 'float32 accumulators'}"
    )
    forward.emit(kernel)


def _accumulate(walk: Walk, rule: Reduction) -> None:
    walk.kernel.line(f"acc = {rule.start.format(lanes=walk.lanes)}")
    site = walk.loop()
    x = walk.element(site, rule.neutral)
    walk.kernel.line(rule.step.format(x=x), 1)


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
    parts = forward.local("parts")
    forward.lines.append(f"{parts} = min(triton.cdiv({first.name}.numel(), 1024), 1024)")
    partial = forward.scratch(parts, first)
    pointer = kernel.pointer("out", partial)
    kernel.line(f"tl.store({pointer} + pid, {plain})")
    kernel.constant("BLOCK", "1024")
    kernel.grid = f"({parts},)"
    forward.emit(kernel)
    last = Kernel(forward.kernel_name(op.name))
    last.pointer("part", partial)
    last.size("parts", parts)
    last.line("offs = tl.arange(0, BLOCK)")
    neutral = rule.neutral
    last.line(f"acc = tl.load(part_ptr + offs, mask=offs < parts, other={neutral})")
    count = last.size("n", f"{first.name}.numel()") if "{count}" in rule.finish else ""
    bound = {op.result: last.value(rule.finish.format(count=count))}
    site = Site(unit.result.shape, "", "0", None)
    compute(last, site, unit.group, forward.held, bound, forward.number)
    out = forward.allocate(unit.result, ["1"] * len(unit.result.shape))
    last.line(f"tl.store({last.pointer('out', out.name)}, {bound[unit.result]})")
    last.constant("BLOCK", "1024")
    last.grid = "(1,)"
    forward.notes.append(f"{kernel.name}: each program adds up a share of all elements; {last.name} joins the shares")
    forward.emit(last)


def _walked(walk: Walk) -> str:
    if walk.strided:
        return "a program walks down 64 columns in blocks of 16"
    return "a program walks along a row in blocks of 1024"


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


def emit_logsumexp(forward: Forward, op: Op, unit: Unit) -> None:
    """logsumexp over `dim`: the first walk of a softmax."""
    source = op.tensor("self")
    kernel = Kernel(forward.kernel_name("logsumexp"))
    walk = Walk(forward, kernel, op, source, dimensions(op, "dim", len(source.shape)), None)
    walk.begin()
    peak(walk)
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
    squares(walk)
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
    edge, better = (INFINITY, "<") if least else (f"-{INFINITY}", ">")
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


EMITTERS: dict[str, Emitter] = {
    **dict.fromkeys(REDUCTIONS, emit_reduction),
    "logsumexp": emit_logsumexp,
    "var": emit_variance,
    "std": emit_variance,
    "argmax": emit_arg,
    "argmin": emit_arg,
    "max_dim": emit_extreme_with_place,
    "min_dim": emit_extreme_with_place,
}
