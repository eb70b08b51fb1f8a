"""Matrix products, convolutions and pools as strict Triton: a kernel each, and a function that launches it.

They stand where Inductor leaves a task to a library (`externs`). Sizes are read at run time; products accumulate in
float32 without TF32. Plain tiles: no autotuning, no split over the inner dimension.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Routine:
    """A kernel with the function that launches it."""

    name: str
    """The function's name."""
    source: str


def matmul(batched: bool, bias: bool) -> Routine:
    """`matmul(a, b[, bias], dtype)`: (M, K) and (K, N), or (B, M, K) and (B, K, N), of any strides.

    The bias is anything that broadcasts to the result.
    """
    name = ("bmm" if batched else "matmul") + ("_bias" if bias else "")
    lead = "stride_{0}b, " if batched else ""
    strides = "".join(lead.format(t) + f"stride_{t}{p}, stride_{t}{q}, " for t, p, q in _operands(bias))
    start = "".join(
        f"    {t}_ptr += tl.program_id(2).to(tl.int64) * stride_{t[0] if t != 'bias' else 'd'}b\n"
        for t in (["a", "b", "out"] + (["bias"] if bias else []))
        if batched
    )
    source = f"""\
@triton.jit
def {name}_kernel(
    a_ptr, b_ptr, {"bias_ptr, " if bias else ""}out_ptr, M, N, K,
    {strides.strip()}
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
{start}    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (cols[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * stride_bk + cols[None, :] * stride_bn, mask=b_mask, other=0.0)
        acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc, input_precision="ieee")
    mask = (rows[:, None] < M) & (cols[None, :] < N)
"""
    if bias:
        source += """\
    bias = tl.load(bias_ptr + rows[:, None] * stride_dm + cols[None, :] * stride_dn, mask=mask, other=0.0)
    acc += bias.to(tl.float32)
"""
    batch = "B, " if batched else ""
    source += f"""\
    tl.store(out_ptr + rows[:, None] * stride_om + cols[None, :] * stride_on, acc, mask=mask)


def {name}(a, b, {"bias, " if bias else ""}dtype):
    {batch}M, K = a.shape
    N = b.shape[-1]
    out = torch.empty(({batch}M, N), device=a.device, dtype=dtype)
"""
    if bias:
        source += "    bias = bias.expand(out.shape)\n"
    names = [t for t in ("a", "b", *(("bias",) if bias else ()), "out")]
    source += f"""\
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64){", B" if batched else ""})
    {name}_kernel[grid](
        {", ".join(names)}, M, N, K, {", ".join(f"*{t}.stride()" for t in names)},
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=32,
    )
    return out
"""
    return Routine(name, source)


def _operands(bias: bool) -> list[tuple[str, str, str]]:
    return [("a", "m", "k"), ("b", "k", "n"), *([("d", "m", "n")] if bias else []), ("o", "m", "n")]


_AXES = {1: ("L",), 2: ("H", "W"), 3: ("D", "H", "W")}


def convolution(rank: int, bias: bool, transposed: bool, depthwise: bool) -> Routine:
    """`conv2d(x, weight[, bias], stride, padding, dilation, output_padding, groups, dtype)`, for 1 to 3 dimensions.

    An implicit matrix product: rows are the places of the output, columns the output channels of a group, and the
    inner dimension runs over input channels and filter taps. `depthwise` is for one input channel a group.
    """
    axes = _AXES[rank]
    name = f"{'depthwise_' * depthwise}conv{'_transpose' * transposed}{rank}d{'_bias' * bias}"
    write = _direct if depthwise else _gemm
    kernel = write(name, axes, bias, transposed)
    return Routine(name, f"{kernel}\n\n{_launcher(name, axes, bias, transposed, depthwise)}")


def _each(axes: Sequence[str], text: str) -> str:
    return ", ".join(text.format(a=a, low=a.lower()) for a in axes)


def _signature(axes: Sequence[str], bias: bool) -> str:
    return f"""\
    x_ptr, w_ptr, {"bias_ptr, " if bias else ""}out_ptr, batch, groups, CI, CO, {_each(axes, "{a}")},
    {_each(axes, "O{a}")}, {_each(axes, "K{a}")}, {_each(axes, "stride_{low}")},
    {_each(axes, "pad_{low}")}, {_each(axes, "dilation_{low}")},
"""


def _unravel(axes: Sequence[str], index: str, size: str, out: str) -> tuple[list[str], str]:
    """Lines that take a flat index apart into one a dimension, and the sizes' product."""
    lines, inner = [], ""
    for axis in reversed(axes):
        whole = f"({index} // {_bracketed(inner)})" if inner else index
        lines.append(f"{out}{axis.lower()} = {whole} % {size}{axis}")
        inner = f"{size}{axis} * {inner}" if inner else f"{size}{axis}"
    return lines[::-1], inner


def _offset(axes: Sequence[str], name: str) -> str:
    text = ""
    for axis in axes:
        text = f"{_bracketed(text)} * {axis} + {name}{axis.lower()}" if text else f"{name}{axis.lower()}"
    return text


