"""Candidates that differ in form alone: comments, blank lines, spacing. They are one program and get one verdict.

Equal are sources with equal syntax trees; docstrings count, for code can read them. Lines differ, so a verdict is told
again in the other source's lines. Renamed variables and reordered statements make another program here.
"""

import ast
import hashlib
import keyword
import re
from bisect import bisect_right

from tritonsmith.source import parse
from tritonsmith.types import Verdict
from tritonsmith.verify.policy import MAX_SOURCE

_ANY = r"(?:\\(?:.|\Z)|[^\\])*?"
_WORDS = re.compile(
    rf"[rRbBuUfF]{{0,2}}(?:\"{{3}}{_ANY}(?:\"{{3}}|\Z)|'{{3}}{_ANY}(?:'{{3}}|\Z)|\"{_ANY}(?:\"|\Z)|'{_ANY}(?:'|\Z))"
    r"|#[^\n]*|\.?\d[\w.]*|([A-Za-z_]\w*)",
    re.DOTALL | re.ASCII,
)
"""Strings, comments and numbers, which one program may have written in several ways, and the words outside of them.

A string without an end goes to the text's: looked for from each quote anew, it would take the square of its time."""
_MAY_BE_INDENTED = re.compile(r"(?<!\n)@|\\\n|\r")
"""A decorator that may stand further right than a line begins, or a line that may begin elsewhere than it seems."""
_HEADS = re.compile(r"\bdef\b[ \t]*(?:\w+[ \t]*)?\\\r?\n|\f")
"""What may stand before a function's bracket, and where Triton looks for `def` and a name on one line, and at its
beginning."""


def sketch(source: str | None) -> str:
    """A word that is the same for sources that are one program, and seldom for others; a twentieth of `program`'s cost.

    It is made of the names, in their order. Keywords are none: `elif` may be an `else` and an `if`.
    """
    if source is None or not source.isascii():  # other letters have several spellings
        return "" if source is None else "="
    names = [word for word in _WORDS.findall(source) if word and not keyword.iskeyword(word)]
    return hashlib.sha256(" ".join(names).encode()).hexdigest()


def program(source: str | None) -> str:
    """A word that is the same for sources that differ in form alone; None, no code at all, has one too."""
    text = "" if source is None else "=" + _normal(source)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _normal(source: str) -> str:
    if len(source) > MAX_SOURCE:  # a rule of its own counts characters
        return source
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    indented = _MAY_BE_INDENTED.search(source) is not None
    if _HEADS.search(source) or (indented and any(_read_as_text(node) for node in ast.walk(tree))):
        return source
    try:
        return "tree: " + ast.dump(tree)
    except RecursionError:
        return source


def _read_as_text(node: ast.AST) -> bool:
    """Whether Triton may fail on this function for its form: it reads the text, and indentation can mislead it."""
    function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return function and bool(node.decorator_list) and node.col_offset > 0


def retold(verdict: Verdict, judged: str, other: str) -> Verdict:
    """The verdict on `judged` as that on `other`, which differs from it in form alone."""
    told = verdict.model_copy(deep=True)
    if judged == other or all(finding.line is None for finding in told.findings):
        return told
    lines = _lines(judged, other)
    known = sorted(lines)
    for finding in told.findings:
        if finding.line is not None and (place := bisect_right(known, finding.line)) > 0:
            finding.line = lines[known[place - 1]]
    return told


def _lines(judged: str, other: str) -> dict[int, int]:
    """Which line of `other` holds what begins on a line of `judged`."""
    found: dict[int, int] = {}
    for one, two in zip(ast.walk(parse(judged)), ast.walk(parse(other)), strict=True):
        if (line := getattr(one, "lineno", None)) is not None:
            found.setdefault(line, getattr(two, "lineno", line))
    return found
