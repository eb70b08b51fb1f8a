"""A function's text made shorter without changing what it computes: constants, aliases, dead and single-use names.

Made for straight-line code with loops, where every name means one thing, as Inductor writes it. Knows nothing of
Triton but that calls other than `tl.store` and atomics have no effect.
"""

import ast
import copy
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

MAX_INLINED = 60
"""Characters of an expression that is still moved to where its value is used."""
_EFFECTS = ("tl.store", "tl.atomic", "tl.debug_barrier", "tl.device_assert")
_TAKE_NUMBERS = ("tl.where", "tl.maximum", "tl.minimum")


def simplify(function: ast.FunctionDef, constant: Callable[[ast.expr], ast.expr | None]) -> None:
    """Shorten a function in place; `constant` gives the number that an expression stands for, if it does."""
    for step in (lambda: _constants(function, constant), lambda: _aliases(function), lambda: _remove_dead(function)):
        step()
    _Arithmetic().visit(function)
    _inline(function.body, _uses(function), _definitions(function))
    _Arithmetic().visit(function)
    _remove_dead(function)
    _number(function)
    ast.fix_missing_locations(function)


def arithmetic(node: ast.expr) -> ast.expr:
    """An expression with differences written as such and nothing added that is 0."""
    return ast.fix_missing_locations(_Arithmetic().visit(node))