def _bracketed(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


def _source_lines(axes: Sequence[str], transposed: bool, o: str, k: str) -> list[str]:
    """Where in the input an output place and a filter tap meet, and whether that is inside."""
    lines = []
    row, column = ("[:, None]", "[None, :]") if k else ("", "")
    for size in axes:
        axis = size.lower()
        place, tap = f"{o}{axis}{row}", f"k{axis}{column} * dilation_{axis}"
        if transposed:
            lines.append(f"i{axis} = {place} + pad_{axis} - {tap}")
            lines.append(f"inside &= (i{axis} >= 0) & (i{axis} % stride_{axis} == 0)")
            lines.append(f"i{axis} = i{axis} // stride_{axis}")
            lines.append(f"inside &= i{axis} < {size}")
        else:
            lines.append(f"i{axis} = {place} * stride_{axis} - pad_{axis} + {tap}")
            lines.append(f"inside &= (i{axis} >= 0) & (i{axis} < {size})")
    return lines


def _gemm(name: str, axes: Sequence[str], bias: bool, transposed: bool) -> str:
    places, place = _unravel(axes, "rows", "O", "o")
    taps, tap = _unravel(axes, "inner", "K", "k")
    plane = " * ".join(axes)
    weight = (
        f"((group * CI + ci[:, None]) * CO + cols[None, :]) * {_bracketed(tap)} + inner[:, None] % {_bracketed(tap)}"
        if transposed
        else "(group * CO + cols[None, :]) * K + inner[:, None]"
    )
    body = [
        "group = tl.program_id(2)",
        "rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)",
        "cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)",
        f"n = rows // {_bracketed(place)}",
        *places,
        f"M = batch * {place}",
        f"K = CI * {tap}",
        "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)",
        "for start in range(0, K, BLOCK_K):",
        "    inner = start + tl.arange(0, BLOCK_K)",
        f"    ci = inner // {_bracketed(tap)}",
        *(f"    {line}" for line in taps),
        "    inside = (rows[:, None] < M) & (inner[None, :] < K)",
        *(f"    {line}" for line in _source_lines(axes, transposed, "o", "k")),
        "    channel = (n[:, None] * groups + group) * CI + ci[None, :]",
        f"    x = tl.load(x_ptr + channel * {_bracketed(plane)} + {_offset(axes, 'i')}, mask=inside, other=0.0)",
        "    w_mask = (inner[:, None] < K) & (cols[None, :] < CO)",
        f"    w = tl.load(w_ptr + {weight}, mask=w_mask, other=0.0)",
        '    acc = tl.dot(x.to(tl.float32), w.to(tl.float32), acc, input_precision="ieee")',
    ]
    if bias:
        body.append("acc += tl.load(bias_ptr + group * CO + cols, mask=cols < CO, other=0.0).to(tl.float32)[None, :]")
    body += [
        "mask = (rows[:, None] < M) & (cols[None, :] < CO)",
        "out = (n[:, None] * groups + group) * CO + cols[None, :]",
        f"tl.store(out_ptr + out * {_bracketed(place)} + rows[:, None] % {_bracketed(place)}, acc, mask=mask)",
    ]
    lines = "\n".join(f"    {line}" for line in body)
    return f"""\
@triton.jit
def {name}_kernel(
{_signature(axes, bias)}    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
{lines}
"""


def _direct(name: str, axes: Sequence[str], bias: bool, transposed: bool) -> str:
    places, place = _unravel(axes, "index", "O", "o")
    taps, tap = _unravel(axes, "tap", "K", "k")
    plane = " * ".join(axes)
    body = [
        "index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        f"mask = index < batch * groups * CO * {place}",
        *places,
        f"channel = (index // {_bracketed(place)}) % (groups * CO)",
        f"n = index // (groups * CO * {place})",
        "acc = tl.zeros((BLOCK,), dtype=tl.float32)",
        f"for tap in range({tap}):",
        *(f"    {line}" for line in taps),
        "    inside = mask",
        *(f"    {line}" for line in _source_lines(axes, transposed, "o", "")),
        f"    here = (n * groups + channel // CO) * {_bracketed(plane)} + {_offset(axes, 'i')}",
        "    x = tl.load(x_ptr + here, mask=inside, other=0.0)",
        f"    w = tl.load(w_ptr + channel * {_bracketed(tap)} + tap, mask=mask, other=0.0)",
        "    acc += x.to(tl.float32) * w.to(tl.float32)",
        *(["acc += tl.load(bias_ptr + channel, mask=mask, other=0.0).to(tl.float32)"] if bias else []),
        "tl.store(out_ptr + index, acc, mask=mask)",
    ]
    lines = "\n".join(f"    {line}" for line in body)
    return f"""\
@triton.jit
def {name}_kernel(
{_signature(axes, bias)}    BLOCK: tl.constexpr,
):
{lines}
"""


def _launcher(name: str, axes: Sequence[str], bias: bool, transposed: bool, depthwise: bool) -> str:
    ci, co = ("weight.shape[1]", "weight.shape[0] // groups")
    ci, co = ("weight.shape[0] // groups", "weight.shape[1]") if transposed else (ci, co)
    sizes = []
    for i, a in enumerate(axes):
        reach = f"dilation[{i}] * (K{a} - 1)"
        if transposed:
            sizes.append(f"O{a} = ({a} - 1) * stride[{i}] - 2 * padding[{i}] + {reach} + output_padding[{i}] + 1")
        else:
            sizes.append(f"O{a} = ({a} + 2 * padding[{i}] - {reach} - 1) // stride[{i}] + 1")
    outer = " * ".join(f"O{a}" for a in axes)
    if depthwise:
        grid, blocks = f"(triton.cdiv(batch * groups * CO * {outer}, 256),)", "BLOCK=256"
    else:
        grid = f"(triton.cdiv(batch * {outer}, 64), triton.cdiv(CO, 32), groups)"
        blocks = "BLOCK_M=64, BLOCK_N=32, BLOCK_K=32"
    lines = "\n".join(f"    {line}" for line in sizes)
    given = "output_padding, " if transposed else ""
    return f"""\
def {name}(x, weight, {"bias, " if bias else ""}stride, padding, dilation, {given}groups, dtype):
    x, weight = x.contiguous(), weight.contiguous()
    batch, _, {_each(axes, "{a}")} = x.shape
    CI, CO = {ci}, {co}
    {_each(axes, "K{a}")}{"," if len(axes) == 1 else ""} = weight.shape[2:]
{lines}
    out = torch.empty((batch, groups * CO, {_each(axes, "O{a}")}), device=x.device, dtype=dtype)
    grid = {grid}
    {name}_kernel[grid](
        x, weight, {"bias, " if bias else ""}out, batch, groups, CI, CO, {_each(axes, "{a}")}, {_each(axes, "O{a}")},
        {_each(axes, "K{a}")}, *stride, *padding, *dilation, {blocks},
    )
    return out
"""


def pool(rank: int, mean: bool, padded: bool) -> Routine:
    """`max_pool2d(x, kernel, stride, padding, dilation, dtype)`, and the mean likewise; windows of any size.

    `padded` says that a mean counts the padding's zeros.
    """
    axes = _AXES[rank]
    name = f"avg_pool{rank}d" if mean else f"max_pool{rank}d"
    places, place = _unravel(axes, "index", "O", "o")
    taps, tap = _unravel(axes, "tap", "K", "k")
    nothing = "0.0" if mean else 'float("-inf")'
    update = ["acc += x.to(tl.float32)", *([] if padded else ["count += tl.where(inside, 1.0, 0.0)"])]
    body = [
        "index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        f"mask = index < planes * {place}",
        *places,
        f"plane = index // {_bracketed(place)}",
        "acc = tl.zeros((BLOCK,), dtype=tl.float32)" if mean else 'acc = tl.full((BLOCK,), float("-inf"), tl.float32)',
        *(["count = tl.zeros((BLOCK,), dtype=tl.float32)"] if mean and not padded else []),
        f"for tap in range({tap}):",
        *(f"    {line}" for line in taps),
        "    inside = mask",
        *(f"    {line}" for line in _source_lines(axes, False, "o", "")),
        f"    here = plane * {_bracketed(' * '.join(axes))} + {_offset(axes, 'i')}",
        f"    x = tl.load(x_ptr + here, mask=inside, other={nothing})",
        *(f"    {line}" for line in (update if mean else ["acc = tl.maximum(acc, x.to(tl.float32))"])),
        *([f"acc = acc / {f'{_bracketed(tap)}' if padded else 'count'}"] if mean else []),
        "tl.store(out_ptr + index, acc, mask=mask)",
    ]
    lines = "\n".join(f"    {line}" for line in body)
    sizes = "\n".join(
        f"    O{a} = ({a} + 2 * padding[{i}] - dilation[{i}] * (kernel[{i}] - 1) - 1) // stride[{i}] + 1"
        for i, a in enumerate(axes)
    )
    outer = " * ".join(f"O{a}" for a in axes)
    return Routine(
        name,
        f"""\
@triton.jit
def {name}_kernel(
    x_ptr, out_ptr, planes, {_each(axes, "{a}")}, {_each(axes, "O{a}")}, {_each(axes, "K{a}")},
    {_each(axes, "stride_{low}")}, {_each(axes, "pad_{low}")}, {_each(axes, "dilation_{low}")},
    BLOCK: tl.constexpr,
):
{lines}


def {name}(x, kernel, stride, padding, dilation, dtype):
    x = x.contiguous()
    batch, channels, {_each(axes, "{a}")} = x.shape
{sizes}
    out = torch.empty((batch, channels, {_each(axes, "O{a}")}), device=x.device, dtype=dtype)
    grid = (triton.cdiv(batch * channels * {outer}, 256),)
    {name}_kernel[grid](
        x, out, batch * channels, {_each(axes, "{a}")}, {_each(axes, "O{a}")}, *kernel, *stride, *padding, *dilation,
        BLOCK=256,
    )
    return out
""",
    )
