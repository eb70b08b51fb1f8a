"""Python source into its syntax tree, from several threads, and the tree into its nodes."""

import ast
import io
import re
import threading

_lock = threading.Lock()
_SIGNS = ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop
_MOST_BITS = 4300 * 10 // 3
"""Of a whole number. Python reads 4,300 decimal digits, and of other bases as many as one likes, which nobody can write
as decimal ones then (`sys.set_int_max_str_digits`)."""
_LONG = re.compile(rf"0[xXoObB][0-9a-fA-F_]{{{_MOST_BITS // 4},}}")
_CHILDREN, _NODES = "_tritonsmith_children", "_tritonsmith_nodes"


def parse(source: str) -> ast.Module:
    """`ast.parse`, one thread at a time.

    CPython before 3.12 counts the depth of the tree it builds in a place that all threads share, and raises
    SystemError ("AST constructor recursion depth mismatch") where two build one at once (python/cpython#106905).
    Raises what `ast.parse` raises: SyntaxError, ValueError, RecursionError, MemoryError; ValueError also for a number
    that has too many digits for its tree to be written out again.
    """
    with _lock:
        tree = ast.parse(source)
    if _LONG.search(source) and any(map(_is_long, ast.walk(tree))):
        raise ValueError("a whole number has too many digits")
    return tree


def _is_long(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and value.bit_length() > _MOST_BITS


def lines(source: str) -> list[str]:
    """The lines of a source as Python counts them, each with a newline behind it.

    `str.splitlines` ends a line at form feeds and other signs, too: who looks up line n of those reads another text
    than what is compiled as line n.
    """
    return io.StringIO(source, newline=None).readlines()


def written_lines(source: str) -> list[str]:
    """The same with each line's end as it is written, so that together they are the source."""
    return io.StringIO(source, newline="").readlines()


def children(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives but for operators and contexts, which have nothing below them and are known by
    the node's fields; kept with the node: for trees that change no more."""
    found: list[ast.AST] | None = getattr(node, _CHILDREN, None)
    if found is None:
        found = [child for child in ast.iter_child_nodes(node) if not isinstance(child, _SIGNS)]
        setattr(node, _CHILDREN, found)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """What `ast.walk` gives but for operators and contexts, kept with the node: for trees that change no more.

    A static check asks for a module's nodes some thirty times, and `ast.walk` looks at each field of each of them.
    """
    found: list[ast.AST] | None = getattr(node, _NODES, None)
    if found is None:
        found = [node]
        for one in found:
            found.extend(children(one))
        setattr(node, _NODES, found)
    return found
