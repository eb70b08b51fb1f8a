"""Functions whose text Triton reads otherwise than Python does.

Triton compiles the text of a function from the first line on that looks like the head of one (`JITCallable`, Triton
3.6 and 3.7). That may stand in a string before or behind the head, so that another kernel is compiled than the one that
every rule here has judged, and than the one that the interpreter runs, which goes by the syntax tree.
"""

import ast
import re
import textwrap
from collections.abc import Iterator

from tritonsmith.source import lines
from tritonsmith.types import Finding

_HEAD = re.compile(r"^def\s+\w+\s*\(", re.MULTILINE)
"""As Triton has it."""


def misread(source: str, tree: ast.Module) -> Iterator[Finding]:
    """A finding for each function that has another head, in Triton's eyes, than its own."""
    written = lines(source)
    for node in ast.walk(tree):  # not `source.walk`, which is kept with a tree, and this one is pruned afterwards
        if not isinstance(node, ast.FunctionDef):
            continue
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        text = textwrap.dedent("".join(written[first - 1 : node.end_lineno]))
        head = _HEAD.search(text)
        if head is not None and text.count("\n", 0, head.start()) != node.lineno - first:
            message = (
                f"Triton would compile another text than that of {node.name}: write `def {node.name}(` in one line, "
                "and nothing like it in a string"
            )
            yield Finding(rule="kernel-text", message=message, line=node.lineno)
