"""A candidate's source without what does nothing to it here, taken out before anybody looks at it.

`trial` asks once: the rules judge, and the runners run, the text that comes out. No rule relies on what is left out
here; it is written so that the text means the same, for whoever runs the whole of it. Left out:

- `torch.backends.cudnn.benchmark = True` (or False), in the module or in a constructor: the judge's own setting stands
- `@torch.compiler.disable` and `@torch._dynamo.disable`, called or not, on functions: nothing is compiled here
- `logging.basicConfig(level=..., format=...)`, written out, in the module: nobody reads the log
- which of two streams `print(..., file=sys.stderr)` goes to: nobody reads either
- imports of modules that candidates may not have, in the module, where nothing is named that they bind

and `with torch.set_grad_enabled(False):` becomes `with torch.no_grad():`, which it is. Operators that are registered
around a launch become the functions that they are: `@torch.library.custom_op("ns::name", mutates_args=...)` and
`triton_op` are taken off, functions for `register_fake` left out whole, `wrap_triton(kernel)` is `kernel`, a call of
`torch.ops.ns.name` one of the function. An operator that has more than that (kernels, gradients) stays as it is.
Liger-Kernel's `compare_version`, where it is asked for Triton's version alone, reads that instead of importing by name.

What is not of exactly this form stays as it is, for the rules to refuse, and so does all of it where a name that it
begins with may stand for something else. Lines keep their numbers; what is kept and shown is the source as it came.
"""

import ast
import re

from tritonsmith.source import parse
from tritonsmith.verify.policy import COMMON, MAX_SOURCE
from tritonsmith.verify.static.names import IMPORT_TREES, IMPORTS

