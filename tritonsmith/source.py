"""Python source into its syntax tree, from several threads."""

import ast
import threading

_lock = threading.Lock()


def parse(source: str) -> ast.Module:
    """`ast.parse`, one thread at a time.

    CPython before 3.12 counts the depth of the tree it builds in a place that all threads share, and raises
    SystemError ("AST constructor recursion depth mismatch") where two build one at once (python/cpython#106905).
    Raises what `ast.parse` raises: SyntaxError, ValueError, RecursionError, MemoryError.
    """
    with _lock:
        return ast.parse(source)
