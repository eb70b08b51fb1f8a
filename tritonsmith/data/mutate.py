"""Plants a bug into a right candidate: a mask dropped, another operator, another constant, another axis.

Edits the text where the syntax tree points, so the rest stays as it was written. Whether the outcome is wrong is the
verifier's to say: some edits change nothing that can be seen.
"""

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass

from tritonsmith.source import parse

KINDS = ("dropped mask", "wrong operator", "wrong constant", "wrong axis")

_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"),
}  # fmt: skip
_FUNCTIONS = {
    "maximum": "minimum", "minimum": "maximum", "sum": "max", "max": "sum", "min": "max", "exp": "exp2", "log": "log2",
    "sqrt": "rsqrt", "rsqrt": "sqrt", "sin": "cos", "cos": "sin",
}  # fmt: skip
"""Functions of `triton.language` that take the same arguments."""


@dataclass(frozen=True)
class Bug:
    """A candidate with a bug in it."""

    kind: str
    source: str


@dataclass(frozen=True)
class _Edit:
    kind: str
    spans: tuple[tuple[int, int, bytes], ...]
    """Bytes of the source and what stands in their place, in order."""


def mutate(source: str, rng: random.Random) -> Bug | None:
    """The source with one bug, its kind drawn first and then its place; None where there is nothing to edit."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    text = source.encode()
    edits = list(_edits(tree, text, _starts(text)))
    kinds = [kind for kind in KINDS if any(edit.kind == kind for edit in edits)]
    if not kinds:
        return None
    kind = rng.choice(kinds)
    edit = rng.choice([edit for edit in edits if edit.kind == kind])
    for start, end, new in reversed(edit.spans):
        text = text[:start] + new + text[end:]
    return Bug(kind, text.decode())


def _edits(tree: ast.Module, text: bytes, starts: list[int]) -> Iterator[_Edit]:
    def begin(node: ast.expr | ast.keyword) -> int:
        return starts[node.lineno - 1] + node.col_offset

    def end(node: ast.expr | ast.keyword) -> int:
        return starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)

    for kernel in tree.body:
        if not (isinstance(kernel, ast.FunctionDef) and kernel.decorator_list):
            continue
        for node in (inner for statement in kernel.body for inner in ast.walk(statement)):
            if isinstance(node, ast.BinOp) and (words := _OPERATORS.get(type(node.op))):
                place = text.find(words[0].encode(), end(node.left), begin(node.right))
                if place >= 0:
                    yield _Edit("wrong operator", ((place, place + 1, words[1].encode()),))
            elif isinstance(node, ast.Constant) and type(node.value) is float and node.value != 0.0:
                yield _Edit(
                    "wrong constant", ((begin(node), end(node), repr(float(f"{1.25 * node.value:.6g}")).encode()),)
                )
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.func
                if (other := _FUNCTIONS.get(name.attr)) and ast.unparse(name.value) in ("tl", "tl.math"):
                    yield _Edit("wrong operator", ((end(name) - len(name.attr), end(name), other.encode()),))
                masking = [keyword for keyword in node.keywords if keyword.arg in ("mask", "other")]
                if any(keyword.arg == "mask" for keyword in masking):
                    spans = ((text.rfind(b",", 0, begin(keyword)), end(keyword), b"") for keyword in masking)
                    yield _Edit("dropped mask", tuple(sorted(spans)))
                for keyword in node.keywords:
                    if keyword.arg == "axis" and isinstance(keyword.value, ast.Constant):
                        turned = b"1" if keyword.value.value == 0 else b"0"
                        yield _Edit("wrong axis", ((begin(keyword.value), end(keyword.value), turned),))
                if name.attr == "program_id" and node.args and isinstance(node.args[0], ast.Constant):
                    turned = b"1" if node.args[0].value == 0 else b"0"
                    yield _Edit("wrong axis", ((begin(node.args[0]), end(node.args[0]), turned),))


def _starts(text: bytes) -> list[int]:
    """Where each line begins."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts
