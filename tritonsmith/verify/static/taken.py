"""What of a candidate's code may run where its kernel can."""

import ast
from collections.abc import Iterator

from tritonsmith.source import walk


def taken(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that may run where the kernel can: a fallback for tensors that are not on the GPU is left out.

    Such a branch is never taken here; if it were, the dynamic net would see it.
    """
    if isinstance(node, ast.IfExp) and _asks_for_the_device(node.test):
        return
    yield node
    for _, value in ast.iter_fields(node):
        below = [child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)]
        for child in below:
            asks = isinstance(child, ast.If) and _asks_for_the_device(child.test)
            if not asks:
                yield from taken(child)
            elif any(isinstance(part, ast.Return) for part in walk(child)):
                break  # `if x.is_cuda: return launch(x)`: what follows is the fallback, or the other way round


def _asks_for_the_device(test: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Attribute) and part.attr in ("is_cuda", "is_cpu", "device", "is_available")
        for part in walk(test)
    )
