"""A task's sizes in its source: which integers they are, and the source with others in their place.

Every integer literal that sizes something goes through one map of values, so that equal constants stay
equal and multiples stay multiples. Reached are the module's own assignments and the bodies of
`get_inputs` and `get_init_inputs`; the model's code is never touched. A range of random integers that the model's
code names as well (classes, rows of an embedding) stays as it is. Does not guess what a constant means, and does not
say which sizes are worth trying: that is `versions`'.
"""

import ast
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tritonsmith.source import parse
from tritonsmith.tasks.dry import same_operators
from tritonsmith.types import Task

_BASE, _MOST_BITS = 10, 62
"""The largest base, and the largest exponent, of a power that is a size."""
_CONTENTS = ("tensor", "as_tensor", "LongTensor", "IntTensor")
"""Functions that make a tensor of a list's numbers."""
_RANDOM_INTEGERS = ("randint", "randint_like", "random_")
"""Functions that draw integers between bounds; sizes are given to them in tuples."""


def rescale(source: str, change: Callable[[int], int], keep: Collection[int] = ()) -> str:
    """Rewrite the sizing integers of a task's source, but for those in `keep`."""
    tree = _parsed(source)
    sizing = [node for node in tree.body if _sizes(node)]
    named = _integers(node for node in tree.body if node not in sizing)
    own = _integers(node for node in sizing if not (isinstance(node, ast.FunctionDef) and node.name == "get_inputs"))
    rewriter = _Integers(change, keep, named - own, _integers(sizing))
    for node in sizing:
        rewriter.visit(node)
    return ast.unparse(tree)


def resized(source: str, change: Callable[[int], int]) -> str:
    """The source with its sizes changed, and its counts of layers and steps as they are."""
    plain = rescale(source, change)
    if same_operators(source, plain):
        return plain
    sizing = _integers(node for node in parse(source).body if _sizes(node))
    counts = [
        count
        for count in sizing
        if change(count) != count and not same_operators(source, rescale(source, change, sizing - {count}))
    ]
    return rescale(source, change, counts)


def sizes(task: Task) -> set[int]:
    """The integers that say how large a task is."""
    return _integers(node for node in _parsed(task.source).body if _sizes(node))


def paired(task: Task, other: Task) -> set[tuple[int, int]]:
    """Each size of a task beside what stands for it in another version."""
    ours, others = (_integers_of(one.source) for one in (task, other))
    return set(zip(ours, others, strict=False))


def named_in_forward(source: str) -> set[int]:
    """The integers that a task's classes and functions name, but for what they are constructed with."""
    nodes = [part for node in parse(source).body if not _sizes(node) for part in ast.walk(node)]
    return _integers(node for node in nodes if isinstance(node, ast.FunctionDef) and node.name != "__init__")


def named_by_the_model(source: str) -> set[int]:
    """The integers that a task's code names where it is not for rescaling: in its classes and functions."""
    return _integers(node for node in _parsed(source).body if not _sizes(node))


def bounded_by_arguments(source: str) -> bool:
    """Whether random integers are drawn below a number, or a name, that the constructor is given as well."""
    tree = parse(source)
    made = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "get_init_inputs"]
    named = {part.id for node in made for part in ast.walk(node) if isinstance(part, ast.Name)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) in _RANDOM_INTEGERS]
    given = [one for call in calls for one in (*call.args, *_bounds(call)) if not isinstance(one, ast.Tuple)]
    names = {part.id for one in given for part in ast.walk(one) if isinstance(part, ast.Name)}
    return bool(names & named) or bool((_integers(given) - {0, 1}) & _integers(made))


def _bounds(call: ast.Call) -> list[ast.expr]:
    """The bounds of random integers that are given by name."""
    return [keyword.value for keyword in call.keywords if keyword.arg in ("low", "high", "from", "to")]


def _parsed(source: str) -> ast.Module:
    """A task's syntax tree, in which a size that is written as a power is the number that it is."""
    tree = parse(source)
    single = [node for node in tree.body if isinstance(node, ast.Assign) and len(node.targets) == 1]
    known = {node.targets[0].id: node.value for node in single if isinstance(node.targets[0], ast.Name)}
    powers = _Powers(known)
    tree.body = [powers.visit(node) if _sizes(node) else node for node in tree.body]
    return tree


def _sizes(node: ast.stmt) -> bool:
    """Whether a statement of a module says how large the task is."""
    function = isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs")
    return function or isinstance(node, (ast.Assign, ast.AnnAssign))


