"""A candidate's source without what does nothing to it here, taken out before anybody looks at it.

`trial` asks once: the rules judge, and the runners run, the text that comes out. No rule relies on what is left out
here; it is written so that the text means the same, for whoever runs the whole of it. Left out:

- `torch.backends.cudnn.benchmark = True` (or False), in the module or in a constructor: the judge's own setting stands
- `@torch.compiler.disable` and `@torch._dynamo.disable`, called or not, on functions: nothing is compiled here
- `logging.basicConfig(level=..., format=...)`, written out, in the module: nobody reads the log

and `with torch.set_grad_enabled(False):` becomes `with torch.no_grad():`, which it is.

What is not of exactly this form stays as it is, for the rules to refuse, and so does all of it where a name that it
begins with may stand for something else. Lines keep their numbers; what is kept and shown is the source as it came.
"""

import ast
import re

from tritonsmith.source import parse
from tritonsmith.verify.policy import MAX_SOURCE

_WORDS = ("cudnn", "disable", "basicConfig", "set_grad_enabled")
"""Sources without any of these words have nothing to leave out."""
_IMPORTED = {"torch.backends.cudnn", "torch.compiler", "torch._dynamo"}
"""Modules whose import is left out where nothing makes use of it any more."""
_BESIDE = {"staticmethod", "torch.no_grad()", "torch.no_grad", "torch.inference_mode()"}
"""Decorators that a mark may stand beside: they tell no marked function from another."""
_LEVELS = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "NOTSET"}


def unwrapped(source: str) -> str:
    """The source without what does nothing here; the very same text where nothing is left out."""
    if len(source) > MAX_SOURCE or not any(word in source for word in _WORDS):
        return source
    try:
        sheet = _Sheet(source)
        _settings(sheet)
        _marks(sheet)
        _logs(sheet)
        _gradients(sheet)
        _imports(sheet)
        text = sheet.text()
        # Text and tree were changed apart, and must agree.
        return text if ast.dump(parse(text)) == ast.dump(sheet.tree) else source
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


