"""Sizes, strides and views of a wrapper as Python expressions: whether elements lie in order, what a view is in torch.

Knows nothing of kernels; names are forward's already.
"""

import ast
from collections.abc import Mapping, Sequence

from tritonsmith.data.inductor.rewrite import Unsupported, dotted


def contiguous(size: Sequence[ast.expr], stride: Sequence[ast.expr]) -> bool:
    """Whether these are the strides of elements in order, found with numbers in the place of names."""
    parts = (node for item in [*size, *stride] for node in ast.walk(item))
    texts = sorted({ast.unparse(n) for n in parts if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))})
    for salt in (3, 5, 11):
        values = {text: 24 + salt * (i + 1) for i, text in enumerate(texts)}
        step = 1
        for length, distance in zip(reversed(size), reversed(stride), strict=True):
            count = evaluate(length, values)
            if count != 1 and evaluate(distance, values) != step:
                return False
            step *= max(count, 1)
    return True


def evaluate(node: ast.expr, values: Mapping[str, int]) -> int:
    """An integer expression; raises Unsupported for what is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if (known := values.get(ast.unparse(node))) is not None:
        return known
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -evaluate(node.operand, values)
    if isinstance(node, ast.Call) and dotted(node.func) in ("max", "min"):
        return {"max": max, "min": min}[dotted(node.func)](*(evaluate(arg, values) for arg in node.args))
    if isinstance(node, ast.BinOp):
        left, right = evaluate(node.left, values), evaluate(node.right, values)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Pow) and right >= 0:
            return left**right
        if isinstance(node.op, ast.FloorDiv) and right:
            return left // right
        if isinstance(node.op, ast.Mod) and right:
            return left % right
    raise Unsupported("a size that is no integer")


class Views(ast.NodeTransformer):
    """`buf.view(...)` or the like for `reinterpret_tensor(buf, size, stride, offset)`."""

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._ranks = ranks

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write one."""
        self.generic_visit(node)
        if dotted(node.func) == "max" and ast.unparse(node.args[0]) == "1":
            return node.args[1]  # no size is 0 here
        if dotted(node.func) != "reinterpret_tensor":
            return node
        base, size, stride, offset = (ast.unparse(arg) for arg in node.args)
        if offset == "0" and contiguous(_items(node.args[1]), _items(node.args[2])):
            return parsed(f"{base}.view({size})")
        lengths, steps = _items(node.args[1]), _items(node.args[2])
        swapped = [*lengths[:-2], *lengths[:-3:-1]], [*steps[:-2], *steps[:-3:-1]]
        if offset == "0" and self._ranks.get(base) == len(lengths) >= 2 and contiguous(*swapped):
            return parsed(f"{base}.t()" if len(lengths) == 2 else f"{base}.transpose(-2, -1)")
        return parsed(f"{base}.as_strided({size}, {stride}{'' if offset == '0' else f', {offset}'})")


def _items(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def pointer(node: ast.expr) -> ast.expr:
    """What a kernel is given of a view that begins where its base does: the base."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return node
    whole = node.func.attr in ("view", "t", "transpose") or (node.func.attr == "as_strided" and len(node.args) == 2)
    return node.func.value if whole else node


def parsed(text: str) -> ast.expr:
    """The expression."""
    return ast.parse(text, mode="eval").body


def tupled(items: Sequence[ast.expr]) -> str:
    """The text of a tuple of these."""
    return ast.unparse(ast.Tuple(list(items), ast.Load()))