class Rename(ast.NodeTransformer):
    """Puts expressions in the place of names that are read, and names in the place of those that are written."""

    def __init__(self, names: Mapping[str, ast.expr | str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name where it is read or written."""
        new = self._names.get(node.id)
        if new is None:
            return node
        return ast.Name(new, node.ctx) if isinstance(new, str) else copy.deepcopy(new)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """A parameter."""
        new = self._names.get(node.arg)
        return ast.arg(new, node.annotation) if isinstance(new, str) else node


def _definitions(function: ast.FunctionDef) -> dict[str, list[str]]:
    """For each name the texts it is set to; parameters and loop counters are set to something of their own."""
    found: dict[str, list[str]] = defaultdict(list)
    for arg in function.args.args:
        found[arg.arg].append("parameter")
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id].append(ast.unparse(node.value))
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for part in (part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)):
                found[part.id] += [f"part of {ast.unparse(target)}" for target in targets]
    return found


def _uses(function: ast.FunctionDef) -> Counter[str]:
    return Counter(n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _constants(function: ast.FunctionDef, constant: Callable[[ast.expr], ast.expr | None]) -> None:
    """Numbers in the place of names that stand for them, but where a tensor is wanted."""
    tensors = {n.value.id for n in ast.walk(function) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
            tensors |= {node.args[0].id} if ast.unparse(node.func) not in _TAKE_NUMBERS else set()
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            tensors.add(node.value.id)
    definitions = _definitions(function)
    values: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        name = _target(node)
        if name and name not in tensors and len(set(definitions[name])) == 1:
            assert isinstance(node, ast.Assign)
            if (value := constant(node.value)) is not None:
                values[name] = value
    _substitute(function, values)


def _aliases(function: ast.FunctionDef) -> None:
    """Names that are other names, `x0 = xindex`, where both always are the same."""
    definitions = _definitions(function)
    values: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        name = _target(node)
        if not (name and isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)):
            continue
        if len(set(definitions[name])) == len(set(definitions[node.value.id])) == 1:
            values[name] = node.value
    for name, value in values.items():
        while isinstance(value, ast.Name) and value.id in values:
            value = values[value.id]
        values[name] = value
    _substitute(function, values)


def _substitute(function: ast.FunctionDef, values: Mapping[str, ast.expr]) -> None:
    if values:
        for node in ast.walk(function):
            for block in _blocks(node):
                block[:] = [line for line in block if _target(line) not in values]
        Rename(values).visit(function)


def _target(node: ast.AST) -> str:
    """The one name that an assignment sets, else nothing."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def _remove_dead(function: ast.FunctionDef) -> None:
    """Leave out what sets names that nobody reads."""
    while True:
        used = _uses(function)
        dead = [
            line
            for node in ast.walk(function)
            for block in _blocks(node)
            for line in block
            if (_sets(line) or isinstance(line, ast.Expr))
            and not any(used[name] for name in _sets(line))
            and not _acts(line)
        ]
        if not dead:
            return
        for node in ast.walk(function):
            for block in _blocks(node):
                block[:] = [line for line in block if line not in dead]


def _sets(line: ast.stmt) -> list[str]:
    if not isinstance(line, (ast.Assign, ast.AnnAssign)):
        return []
    targets = line.targets if isinstance(line, ast.Assign) else [line.target]
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def _acts(line: ast.stmt) -> bool:
    return any(isinstance(n, ast.Call) and ast.unparse(n.func).startswith(_EFFECTS) for n in ast.walk(line))


def _inline(block: list[ast.stmt], uses: Counter[str], definitions: Mapping[str, list[str]]) -> None:
    """Move short expressions to the one place that uses them, within a block; loads stay where they are."""
    for line in block:
        for inner in _blocks(line):
            _inline(inner, uses, definitions)
    place = 0
    while place < len(block):
        line = block[place]
        name = _target(line)
        if name and uses[name] == 1 and len(definitions[name]) == 1 and _movable(line):
            assert isinstance(line, ast.Assign)
            user = next((later for later in block[place + 1 :] if name in _reads(later)), None)
            moved = set(_reads(line))
            between = block[place + 1 : block.index(user)] if user else []
            changed = {n for other in between for n in _written(other)} & moved
            if user is not None and not isinstance(user, (ast.For, ast.If)) and not changed:
                Rename({name: line.value}).visit(user)
                del block[place]
                continue
        place += 1


def _movable(line: ast.stmt) -> bool:
    assert isinstance(line, ast.Assign)
    text = ast.unparse(line.value)
    return len(text) <= MAX_INLINED and not any(word in text for word in ("tl.load", "tl.sum", "tl.max(", "tl.min("))


def _number(function: ast.FunctionDef) -> None:
    """`tmp0`, `tmp1`, ... in the order in which they come up, and `acc`, `acc1`, ... for what a loop adds to."""
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    nodes = (n for line in function.body for n in _in_order(line))
    for name in (n.id for n in nodes if isinstance(n, ast.Name)):
        found = re.fullmatch(r"(_?)tmp\d+", name)
        if found and name not in names:
            stem = "acc" if found[1] else "tmp"
            names[name] = f"{stem}{counts[stem] or ''}" if found[1] else f"{stem}{counts[stem]}"
            counts[stem] += 1
    Rename(names).visit(function)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _reads(line: ast.stmt) -> Iterator[str]:
    return (n.id for n in ast.walk(line) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _written(line: ast.stmt) -> Iterator[str]:
    return (n.id for n in ast.walk(line) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _negative(node: ast.expr) -> ast.expr | None:
    """`x` of `-x`, `-1 * x` and a negative number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value < 0:
        return ast.Constant(-node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and (left := _negative(node.left)) is not None:
        is_one = isinstance(left, ast.Constant) and left.value == 1
        return node.right if is_one else ast.BinOp(left, ast.Mult(), node.right)
    return None


def _uncast(node: ast.expr) -> ast.expr | None:
    """The size of `size.to(tl.float32)`: a quotient of a float and an integer is a float already."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to"):
        return None
    names = {part.id for part in ast.walk(node.func.value) if isinstance(part, ast.Name)}
    return node.func.value if names and all(re.fullmatch(r"ks\d+|\w?numel", name) for name in names) else None


def _unbroadcast(node: ast.expr, other: ast.expr) -> ast.expr:
    """`x` for `tl.broadcast_to(x, shape)` beside an accumulator, which has the shape already."""
    is_broadcast = isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.broadcast_to"
    accumulates = isinstance(other, ast.Name) and other.id.startswith("_tmp")
    return node.args[0] if is_broadcast and accumulates and isinstance(node, ast.Call) else node


class _Arithmetic(ast.NodeTransformer):
    """`a - b` for `-1 * b + a`, `a` for `a & True` and `a + 0`; a cast made twice is made once."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node.func) in ("tl.maximum", "tl.minimum"):
            node.args = [_unbroadcast(node.args[0], node.args[1]), _unbroadcast(node.args[1], node.args[0])]
            node.args.sort(key=lambda arg: isinstance(arg, ast.Constant))
        inner = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "to" else None
        twice = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "to"
        return inner if twice and ast.unparse(inner.args[0]) == ast.unparse(node.args[0]) else node  # type: ignore

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right = node.left, node.right
        if isinstance(node.op, ast.Div) and (number := _uncast(right)) is not None:
            node.right = right = number
        if isinstance(node.op, ast.BitAnd):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, ast.Constant) and one.value is True:
                    return other
        if isinstance(node.op, (ast.Add, ast.Mult)):
            node.left, node.right = left, right = _unbroadcast(left, right), _unbroadcast(right, left)
        if isinstance(node.op, ast.Add):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, ast.Constant) and one.value == 0 and type(one.value) is int:
                    return other
            if (positive := _negative(right)) is not None:
                return ast.BinOp(left, ast.Sub(), positive)
            if (positive := _negative(left)) is not None and _negative(right) is None:
                return ast.BinOp(right, ast.Sub(), positive)
        return node
