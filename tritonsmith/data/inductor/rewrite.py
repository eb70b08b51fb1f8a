"""Inductor's own words in a kernel put into `triton.language`: helpers, decorators, scans, arguments of loads.

Loads of floating-point memory get a cast to float32, so that one kernel serves half precision too. What has no form
here raises `Unsupported`; libdevice's rarer functions stay, since `triton.language.extra` has them.
"""

import ast
from collections.abc import Mapping

FLOATS = {"*fp32", "*fp16", "*bf16"}
_RENAMED = {
    "triton_helpers.maximum": "tl.maximum",
    "triton_helpers.minimum": "tl.minimum",
    "triton_helpers.max2": "tl.max",
    "triton_helpers.min2": "tl.min",
    "tl.sqrt_rn": "tl.sqrt",
    "tl.range": "range",
    "libdevice.fabs": "tl.abs",
}
_PLAIN = {"exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "abs", "erf", "floor", "ceil", "fma"}
"""Functions that `libdevice`, `tl_math` and `tl.math` share with `triton.language` itself."""
_FORMULAS = {
    "libdevice.tanh": "2.0 * tl.sigmoid(2.0 * ({0})) - 1.0",
    "libdevice.expm1": "tl.exp({0}) - 1.0",
    "libdevice.log1p": "tl.log(1.0 + ({0}))",
    "libdevice.isnan": "({0}) != ({0})",
    "libdevice.isinf": 'tl.abs({0}) == float("inf")',
    "libdevice.trunc": "tl.where(({0}) < 0, tl.ceil({0}), tl.floor({0}))",
    "triton_helpers.div_floor_integer": "({0}) // ({1})",
    "triton_helpers.remainder_integer": "({0}) % ({1})",
    "triton_helpers.promote_to_tensor": "{0}",
    "triton_helpers.select_one": "tl.sum(tl.where({1}, {0}, 0), 1, keep_dims=True)",
    "triton_helpers.prod": "tl.reduce({0}, {1}, multiply)",
    "triton_helpers.any": "tl.max(({0}).to(tl.int32), {1}) != 0",
}
_SEVERAL = {
    # the first of equal values wins, as in torch
    "maximum_with_index": ("tl.maximum({0}, {2})", "tl.where({2} > {0}, {3}, {1})"),
    "minimum_with_index": ("tl.minimum({0}, {2})", "tl.where({2} < {0}, {3}, {1})"),
    "max_with_index": ("tl.max({0}, 1)", "tl.min(tl.where({0} == tl.max({0}, 1)[:, None], {1}, 2147483647), 1)"),
    "min_with_index": ("tl.min({0}, 1)", "tl.min(tl.where({0} == tl.min({0}, 1)[:, None], {1}, 2147483647), 1)"),
    # Welford's update (Knuth, The Art of Computer Programming, vol. 2, 4.2.2), and Chan's combination of its parts
    "welford_reduce": (
        "{1} + ({0} - {1}) / ({3} + 1.0)",
        "{2} + ({0} - {1}) * ({0} - {1}) * ({3} / ({3} + 1.0))",
        "{3} + 1.0",
    ),
    "welford": (
        "tl.sum({0} * {2}, 1) / tl.sum({2}, 1)",
        "tl.sum({1} + {2} * ({0} - (tl.sum({0} * {2}, 1) / tl.sum({2}, 1))[:, None]) * {0}, 1)",
        "tl.sum({2}, 1)",
    ),
}
"""Helpers with several results, which follow one another where they stand."""
_SCANS = {"arg0_0 + arg1_0": "tl.cumsum", "arg0_0 * arg1_0": "tl.cumprod"}


_MULTIPLY = "@triton.jit\ndef multiply(a, b):\n    return a * b"


class Unsupported(Exception):
    """Something of Inductor's that has no form here; its text is a Miss's reason."""


def rewrite(function: ast.FunctionDef, types: Mapping[str, str], helpers: list[ast.FunctionDef]) -> None:
    """Put a kernel into plain Triton, in place; `types` are those of its parameters."""
    floats = {name for name, type in types.items() if type in FLOATS}
    scans = {helper.name: _SCANS.get(_computed(helper), "") for helper in helpers}
    _Words(floats, scans).visit(function)
    helpers[:] = [helper for helper in helpers if not scans[helper.name]]
    if "tl.reduce(" in ast.unparse(function):
        helpers += [part for part in ast.parse(_MULTIPLY).body if isinstance(part, ast.FunctionDef)]
    ast.fix_missing_locations(function)


def dotted(node: ast.AST) -> str:
    """`tl.math.exp` for such an expression, nothing for what is no dotted name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def number(node: ast.expr) -> ast.expr | None:
    """The number that `tl.full([1, 1], 0.5, tl.float32)` stands for."""
    if not (isinstance(node, ast.Call) and dotted(node.func) == "tl.full" and isinstance(node.args[0], ast.List)):
        return None
    shape, value = node.args[0].elts, node.args[1]
    single = all(isinstance(size, ast.Constant) and size.value == 1 for size in shape)
    return value if single and not isinstance(value, ast.Name) else None


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _computed(helper: ast.FunctionDef) -> str:
    """What a helper of one assignment and one return computes."""
    first = helper.body[0]
    return ast.unparse(first.value) if len(helper.body) == 2 and isinstance(first, ast.Assign) else ""


class _Words(ast.NodeTransformer):
    def __init__(self, floats: set[str], scans: Mapping[str, str]) -> None:
        self._floats, self._scans = floats, scans

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        target, value = node.targets[0], node.value
        if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Call)):
            return node
        name = dotted(value.func)
        if name in _SCANS.values():
            node.targets = [target.elts[0]]
            return node
        formulas = _SEVERAL.get(name.removeprefix("triton_helpers."))
        if formulas is None or len(formulas) != len(target.elts):
            return node
        if name.endswith((".welford", "with_index")) and ast.unparse(value.args[-1]) == "0":
            raise Unsupported("a reduction over the first axis of a block")
        given = [_bracketed(arg) for arg in value.args]
        pairs = zip(target.elts, formulas, strict=True)
        return [ast.fix_missing_locations(ast.Assign([t], _expression(f.format(*given)), lineno=0)) for t, f in pairs]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = dotted(node.func)
        library, _, short = name.rpartition(".")
        if name == "tl.load":
            return self._load(node)
        if name == "tl.store":
            _mask(node, 2)
        elif name in _RENAMED:
            node.func = _expression(_RENAMED[name])
        elif _is_zero_block(node):
            return ast.Call(_expression("tl.zeros"), [node.args[0], node.args[2]], [])
        elif library in ("libdevice", "tl_math", "tl.math") and short in _PLAIN:
            node.func = _expression(f"tl.{short}")
        elif name == "libdevice.pow":
            return _power(node)
        elif name in _FORMULAS:
            return _expression(_FORMULAS[name].format(*map(ast.unparse, node.args)))
        elif name == "tl.associative_scan":
            return self._scan(node)
        elif library == "triton_helpers" and short not in _SEVERAL:
            raise Unsupported(f"Inductor's {short}")
        elif library == "tl_math":
            node.func = _expression(f"libdevice.{short}")
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node) == "tl.program_id(1) + tl.program_id(2) * tl.num_programs(1)":
            return _expression("tl.program_id(1)")
        return _expression(largest) if (largest := _at_least_one(node)) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        return node.value if isinstance(node.slice, ast.Slice) and node.slice.upper is None else node

    def _load(self, node: ast.Call) -> ast.expr:
        node.keywords = [word for word in node.keywords if word.arg != "eviction_policy"]
        _mask(node, 1)
        names = (part.id for part in ast.walk(node.args[0]) if isinstance(part, ast.Name))
        if next(name for name in names if "ptr" in name) not in self._floats:
            return node
        return ast.Call(ast.Attribute(node, "to", ast.Load()), [_expression("tl.float32")], [])

    def _scan(self, node: ast.Call) -> ast.expr:
        scan = self._scans.get(ast.unparse(node.args[2]))
        if not scan:
            return node
        given = node.args[0].elts[0] if isinstance(node.args[0], ast.Tuple) else node.args[0]
        return ast.Call(_expression(scan), [given, node.args[1]], [])


def _is_zero_block(node: ast.Call) -> bool:
    """Whether this is `tl.full([XBLOCK, RBLOCK], 0, dtype)`."""
    if dotted(node.func) != "tl.full" or not isinstance(node.args[0], ast.List):
        return False
    value = node.args[1]
    sized = any(isinstance(size, ast.Name) for size in node.args[0].elts)
    return sized and isinstance(value, ast.Constant) and type(value.value) is int and value.value == 0


def _bracketed(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if isinstance(node, (ast.Name, ast.Constant)) else f"({text})"


def _mask(node: ast.Call, place: int) -> None:
    """The mask as a keyword; none where it is None."""
    if len(node.args) > place:
        mask = node.args.pop(place)
        if not (isinstance(mask, ast.Constant) and mask.value is None):
            node.keywords.insert(0, ast.keyword("mask", mask))
    if not any(word.arg == "mask" for word in node.keywords):
        node.keywords = [word for word in node.keywords if word.arg != "other"]


def _power(node: ast.Call) -> ast.expr:
    """A square root where the exponent is a half; other powers are libdevice's."""
    numbers = [n.value for n in ast.walk(node.args[1]) if isinstance(n, ast.Constant) and type(n.value) is float]
    if numbers != [0.5]:
        return node
    return _expression(f"tl.sqrt({ast.unparse(node.args[0]).replace('tl.float64', 'tl.float32')})")


def _at_least_one(node: ast.BinOp) -> str:
    """`n` for `1 * (1 >= n) + n * (n > 1)`, which is how Inductor writes max(1, n): sizes are never 0 here."""
    if not (isinstance(node.op, ast.Add) and isinstance(node.right, ast.BinOp)):
        return ""
    size, bracketed = ast.unparse(node.right.left), _bracketed(node.right.left)
    written = _expression(f"1 * (1 >= {bracketed}) + {bracketed} * ({bracketed} > 1)")
    return size if ast.unparse(node) == ast.unparse(written) else ""
