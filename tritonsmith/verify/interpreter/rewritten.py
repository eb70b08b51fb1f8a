"""Kernels as Triton's interpreter compiles them anew, where it takes another function than its compiler does.

A kernel that a function made keeps what it closes over, and of several lines that begin with `def` the first is its
own: the interpreter's rewriter compiles at a module's level, and takes the last, which may stand in a docstring. What
becomes of a kernel's loops and names is `loops`'.
"""

import ast
import types
from collections.abc import Sequence
from typing import cast

from triton.runtime import interpreter


def install() -> None:
    """Have kernels be read so in this process; for the runner only."""
    rewriter = interpreter.FunctionRewriter
    plain = rewriter._compile_and_exec

    def compiled(self: interpreter.FunctionRewriter, tree: ast.Module) -> object:
        free: Sequence[str] = self.fn.__code__.co_freevars
        if not free:
            return plain(self, tree)
        cells = dict(zip(free, self.fn.__closure__, strict=True))
        tree.body = [_within(cast(ast.FunctionDef, tree.body[0]), free)]
        made = plain(self, tree)(*map(_held, cells.values()))
        # The cells themselves: what is written to one later is read, as the compiler reads it at a launch.
        closure = tuple(cells[name] for name in made.__code__.co_freevars)
        whole = types.FunctionType(made.__code__, made.__globals__, made.__name__, made.__defaults__, closure)
        whole.__kwdefaults__, whole.__annotations__ = made.__kwdefaults__, made.__annotations__
        return whole

    rewriter._compile_and_exec = compiled  # type: ignore[method-assign]
    rewriter._find_def = _first  # type: ignore[method-assign]


def _within(kernel: ast.FunctionDef, free: Sequence[str]) -> ast.stmt:
    """A function of the names that a kernel closes over, which gives the kernel."""
    outer = ast.parse(f"def {kernel.name}({', '.join(free)}):\n    return {kernel.name}").body[0]
    for node in ast.walk(outer):
        ast.copy_location(node, kernel)
    cast(ast.FunctionDef, outer).body.insert(0, kernel)
    return ast.fix_missing_locations(outer)


def _held(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


def _first(_: interpreter.FunctionRewriter, lines: Sequence[str]) -> int:
    """The number of the line in which a kernel's own `def` is."""
    return next((number for number, line in enumerate(lines, 1) if line.lstrip().startswith("def ")), 0)