_WORDS = ("cudnn", "disable", "basicConfig", "set_grad_enabled", "library", "stderr", "stdout")
"""Sources without any of these words have nothing to leave out."""
_IMPORTED = {"torch.backends.cudnn", "torch.compiler", "torch._dynamo", "torch.library"}
"""Modules whose import is left out where nothing makes use of it any more."""
_BESIDE = {"staticmethod", "torch.no_grad()", "torch.no_grad", "torch.inference_mode()"}
"""Decorators that a mark may stand beside: they tell no marked function from another."""
_LEVELS = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "NOTSET"}
_IMPORT = re.compile(r"^(?:import|from)[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE)
_NAME = re.compile(r"(?!aten::|prims?::|torch|quantized::|inductor)[A-Za-z_]\w*::[A-Za-z_]\w*")
"""Names of operators, but for those of torch's own."""
_COMPARES = """
def {name}(package, operator, target):
    try:
        pkg = importlib.import_module(package)
    except ImportError:
        return False
    pkg_version = Version(pkg.__version__)
    return operator(pkg_version, Version(target))
"""
"""Liger-Kernel's function, as its kernels' files have it, without annotations."""


def unwrapped(source: str) -> str:
    """The source without what does nothing here; the very same text where nothing is left out."""
    if len(source) > MAX_SOURCE or not (any(word in source for word in _WORDS) or _imports_others(source)):
        return source
    try:
        sheet = _Sheet(source)
        _settings(sheet)
        _marks(sheet)
        _logs(sheet)
        _prints(sheet)
        _gradients(sheet)
        _operators(sheet)
        _Wraps(sheet).visit(sheet.tree)
        _versions(sheet)
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

    def times(self, name: str) -> int:
        """How often the source binds a name; imports of it count as one."""
        return self.bound.count(name) + (name in self._imported)

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
        marks = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
        start = self._mark(marks[0]) if marks else self._place(statement.lineno, statement.col_offset)
        self._replace(start, self._place(statement.end_lineno, statement.end_col_offset), "pass")

    def undecorate(self, owner: ast.FunctionDef, decorator: ast.expr) -> None:
        """Take a decorator off a function."""
        owner.decorator_list.remove(decorator)
        end = self._place(decorator.end_lineno, decorator.end_col_offset)
        self._replace(self._mark(decorator), end, "")

    def text(self) -> str:
        """The text with all changes."""
        text = self._text
        for start, end, new in sorted(self._edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text.decode()

    def _mark(self, decorator: ast.expr) -> int:
        """Where the sign before a decorator stands."""
        before = self._text[: self._place(decorator.lineno, decorator.col_offset)].rstrip(b" \t")
        if not before.endswith(b"@"):
            raise ValueError("a decorator in parentheses")
        return len(before) - 1

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


def _prints(sheet: _Sheet) -> None:
    for call in [one for one in ast.walk(sheet.tree) if isinstance(one, ast.Call)]:
        if not isinstance(call.func, ast.Name) or call.func.id != "print" or sheet.times("print"):
            continue
        for word in call.keywords:
            if word.arg == "file" and sheet.path(word.value) in ("sys.stderr", "sys.stdout"):
                sheet.write(word.value, "None")  # as if it were not said
                word.value = ast.Constant(None)


def _gradients(sheet: _Sheet) -> None:
    for item in [one for one in ast.walk(sheet.tree) if isinstance(one, ast.withitem) and one.optional_vars is None]:
        call = item.context_expr
        if not isinstance(call, ast.Call) or sheet.path(call.func) != "torch.set_grad_enabled" or call.keywords:
            continue
        off = len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value is False
        if off and isinstance(call.func, ast.Attribute):
            sheet.write(call, ast.unparse(call.func.value) + ".no_grad()")
            call.func.attr, call.args = "no_grad", []


def _operators(sheet: _Sheet) -> None:
    functions = [
        node for node in sheet.tree.body if isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1
    ]
    named = [(_operator(sheet, node), node) for node in functions]
    names = [name for name, _ in named]
    made = {name: node for name, node in named if name and names.count(name) == sheet.times(node.name) == 1}
    own = {node.name: node for node in made.values()}
    fakes = [
        node for node in functions if (of := _faked(sheet, node, made, own)) is not None and of.lineno < node.lineno
    ]
    fakes = [node for node in fakes if _is_idle(sheet, node, fakes)]
    known = {id(node.decorator_list[0]) for node in fakes}
    for node in ast.walk(sheet.tree):
        attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in own
        if attribute and id(node) not in known:
            return
    for node in fakes:
        sheet.drop(node)
    for node in made.values():
        sheet.undecorate(node, node.decorator_list[0])
    for node in [one for one in ast.walk(sheet.tree) if isinstance(one, ast.Call)]:
        path = sheet.path(node.func).removesuffix(".default")
        called = made.get(path.removeprefix("torch.ops.").replace(".", "::")) if path.startswith("torch.ops.") else None
        if called is not None and called.lineno < node.lineno:
            sheet.write(node.func, called.name)
            node.func = ast.copy_location(ast.Name(called.name, ast.Load()), node.func)


def _faked(
    sheet: _Sheet, node: ast.FunctionDef, made: dict[str, ast.FunctionDef], own: dict[str, ast.FunctionDef]
) -> ast.FunctionDef | None:
    """The function, by its operator's name in `made` and by its own, whose shapes another one tells."""
    mark = node.decorator_list[0]
    if isinstance(mark, ast.Attribute) and isinstance(mark.value, ast.Name) and mark.attr == "register_fake":
        return own.get(mark.value.id)
    if isinstance(mark, ast.Call) and sheet.path(mark.func) == "torch.library.register_fake" and not mark.keywords:
        named = [one.value for one in mark.args if isinstance(one, ast.Constant)]
        return made.get(str(named[0])) if len(mark.args) == len(named) == 1 else None
    return None


def _is_idle(sheet: _Sheet, node: ast.FunctionDef, others: list[ast.FunctionDef]) -> bool:
    """Whether nothing happens where a function is defined, and nothing but these `others` ever has its name."""
    outside = [part for one in (node.args, node.returns) if one is not None for part in ast.walk(one)]
    named = any(
        isinstance(part, ast.Name) and part.id == node.name and isinstance(part.ctx, ast.Load)
        for part in ast.walk(sheet.tree)
    )
    alone = node.name == "_" or sheet.times(node.name) == sum(one.name == node.name for one in others)
    return alone and not named and not any(isinstance(part, (ast.Call, ast.NamedExpr)) for part in outside)


def _operator(sheet: _Sheet, node: ast.FunctionDef) -> str:
    """The name of the operator that a function is made, where its decorator says no more than that."""
    call, a = node.decorator_list[0], node.args
    if not isinstance(call, ast.Call) or len(call.args) != 1 or not isinstance(call.args[0], ast.Constant):
        return ""
    listed = [*a.posonlyargs, *a.args, *a.kwonlyargs]
    typed = node.returns is not None and all(one.annotation for one in listed) and not (a.vararg or a.kwarg)
    said = {word.arg: word.value for word in call.keywords}
    known = sheet.path(call.func) in ("torch.library.custom_op", "torch.library.triton_op") and "mutates_args" in said
    if not (known and typed) or not said.keys() <= {"mutates_args", "device_types"} or None in said:
        return ""
    try:
        changed, device = ast.literal_eval(said["mutates_args"]), ast.literal_eval(said.get("device_types", "'cuda'"))
    except ValueError:
        return ""
    own = [one.arg for one in listed]
    plain = changed == "unknown" or (
        isinstance(changed, (tuple, list, set, dict)) and all(one in own for one in changed)
    )
    name = call.args[0].value
    return name if plain and device == "cuda" and isinstance(name, str) and _NAME.fullmatch(name) else ""


class _Wraps(ast.NodeTransformer):
    """Kernels in place of what `wrap_triton` makes of them."""

    def __init__(self, sheet: _Sheet) -> None:
        self._sheet = sheet

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call that wraps a kernel by its name is that name; text keeps the parentheses."""
        wraps = len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.Name)
        if wraps and self._sheet.path(node.func) == "torch.library.wrap_triton":
            self._sheet.write(node.func, "")
            return node.args[0]
        return self.generic_visit(node)


def _versions(sheet: _Sheet) -> None:
    """Functions that compare the version of a module by its name, of which Triton's alone is asked."""
    for node in sheet.tree.body:
        if isinstance(node, ast.FunctionDef) and _compares(sheet, node) and _asks_of_triton(sheet, node.name):
            tried, versioned = node.body[0], node.body[1]
            sheet.drop(tried)
            for part in ast.walk(versioned):
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                    sheet.write(part.value, "triton")
                    part.value.id = "triton"


def _compares(sheet: _Sheet, node: ast.FunctionDef) -> bool:
    """Whether a function is that of Liger-Kernel, and its names, and Triton's, stand for what they should."""
    plain = ast.parse(ast.unparse(node)).body[0]
    for part in ast.walk(plain):
        if isinstance(part, ast.arg):
            part.annotation = None
        elif isinstance(part, ast.FunctionDef):
            part.returns = None
    named = {part.id: part for part in ast.walk(node) if isinstance(part, ast.Name)}
    known = {"importlib": "importlib", "Version": "packaging.version.Version"}
    same = ast.dump(plain) == ast.dump(ast.parse(_COMPARES.format(name=node.name)).body[0])
    triton = ast.copy_location(ast.Name("triton", ast.Load()), node)
    return (
        same
        and sheet.times(node.name) == 1
        and sheet.path(triton) == "triton"
        and all(sheet.path(named[name]) == path for name, path in known.items())
    )


def _asks_of_triton(sheet: _Sheet, name: str) -> bool:
    """Whether a function of that name is only called, with Triton's name first."""
    calls = [part for part in ast.walk(sheet.tree) if isinstance(part, ast.Call)]
    asked = {id(call.func) for call in calls if call.args and _is_text(call.args[0], "triton")}
    uses = [part for part in ast.walk(sheet.tree) if isinstance(part, ast.Name) and part.id == name]
    return all(id(use) in asked for use in uses)


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _imports_others(source: str) -> bool:
    return any(_is_other(found) for found in _IMPORT.findall(source))


def _is_other(module: str) -> bool:
    """Whether a module is none of those that may be imported."""
    return module not in IMPORTS | COMMON and not module.startswith(IMPORT_TREES)


def _imports(sheet: _Sheet) -> None:
    """Imports of what was left out, and of modules that are not for candidates, where nothing makes use of them.

    Such a module is then never loaded, and whoever uses it after all, by a name that is not written out, has none.
    """
    used = {node.id for node in ast.walk(sheet.tree) if isinstance(node, ast.Name)}
    for node in list(sheet.tree.body):
        if isinstance(node, ast.Import) and len(node.names) == 1 and _is_left(node.names[0].name):
            alias = node.names[0]
            root = alias.name.split(".")[0]
            if alias.asname is None and root in ("torch", "triton") and root != alias.name:
                sheet.write(node, f"import {root}")  # which is what it binds
                alias.name = root
            elif (alias.asname or root) not in used:
                sheet.drop(node)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            whole = _is_left(node.module) or all(f"{node.module}.{one.name}" in _IMPORTED for one in node.names)
            if whole and not any(one.name == "*" or (one.asname or one.name) in used for one in node.names):
                sheet.drop(node)


def _is_left(module: str) -> bool:
    return module in _IMPORTED or _is_other(module)
