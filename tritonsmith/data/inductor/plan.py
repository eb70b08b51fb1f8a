"""A short plan for a candidate made of Inductor's kernels: what it launches, what each kernel fuses, how it is tiled,
masked and rounded. Every sentence is read off the candidate itself, so that it is true of it.
"""

import ast
import re
from collections.abc import Iterator, Sequence

import torch

from tritonsmith.data.inductor.emit import Candidate
from tritonsmith.data.inductor.kernels import Kernel

_MOST = 6
"""Lines at most; of more kernels the first ones are described."""


def plan(candidate: Candidate) -> str:
    """The plan, two to six lines."""
    lines = [_launches(candidate)]
    lines += [f"{routine.name}: {_routine(routine.name)}" for routine in candidate.routines]
    lines += [f"{kernel.name}: {_kernel(kernel)}" for kernel in candidate.kernels]
    if len(lines) >= _MOST:
        lines = [*lines[: _MOST - 2], f"{len(lines) - _MOST + 2} more kernels in the same style."]
    return "\n".join([*lines, _numerics(candidate)])


def _launches(candidate: Candidate) -> str:
    total = sum(candidate.launches.values())
    if total == 1:
        return "One kernel does everything, so no intermediate goes through memory."
    return f"{total} launches in order; what passes between them goes through buffers in memory."


def _routine(name: str) -> str:
    bias = ", the bias added before the store" if name.endswith("_bias") else ""
    if name.startswith(("matmul", "bmm")):
        return f"tiles of 64 x 64 over rows and columns, a loop of 32 over the inner dimension, tl.dot{bias}."
    if "pool" in name:
        return "one output a lane, a loop over the window, out-of-range taps masked."
    if name.startswith("depthwise"):
        return f"one output a lane, a loop over the filter's taps, no tl.dot since there is one channel a group{bias}."
    return f"implicit matrix product, output places by channels, a loop over input channels and taps, tl.dot{bias}."


def _kernel(kernel: Kernel) -> str:
    text = ast.unparse(kernel.function)
    operators = list(_operators(re.sub(r"_\d+$", "", kernel.name.removesuffix("_kernel")).split("_")))
    parts = [f"{'fuses' if len(operators) > 1 else 'does'} {', '.join(operators)}"]
    loops = sum(isinstance(node, ast.For) for node in ast.walk(kernel.function))
    if "RBLOCK" in text:
        passes = {1: "one pass", 2: "two passes", 3: "three passes"}.get(loops, f"{loops} passes")
        loop = f"rows in XBLOCK, {passes} over the reduced dimension in steps of RBLOCK"
        parts.append(loop if loops else "one block a row")
    elif len(kernel.axes) > 1:
        parts.append("a tile of YBLOCK x XBLOCK so that loads and stores both lie together")
    else:
        parts.append("a flat index in blocks of XBLOCK")
    masks = [name for name in ("xmask", "ymask", "rmask") if re.search(rf"\b{name} = ", text)]
    if masks:
        parts.append(f"{' and '.join(masks)} guard{'s' if len(masks) == 1 else ''} the ends")
    return "; ".join(parts) + "."


def _operators(words: Sequence[str]) -> Iterator[str]:
    """A kernel's name in words, `add native layer norm`, as aten's operators: the longest that there are."""
    while words:
        ends = range(len(words), 0, -1)
        known = (end for end in ends if hasattr(torch.ops.aten, "_".join(words[:end])))
        end = next(known, 1)
        yield "_".join(words[:end])
        words = words[end:]


def _numerics(candidate: Candidate) -> str:
    dots = any("tl.dot" in routine.source for routine in candidate.routines)
    texts = " ".join(ast.unparse(kernel.function) for kernel in candidate.kernels)
    # a stored row's kernels know their sizes, a generated one's ask the tensors
    fixed = candidate.kernels and "shape[" not in candidate.source.rpartition("class ModelNew")[2]
    first = f"Sizes are {'the task' + chr(39) + 's own' if fixed else 'read at run time'}; loads are cast to float32"
    if dots:
        return f'{first}, and products accumulate in float32 with input_precision="ieee".'
    if "tl.sum" in texts:
        return f"{first}, and sums are kept in float32."
    return f"{first} and results are rounded once, at the store."