class _Sheet:
    """A source's tree and text, changed side by side, and what its names stand for."""

    def __init__(self, source: str) -> None:
        self.tree = parse(source)
        self._text = source.encode()
        self._starts = [0, *(found.end() for found in re.finditer(rb"\r\n|\r|\n", self._text))]
        self._edits: list[tuple[int, int, bytes]] = []
        self.bound = [name for node in ast.walk(self.tree) for name in _binds(node)]
        """Names that the source binds anywhere, as often as it does, imports left out."""
        self._imported: dict[str, tuple[str, int]] = {}
        imports = [node for node in ast.walk(self.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        for node in imports:
            for name, path in _aliases(node):
                known, line = self._imported.get(name, (path, node.lineno))
                # One that is imported in a function is known there alone.
                twice = path if known == path and node in self.tree.body else ""
                self._imported[name] = twice, min(line, node.lineno)
        self._vague = any(name == "*" for name in self._imported)

    def path(self, node: ast.expr) -> str:
        """The dotted name of an imported thing; empty for what may be anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        known, line = self._imported.get(node.id, ("", 0)) if isinstance(node, ast.Name) else ("", 0)
        if not known or self._vague or node.lineno <= line or (isinstance(node, ast.Name) and node.id in self.bound):
            return ""
        return ".".join([known, *reversed(parts)])

    def write(self, node: ast.expr | ast.stmt, text: str) -> None:
        """Put a text in a node's place, as many lines of it as there were; the tree is the caller's to change."""
        start, end = self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)
        self._replace(start, end, text)

    def drop(self, statement: ast.stmt) -> None:
        """`pass` in a statement's place."""
        for node in ast.walk(self.tree):
            for name in ("body", "orelse", "finalbody"):
                body = getattr(node, name, None)
                if isinstance(body, list) and statement in body:
                    body[body.index(statement)] = ast.Pass()
        self.write(statement, "pass")

    def undecorate(self, owner: ast.FunctionDef, decorator: ast.expr) -> None:
        """Take a decorator off a function."""
        start = self._place(decorator.lineno, decorator.col_offset)
        before = self._text[:start].rstrip(b" \t")
        if not before.endswith(b"@"):
            raise ValueError("a decorator in parentheses")
        owner.decorator_list.remove(decorator)
        self._replace(len(before) - 1, self._place(decorator.end_lineno, decorator.end_col_offset), "")

    def text(self) -> str:
        """The text with all changes."""
        text = self._text
        for start, end, new in sorted(self._edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text.decode()

    def _replace(self, start: int, end: int, text: str) -> None:
        lines = re.sub(rb"[^\r\n]", b"", self._text[start:end])
        self._edits.append((start, end, text.encode() + lines))

    def _place(self, line: int | None, column: int | None) -> int:
        if line is None or column is None:
            raise ValueError("a node without a place")
        return self._starts[line - 1] + column


def _binds(node: ast.AST) -> list[str]:
    """Names that a node may bind or share: all that is written in it, but for what is only read there."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.alias, ast.Attribute, ast.keyword, ast.Constant)):
        return []
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return []
    found: list[str] = []
    for _, value in ast.iter_fields(node):
        found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    return found


def _aliases(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    if isinstance(node, ast.Import):
        return [(one.asname or one.name.split(".")[0], one.name if one.asname else one.name.split(".")[0])
                for one in node.names]  # fmt: skip
    return [(one.asname or one.name, "" if node.level else f"{node.module}.{one.name}") for one in node.names]


def _settings(sheet: _Sheet) -> None:
    constructors = [n for n in ast.walk(sheet.tree) if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    for node in [statement for owner in (sheet.tree, *constructors) for statement in owner.body]:
        if not isinstance(node, ast.Assign) or len(node.targets) > 1 or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, bool) and sheet.path(node.targets[0]) == "torch.backends.cudnn.benchmark":
            sheet.drop(node)


def _marks(sheet: _Sheet) -> None:
    for node in [one for one in ast.walk(sheet.tree) if isinstance(one, ast.FunctionDef)]:
        marks = [one for one in node.decorator_list if _is_mark(sheet, one)]
        if {ast.unparse(one) for one in node.decorator_list if one not in marks} <= _BESIDE:
            for mark in marks:
                sheet.undecorate(node, mark)


def _is_mark(sheet: _Sheet, node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        plain = all(
            word.arg == "recursive" and isinstance(word.value, ast.Constant) and isinstance(word.value.value, bool)
            for word in node.keywords
        )
        return plain and not node.args and _is_mark(sheet, node.func) and not isinstance(node.func, ast.Call)
    return sheet.path(node) in ("torch.compiler.disable", "torch._dynamo.disable")


def _logs(sheet: _Sheet) -> None:
    for node in list(sheet.tree.body):
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or sheet.path(call.func) != "logging.basicConfig" or call.args:
            continue
        if all(_is_written_out(sheet, word) for word in call.keywords):
            sheet.drop(node)


def _is_written_out(sheet: _Sheet, word: ast.keyword) -> bool:
    value = word.value.value if isinstance(word.value, ast.Constant) else None
    if word.arg == "level":
        return type(value) in (int, str) or sheet.path(word.value).removeprefix("logging.") in _LEVELS
    return word.arg == "format" and isinstance(value, str)


def _gradients(sheet: _Sheet) -> None:
    for item in [one for one in ast.walk(sheet.tree) if isinstance(one, ast.withitem) and one.optional_vars is None]:
        call = item.context_expr
        if not isinstance(call, ast.Call) or sheet.path(call.func) != "torch.set_grad_enabled" or call.keywords:
            continue
        off = len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value is False
        if off and isinstance(call.func, ast.Attribute):
            sheet.write(call, ast.unparse(call.func.value) + ".no_grad()")
            call.func.attr, call.args = "no_grad", []


def _imports(sheet: _Sheet) -> None:
    """Imports of what was left out, where nothing else makes use of them."""
    used = {node.id for node in ast.walk(sheet.tree) if isinstance(node, ast.Name)}
    for node in list(sheet.tree.body):
        if isinstance(node, ast.Import) and len(node.names) == 1 and node.names[0].name in _IMPORTED:
            if node.names[0].asname is None:
                sheet.write(node, "import torch")  # which is what it binds
                node.names[0].name = "torch"
            elif node.names[0].asname not in used:
                sheet.drop(node)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            whole = node.module in _IMPORTED or all(f"{node.module}.{one.name}" in _IMPORTED for one in node.names)
            if whole and not any((one.asname or one.name) in used for one in node.names):
                sheet.drop(node)