def _integers(nodes: Iterable[ast.AST]) -> set[int]:
    inner = (part for node in nodes for part in ast.walk(node))
    return {part.value for part in inner if isinstance(part, ast.Constant) and type(part.value) is int}


def _integers_of(source: str) -> list[int]:
    """The integers that say how large a task is, in the order in which they stand."""
    parts = (part for node in _parsed(source).body if _sizes(node) for part in ast.walk(node))
    return [part.value for part in parts if isinstance(part, ast.Constant) and type(part.value) is int]


def _whole(node: ast.List) -> list[int]:
    """The numbers of a list that holds nothing but whole ones, else none."""
    found = [one.value for one in node.elts if isinstance(one, ast.Constant) and type(one.value) is int]
    return found if len(found) == len(node.elts) else []


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else str(getattr(node.func, "id", ""))


class _Powers(ast.NodeTransformer):
    """Puts the size that `1 << 14` and `2 ** 14` are in their place: twice the 14 is no size twice as large."""

    def __init__(self, known: Mapping[str, ast.expr]) -> None:
        """`known` is what the module's names are assigned."""
        self._known = known

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, (ast.LShift, ast.Pow)) or not isinstance(node.left, ast.Constant):
            return node
        base, count = node.left.value, self._number(node.right)
        if type(base) is not int or not 0 < base <= _BASE or count is None or not 0 <= count <= _MOST_BITS:
            return node  # another base is a size itself
        value = base << count if isinstance(node.op, ast.LShift) else base**count
        return ast.copy_location(ast.Constant(value), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _called(node) in _RANDOM_INTEGERS:  # a bound is a range of values, and no size
            node.args = [one if isinstance(one, ast.BinOp) else self.visit(one) for one in node.args]
            return node
        return self.generic_visit(node)

    def _number(self, node: ast.expr) -> int | None:
        found = self._known.get(node.id) if isinstance(node, ast.Name) else node
        return found.value if isinstance(found, ast.Constant) and type(found.value) is int else None


class _Integers(ast.NodeTransformer):
    def __init__(
        self, change: Callable[[int], int], keep: Collection[int], ranges: Collection[int], known: Collection[int]
    ) -> None:
        """`keep` are integers that stay everywhere, `ranges` those that stay where they bound random integers, `known`
        all that are to be changed."""
        self._change, self._keep, self._ranges, self._known = change, keep, ranges, known
        self._bounds: set[ast.expr] = set()
        self._contents: set[ast.expr] = set()
        """Lists that tensors are made of."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if type(node.value) is not int or node.value in self._keep or node in self._bounds:
            return node
        return ast.copy_location(ast.Constant(self._change(node.value)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _called(node) in _RANDOM_INTEGERS:
            bounds = [one for one in (*node.args, *_bounds(node)) if isinstance(one, ast.Constant)]
            self._bounds.update(one for one in bounds if one.value in self._ranges)
        if _called(node) in _CONTENTS:
            self._contents.update(one for one in node.args if isinstance(one, ast.List))
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        node.left = self.visit(node.left)
        power = isinstance(node.op, (ast.LShift, ast.RShift, ast.Pow))
        if not power or not isinstance(node.right, (ast.Constant, ast.Name)):  # such an exponent is no dimension
            node.right = self.visit(node.right)
        return node

    def visit_List(self, node: ast.List) -> ast.AST:
        """Offsets that rise from 0 keep their proportions, and so do lengths whose sum, or largest, is a size of the
        task."""
        given = _whole(node)
        if len(given) > 2 and given[0] == 0 and given == sorted(given) and given[-1] > 0:
            return self._in_proportion(node, given)
        ends = list(itertools.accumulate(given))
        lengths = node in self._contents and len(given) > 1 and min(given) >= 0 and ends[-1] > 0
        if lengths and ends[-1] in self._known:
            changed = [0, *_whole(self._in_proportion(node, ends))]
            node.elts = [ast.Constant(end - start) for start, end in itertools.pairwise(changed)]
            return node
        if lengths and min(given) > 0 and (most := max(given)) in self._known:
            last = self._change(most)
            return ast.List([ast.Constant(max(round(one * last / most), 1)) for one in given], node.ctx)
        return self.generic_visit(node)

    def _in_proportion(self, node: ast.List, given: Sequence[int]) -> ast.List:
        last = self._change(given[-1])
        return ast.List([ast.Constant(round(one * last / given[-1])) for one in given], node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        node.value = self.visit(node.value)  # an index picks, it does not size
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        return node if node.arg in ("dim", "axis", "dims", "seed") else self.generic_visit(node)  # type: ignore[return-value]
