"""Functions and calls as text, on several lines where one would be too long."""

import ast
from collections.abc import Sequence

_WIDTH = 110


def definition(node: ast.FunctionDef) -> str:
    """A function's text, its parameters on several lines where there are many."""
    text = ast.unparse(node)
    head, body = text.split(":\n", 1) if ":\n" in text else (text, "")
    start, _, parameters = head.partition("(")
    decorator = "\n".join(start.splitlines()[:-1])
    lines = wrapped(f"{start.splitlines()[-1]}(", parameters.removesuffix(")").split(", "), "):", 0)
    return "\n".join([decorator, *lines, body])


def wrapped(head: str, items: Sequence[str], tail: str, indent: int) -> list[str]:
    """`head(item, item)` on one line, or, where that is too long, with the items on lines of their own."""
    whole = head + ", ".join(items) + tail
    if len(whole) + indent <= _WIDTH:
        return [whole]
    lines, line = [head], ""
    for item in items:
        if line and len(line) + len(item) + indent + 6 > _WIDTH:
            lines.append(f"    {line}")
            line = ""
        line += f"{' ' if line else ''}{item},"
    return [*lines, f"    {line}", tail]
