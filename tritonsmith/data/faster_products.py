"""Mid-end rewritings of products: two that share a factor, larger tiles in an order for the caches, tensor cores.

As with all of `faster`, the reasons are those of the machine; whether the answer is right is the verifier's to say.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from tritonsmith.data.faster_text import Answer, Tuned, mentions, merged_parameters, neighbours, number, plain, renamed

Numbers = Mapping[str, Mapping[str, object]]
"""By kernel and parameter what a launch passes."""
LARGE_TILE = 512
"""Rows and columns from which a product is cut into larger tiles."""
_IEEE, _IN_PARTS = 'input_precision="ieee"', 'input_precision="tf32x3"'
_WHY = (
    "products of float32 as three of TF32, on tensor cores; what rounding the factors leaves out is multiplied as well"
)
_BY_COLUMNS = re.compile(r"b2? = tl\.load\(\w+ \+ rk\[:, None\] \* N \+ rn")
_ROWS = "rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]"
_COLUMNS = "rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]"


def group_tiles(answer: Answer, numbers: Numbers) -> str | None:
    """Larger tiles, and programs in groups of rows that use the same columns while they are in L2.

    The order is that of Triton's matrix multiplication tutorial.
    """
    for kernel in answer.kernels:
        values = numbers[kernel.name]
        one = kernel.body[:2] == [_ROWS, _COLUMNS] and "acc2" not in "".join(kernel.body)
        if not one or min(number(values, "M"), number(values, "N")) < LARGE_TILE:
            continue
        kernel.body[:2] = [
            "pid = tl.program_id(0)",
            "tiles_m = tl.cdiv(M, BLOCK_M)",
            "group = GROUP_M * tl.cdiv(N, BLOCK_N)",
            "first_m = pid // group * GROUP_M",
            "height = tl.minimum(tiles_m - first_m, GROUP_M)",
            "pid_m = first_m + pid % group % height",
            "pid_n = pid % group // height",
            "rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]",
            "rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]",
        ]
        kernel.body = [line.replace("batch = tl.program_id(2)", "batch = tl.program_id(1)") for line in kernel.body]
        rest = kernel.grid.split(", 64), ")[2:] or kernel.grid.split(", 64)")[2:]
        width, warps, less = ("64", "4", "less") if _turns(kernel, values) else ("128", "8", "half as much")
        cells = f"triton.cdiv({kernel.sizes['M']}, 128) * triton.cdiv({kernel.sizes['N']}, {width})"
        kernel.grid = f"({cells}, {rest[0]}" if rest and rest[0] != ")" else f"({cells},)"
        kernel.constants |= {"BLOCK_M": "128", "BLOCK_N": width, "BLOCK_K": "32", "GROUP_M": "8"}
        kernel.options |= {"num_warps": warps, "num_stages": "3"}
        return (
            f"{kernel.name}: 128x{width} tiles load {less} per product, and programs in groups of 8 rows find "
            "their columns in L2"
        )
    return None


def _turns(kernel: Tuned, values: Mapping[str, object]) -> bool:
    """Whether a factor of float32 lies along N, which tensor cores read along K: it is turned in registers first."""
    return _single(values) and _by_columns(kernel.body)


def _by_columns(lines: Sequence[str]) -> bool:
    """Whether a kernel reads its second factor along N."""
    return any(_BY_COLUMNS.match(line.strip()) for line in lines)


def _single(values: Mapping[str, object]) -> bool:
    """Whether a launch is given tensors of float32: what is asked of their products says nothing of halves."""
    return any(isinstance(value, torch.Tensor) and value.dtype == torch.float32 for value in values.values())


_DOT = '    acc = tl.dot(a, b, acc, input_precision="ieee")'


def share_factor(answer: Answer, numbers: Numbers) -> str | None:
    """Two products of one tensor, the second combined with the first: one loop with two accumulators."""
    for first, second, made in neighbours(answer):
        if any(one.body[:2] != [_ROWS, _COLUMNS] or _DOT not in one.body for one in (first, second)):
            continue
        if any(number(numbers[first.name], name) != number(numbers[second.name], name) for name in "MNK"):
            continue
        joined = _two_products(first, second, made)
        taken = {one.name for one in answer.kernels}
        if joined is not None and joined.name not in taken and not mentions(joined, made):
            answer.replace(first, second, joined, made)
            return f"{joined.name}: one loop loads the shared factor once for both products, nothing in between"
    return None


def _two_products(first: Tuned, second: Tuned, made: str) -> Tuned | None:
    """The second's kernel with the first's product beside its own."""
    # the numbers are equal, whatever they are taken from
    first = replace(first, sizes=first.sizes | {name: second.sizes[name] for name in "MNK"})
    joined, names = merged_parameters(second, first, made)
    start, end = second.body.index(_DOT), first.body.index(_DOT)
    beside = [renamed(line, names) for line in first.body]
    (a,) = (line for line in second.body if line.startswith("    a = "))
    (b,) = (line for line in beside if line.startswith("    b = "))
    stored = re.fullmatch(r"tl\.store\(out_ptr \+ offs, (\w+), mask=mask\)", first.body[-1])
    loads = [line for line in second.body if re.match(rf"\w+ = tl\.load\({_pointer(second, made)} \+ offs, ", line)]
    if a not in beside or second.body[:3] != first.body[:3] or stored is None or len(loads) != 1:
        return None
    value = renamed(stored.group(1), {"acc": "acc2"})
    named = {loads[0].split(" = ")[0]: value}
    epilogue = [re.sub(r"\bacc\b", "acc2", line) for line in beside[end + 1 : -1]]
    rest = [line for line in second.body[start + 1 :] if line != loads[0]]
    rest = [re.sub(r"\b\w+\b", lambda match: named.get(match.group(), match.group()), line) for line in rest]
    joined.body = plain(
        [
            *second.body[:3],
            second.body[2].replace("acc", "acc2", 1),
            *second.body[3 : start + 1],
            b.replace("    b = ", "    b2 = ", 1),
            '    acc2 = tl.dot(a, b2, acc2, input_precision="ieee")',
            *epilogue,
            *(line for line in rest if line not in epilogue),
        ]
    )
    joined.name = f"two_{re.sub('_kernel[0-9]*$', '', second.name)}_kernel"
    joined.constants, joined.grid = second.constants, second.grid
    return joined


def _pointer(kernel: Tuned, tensor: str) -> str:
    return next(name for name, passed in kernel.pointers.items() if passed == tensor)


def use_tensor_cores(answer: Answer, numbers: Numbers) -> str | None:
    """Products of float32 from three in TF32 each, where tensor cores read the factors as they lie or in larger tiles.

    On one H200 a linear layer of 1024 x 8192 x 8192 takes 2.1 ms so and 10.0 ms as before, with a fifth of the error.
    Where the second factor lies along N it takes 3.8 ms and 3.2 ms as before, in the same tiles of 64; in tiles of 128
    by 64 on 4 warps 2.5 ms and 3.3 ms as before.
    """
    for kernel in answer.kernels:
        turned = _by_columns(kernel.body) and "GROUP_M" not in kernel.constants
        if _IEEE in "\n".join(kernel.body) and not turned and _single(numbers[kernel.name]):
            kernel.body = [line.replace(_IEEE, _IN_PARTS) for line in kernel.body]
            return f"{kernel.name}: {_WHY}"
    for place, text in enumerate(answer.fixed):
        name = text.split("(", 1)[0].rpartition(" ")[2]
        if _IEEE in text and not _by_columns(text.splitlines()) and _single(numbers.get(name, {})):
            answer.fixed[place] = text.replace(_IEEE, _IN_PARTS)
            return f"{name}: {_WHY}"
    return None
