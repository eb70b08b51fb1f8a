"""Attention in one kernel: scores, an online softmax and the weighted sum of values, block of keys by block of keys.

The online softmax is FlashAttention's (Dao et al., 2022, algorithm 1): the maximum so far is kept and what was summed
under an older one is scaled down. Heads too wide for a tile become a product, a softmax and a product. Dropout and
grouped queries are left out.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import torch

from tritonsmith.data.lower.forward import Emitter, Forward
from tritonsmith.data.lower.matmul import MAX_GRID, Factor, Tile, advance, product
from tritonsmith.data.lower.schedule import Unit
from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.site import Site, compute, load
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Program, Untraceable, Value, prune

BLOCK_M, BLOCK_N = 64, 32
"""Queries and keys of a tile."""
MAX_HEAD = 128
"""Widest head that is kept in a tile."""


@rule("scaled_dot_product_attention")
def _attention(op: Op, make: Maker) -> Value | None:
    """Wide heads in three steps; a mask that is a lower triangle is causality."""
    q, k, v = (op.tensor(name) for name in ("query", "key", "value"))
    mask, causal, scale = op.args.get("attn_mask"), op.args.get("is_causal"), op.args.get("scale")
    if op.args.get("dropout_p") or op.args.get("enable_gqa"):
        raise Untraceable("attention with dropout or grouped queries")
    if isinstance(mask, Value) and mask.dtype == torch.bool and is_future(make.producers, mask, later=False):
        args = {**op.args, "attn_mask": None, "is_causal": True}
        return make(op.name, op.result.shape, op.result.dtype, **args)
    if q.shape[-1] <= MAX_HEAD and q.shape[-1] == v.shape[-1]:
        return None
    shape = (*op.result.shape[:-1], k.shape[-2])
    turned = make("mT", (*k.shape[:-2], k.shape[-1], k.shape[-2]), k.dtype, self=k)
    # scores stay float32, as in torch's fused attention: their differences are what softmax takes exponents of
    made = make("matmul", shape, torch.float32, self=q, other=turned)
    made = make.exact("mul", shape, self=made, other=scale if scale is not None else q.shape[-1] ** -0.5)
    if causal:
        ones = make("ones", shape[-2:], torch.bool)
        kept = make("tril", shape[-2:], torch.bool, self=ones, diagonal=0)
        made = make.exact("where", shape, condition=kept, self=made, other=float("-inf"))
    elif isinstance(mask, Value) and mask.dtype == torch.bool:
        made = make.exact("where", shape, condition=mask, self=made, other=float("-inf"))
    elif isinstance(mask, Value):
        made = make.exact("add", shape, self=made, other=mask, alpha=1)
    made = make("softmax", shape, q.dtype, self=made, dim=-1, dtype=None)
    return make("matmul", op.result.shape, q.dtype, self=made, other=v)


def is_future(producers: Mapping[Value, Op], mask: Value, later: bool) -> bool:
    """Whether a mask is true where the key comes after the query (`later`), or where it does not."""
    op = producers.get(mask)
    while op is not None and op.name in ("bitwise_not", "logical_not", "as_float", "eq"):
        if op.name == "eq" and op.args["other"] != 0:
            return False
        later = later if op.name == "as_float" else not later
        op = producers.get(op.tensor("self"))
    if op is None or not isinstance(op.args.get("other"), Value):
        return False
    columns, rows = _place(producers, op.tensor("self")), _place(producers, op.tensor("other"))
    # columns <= rows holds for the past; columns >= rows + 1 for the future
    wanted = (("ge", (-1, 0), (-2, 1)), ("gt", (-1, 0), (-2, 0))) if later else (("le", (-1, 0), (-2, 0)),)
    return (op.name, columns, rows) in wanted


def _place(producers: Mapping[Value, Op], value: Value) -> tuple[int, object] | None:
    """The dimension, counted from the end, whose coordinate this is, and what is added to it."""
    op, added = producers.get(value), 0
    if op is not None and op.name == "add" and isinstance(op.args["other"], int):
        op, added = producers.get(op.tensor("self")), op.args["other"]
    if op is None or op.name != "index":
        return None
    dim = op.args["dim"]
    return (dim - len(op.result.shape), added) if isinstance(dim, int) else None


def merge(program: Program) -> None:
    """Softmax between two products, scaled and causally masked or not, becomes one operator, in place."""
    producers = {result: op for op in program.ops for result in op.results}
    readers = Counter(operand for op in program.ops for operand in op.operands) + Counter(program.outputs)
    for place, op in enumerate(program.ops):
        if op.name in ("matmul", "bmm") and (args := _chain(op, producers, readers)) is not None:
            program.ops[place] = Op("scaled_dot_product_attention", args, op.results, op.owner)
    prune(program)


def _chain(op: Op, producers: Mapping[Value, Op], readers: Mapping[Value, int]) -> dict[str, object] | None:
    """The arguments of the attention that ends in this product; None where it is another."""

    def before(value: Value, *names: str) -> Op | None:
        found = producers.get(value)
        return found if found is not None and found.name in names and readers[value] == 1 else None

    softmax = before(op.tensor("self"), "softmax")
    if (
        softmax is None
        or op.args.get("transposed") != (False, False)
        or not isinstance(dim := softmax.args["dim"], int)
    ):
        return None
    scores = softmax.tensor("self")
    if dim % len(scores.shape) != len(scores.shape) - 1:
        return None
    causal = False
    if (masked := before(scores, "masked_fill", "where")) is not None:
        condition = masked.tensor("mask" if masked.name == "masked_fill" else "condition")
        filled = masked.args["value" if masked.name == "masked_fill" else "other"]
        if filled != float("-inf") or not is_future(producers, condition, masked.name == "masked_fill"):
            return None
        scores, causal = masked.tensor("self"), True
    factor, divided = 1.0, False
    if (scaled := before(scores, "mul", "div")) is not None:
        factor, divided = scaled.args["other"], scaled.name == "div"
        if not isinstance(factor, (int, float)):
            return None
        scores = scaled.tensor("self")
    product = before(scores, "matmul", "bmm")
    if product is None or product.args.get("transposed") != (False, True):
        return None
    q, k, v = product.tensor("self"), product.tensor("other"), op.tensor("other")
    if q.shape[-1] > MAX_HEAD or q.shape[-1] != v.shape[-1]:
        return None
    return {"query": q, "key": k, "value": v, "is_causal": causal, "scale": factor, "divided": divided}


def emit_attention(forward: Forward, op: Op, unit: Unit) -> None:
    """softmax(q k^T scale + mask) v, a block of queries a program."""
    q, k, v = (forward.held(op.tensor(name)) for name in ("query", "key", "value"))
    mask, causal = op.args.get("attn_mask"), bool(op.args.get("is_causal"))
    rank = len(op.result.shape)
    batch = tuple(range(rank - 2))
    kernel = Kernel(forward.kernel_name("attention"))
    out = forward.allocate(unit.result, [*(q.size(d) for d in range(rank))])
    scores = replace(out, shape=(*out.shape[:-1], k.shape[-2]))
    tile = Tile(kernel, scores, batch, (rank - 2,), "rn[None, :]")
    queries = Factor("q", q, ("rm", "rd[None, :]"), "md")
    keys = Factor("k", k, ("rn[None, :]", "rd[:, None]"), "nd")
    values = Factor("v", v, ("rn[:, None]", "rd[None, :]"), "nd")
    kernel.sizes |= {"M": q.size(rank - 2), "N": k.size(rank - 2), "D": q.size(rank - 1)}
    factors = [queries, keys, values]
    for factor in factors:
        factor.declare(kernel)
    crowded = math.prod(out.shape[d] for d in batch) > MAX_GRID
    block = f"tl.program_id({int(crowded)}) * BLOCK_M"
    kernel.line(f"rm = {block} + tl.arange(0, BLOCK_M)[:, None]")
    kernel.line("rd = tl.arange(0, BLOCK_D)")
    if batch:
        advance(tile, factors, int(not crowded))
    kernel.line(queries.read(kernel))
    # finite, so that a block without any key gives exp(-inf - top) = 0 and not a NaN
    kernel.line("top = tl.full((BLOCK_M, 1), -1.0e30, dtype=tl.float32)")
    kernel.line("total = tl.zeros((BLOCK_M, 1), dtype=tl.float32)")
    kernel.line("acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)")
    end = "N"
    if causal:
        end = f"tl.minimum(N, {block} + BLOCK_M)"
    kernel.line(f"for start in range(0, {end}, BLOCK_N):")
    kernel.line("rn = start + tl.arange(0, BLOCK_N)", 1)
    kernel.line(keys.read(kernel), 1)
    scale = _scale(forward, kernel, op, q.size(rank - 1))
    kernel.line(f'score = tl.dot(q, k, input_precision="ieee"){scale}', 1)
    _mask(forward, kernel, tile, mask, causal)
    for line in (
        "peak = tl.maximum(top, tl.max(score, axis=1, keep_dims=True))",
        "weight = tl.exp(score - peak)",
        "shrink = tl.exp(top - peak)",
        "total = total * shrink + tl.sum(weight, axis=1, keep_dims=True)",
        values.read(kernel),
        'acc = tl.dot(weight.to(v.dtype), v, acc * shrink, input_precision="ieee")',
        "top = peak",
    ):
        kernel.line(line, 1)
    kernel.line(f"offs = {'batch * M * D + ' if batch else ''}rm * D + rd[None, :]")
    kernel.line("mask = (rm < M) & (rd[None, :] < D)")
    # as in torch, a query that may see no key gets zeros
    made = "tl.where(total > 0.0, acc / total, 0.0)" if isinstance(mask, Value) else "acc / total"
    bound = {op.result: kernel.value(made)}
    site = Site(op.result.shape, out.name, "offs", "mask")
    compute(kernel, site, unit.group, forward.held, bound, forward.number)
    kernel.line(f"tl.store({kernel.pointer('out', out.name)} + offs, {bound[unit.result]}, mask=mask)")
    kernel.constant("BLOCK_M", str(BLOCK_M))
    kernel.constant("BLOCK_N", str(BLOCK_N))
    # tl.dot takes no side under 16
    kernel.constant("BLOCK_D", f"max(16, triton.next_power_of_2({kernel.sizes['D']}))")
    cells = [f"triton.cdiv({kernel.sizes['M']}, {BLOCK_M})", *([product(out.name, batch)] if batch else [])]
    cells = cells[::-1] if crowded else cells
    kernel.grid = f"({', '.join(cells)}{',' if len(cells) == 1 else ''})"
    how = f"a program {BLOCK_M} queries, keys and values in blocks of {BLOCK_N}, online softmax in float32"
    forward.notes.append(f"{kernel.name}: {how}{', keys after the query skipped' if causal else ''}")
    forward.emit(kernel)


def _scale(forward: Forward, kernel: Kernel, op: Op, width: str) -> str:
    """What the scores are multiplied with, or divided by: the task's, or one over the root of the head's width."""
    given = op.args.get("scale")
    if given == 1.0:
        return ""
    scale = (
        forward.number(kernel, op, "scale", given) if given is not None else kernel.size("scale", f"{width} ** -0.5")
    )
    return f" / {scale}" if op.args.get("divided") else f" * {scale}"


def _mask(forward: Forward, kernel: Kernel, tile: Tile, mask: object, causal: bool) -> None:
    """Scores of keys that do not count become minus infinity."""
    keep = "(rn[None, :] < N) & (rn[None, :] <= rm)" if causal else "rn[None, :] < N"
    if isinstance(mask, Value):
        kernel.line(f"mask = (rm < M) & ({keep})", 1)
        offs = f"{'batch * M * N + ' if tile.batch else ''}rm * N + rn[None, :]"
        site = Site(tile.out.shape, tile.out.name, offs, "mask", depth=1, coordinates=tile.coordinates)
        name = load(kernel, site, forward.held(mask))
        if mask.dtype == torch.bool:
            keep = f"({keep}) & ({name} != 0)"
        else:
            kernel.line(f"score += {name}", 1)
    kernel.line(f'score = tl.where({keep}, score, -float("inf"))', 1)


EMITTERS: dict[str, Emitter] = {"scaled_dot_product_attention": emit_attention}
