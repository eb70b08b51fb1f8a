"""Smaller (or larger) versions of a task, made by rewriting its integer constants.

Every integer literal that sizes something goes through one map of values, so that equal constants stay
equal and multiples stay multiples. Reached are the module's own assignments and the bodies of
`get_inputs` and `get_init_inputs`; the model's code is never touched. A range of random integers that the model's
code names as well (classes, rows of an embedding) stays as it is; so do all constants that it names where the task
runs at no other size. Where no cap on the constants gives a size that runs, all are divided alike, which keeps how they
stand to each other. Does not guess what a constant means: whether a scaled task makes sense is found out by running
the reference on it.
"""

import ast
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from torch.utils.flop_counter import FlopCounterMode

from tritonsmith.source import parse
from tritonsmith.tasks.dry import Dry, dry, elements, emptied, given, same_operators, tensors, weights
from tritonsmith.tasks.dry import runs_without_data as runs_without_data
from tritonsmith.tasks.format import TaskError, TaskModule, forward, one_line
from tritonsmith.types import Task

LIGHT_CAPS = (4096, 2048, 1024, 512)
FULL_CAPS = (256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4)
ROOMY_CAPS = (31, 63, 127, 255)
"""Halving down to these leaves 16 at least of what was 16 or more."""
TINY_CAPS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)
DIVISORS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BATCH, TINY_BATCH = 32, 4
"""What a batch is brought down to where all other sizes are divided alike."""
SMALL = 8
"""Constants up to this are kernel sizes, strides and groups more often than sizes; divided sizes leave them alone."""

_BASE, _MOST_BITS = 10, 62
"""The largest base, and the largest exponent, of a power that is a size."""
_CONTENTS = ("tensor", "as_tensor", "LongTensor", "IntTensor")
"""Functions that make a tensor of a list's numbers."""
_RANDOM_INTEGERS = ("randint", "randint_like", "random_")
"""Functions that draw integers between bounds; sizes are given to them in tuples."""


@dataclass(frozen=True)
class Bound:
    """How large a version may be."""

    elements: int
    """In inputs, weights and outputs."""
    flops: int
    """Of the reference."""


FULL = Bound(1 << 15, 1 << 23)
"""What the interpreter bears in tenths of a second; it takes 0.1 s for a 128^3 matmul."""
HEAVY = Bound(1 << 21, 1 << 25)
"""What it bears in seconds: for networks whose own code says how many weights they have, which stay as they are."""
LIGHT = Bound(1 << 12, 1 << 19)
"""What it bears in hundredths: for variants that change the values and not the sizes. With these at the full size,
judging 40 generated graphs on two cores took 0.81 a second; all at this size 1.63 (all variants, timing off)."""


LIGHT_ON_GPU = Bound(1 << 20, 1 << 28)
"""What a GPU draws, computes in float64 and compares in no time beside its real sizes."""


@dataclass(frozen=True)
class Scaled:
    """A task at other sizes."""

    task: Task
    cap: int | None
    """Largest constant left, None for the task as it is."""
    shapes: str
    """The inputs' shapes, for a person."""


def shrink(value: int, cap: int) -> int:
    """The largest ceil(value / 2^k) that is at most `cap`; small and negative values stay.

    Dividing by powers of two keeps divisibility where it can: 512 over 8 groups becomes 64 over 8.
    """
    while value > cap:
        value = -(-value // 2)
    return value


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


def _integers_of(source: str) -> list[int]:
    """The integers that say how large a task is, in the order in which they stand."""
    parts = (part for node in _parsed(source).body if _sizes(node) for part in ast.walk(node))
    return [part.value for part in parts if isinstance(part, ast.Constant) and type(part.value) is int]


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
        """Offsets that rise from 0 keep their proportions, and so do lengths whose sum is a size of the task."""
        given = _whole(node)
        if len(given) > 2 and given[0] == 0 and given == sorted(given) and given[-1] > 0:
            return self._in_proportion(node, given)
        ends = list(itertools.accumulate(given))
        if node in self._contents and len(given) > 1 and min(given) > 0 and ends[-1] in self._known:
            changed = [0, *_whole(self._in_proportion(node, ends))]
            node.elts = [ast.Constant(end - start) for start, end in itertools.pairwise(changed)]
            return node
        return self.generic_visit(node)

    def _in_proportion(self, node: ast.List, given: Sequence[int]) -> ast.List:
        last = self._change(given[-1])
        return ast.List([ast.Constant(round(one * last / given[-1])) for one in given], node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        node.value = self.visit(node.value)  # an index picks, it does not size
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        return node if node.arg in ("dim", "axis", "dims", "seed") else self.generic_visit(node)  # type: ignore[return-value]


def tiny(task: Task) -> Scaled:
    """The smallest version on which the reference runs; where it can be, one that the interpreter bears."""
    if (alike := _alike(task, TINY_CAPS)) is not None:
        return alike
    for bound in (FULL, HEAVY):
        try:
            return _first(task, TINY_CAPS, bound, batch_first=bound is HEAVY)
        except _TooLarge:
            pass
    return _first(task, TINY_CAPS, None, batch_first=True)


def full(task: Task) -> Scaled:
    """The task itself if the interpreter can bear it, else the largest version that it can.

    Where even the smallest is more than it likes, it is the smallest that it bears at all.
    """
    try:
        return Scaled(task, None, shapes_within(task, FULL))
    except Unfit:
        pass
    if (alike := _alike(task, FULL_CAPS)) is not None:
        return alike
    try:
        return _first(task, FULL_CAPS, FULL)
    except _TooLarge as error:
        try:
            return _first(task, TINY_CAPS, HEAVY, batch_first=True)
        except TaskError:
            raise error from None


def _alike(task: Task, caps: Sequence[int]) -> Scaled | None:
    """A version that the interpreter bears and whose reference calls the operators that it calls at its own sizes: what
    broadcasts at a small size alone would be another task."""
    for bound, order in ((FULL, caps), (HEAVY, TINY_CAPS)):
        try:
            return _first(task, order, bound, another=False, batch_first=bound is HEAVY)
        except _TooLarge:
            pass
        except TaskError:
            return None
    return None


def light(task: Task, full: Scaled, bound: Bound) -> Scaled:
    """The largest version within `bound`, or the full one where there is none."""
    try:
        return Scaled(task, None, shapes_within(task, bound))
    except Unfit:
        pass
    caps = [cap for cap in (*LIGHT_CAPS, *FULL_CAPS) if full.cap is None or cap < full.cap]
    try:
        return _first(task, caps, bound, another=False)
    except TaskError:
        return full


def roomy(task: Task) -> list[Scaled]:
    """The smallest version whose sizes hold a tile of 16, the least that `tl.dot` multiplies, and one that holds a tile
    of 128; as far as there are such.

    Many a kernel takes a head's dimension for its block: it is right at 64, and says at 4 that it cannot be compiled.
    Others have no masks, and say that sizes must be multiples of their blocks.
    """
    found: dict[str, Scaled] = {}
    for caps in (ROOMY_CAPS, ROOMY_CAPS[-1:]):
        with suppress(TaskError):
            one = _first(task, caps, HEAVY)
            found.setdefault(one.task.source, one)
    return list(found.values())


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


_TOO_LARGE = "it is too large for the interpreter"


class _TooLarge(TaskError):
    """No version runs within a bound, and some may run beyond it."""


class Unfit(Exception):
    """A size at which a task cannot be tried; says why."""


def _first(
    task: Task, caps: Sequence[int], bound: Bound | None, another: bool = True, batch_first: bool = False
) -> Scaled:
    """The first version that runs within the bound, in the order of `_versions`.

    `another`: where there is no other, one that calls other operators will do.
    """
    reason, other, whole, large = "", None, None, False
    tried: set[str] = set()
    for source, largest in _versions(task, caps, batch_first):
        if source in tried:
            continue
        tried.add(source)
        if bound is not None and elements(source) > bound.elements:
            reason, large = _TOO_LARGE, True
            continue
        whole, one = whole or dry(task.source), dry(source)
        if isinstance(whole, Dry) and isinstance(one, str):
            reason = one
            continue
        if bound is not None and isinstance(one, Dry) and one.flops > bound.flops:
            reason, large = _TOO_LARGE, True
            continue
        if emptied(task.source, source):
            reason = "a part of it is empty there"
            continue
        alike = not isinstance(whole, Dry) or not isinstance(one, Dry) or one.spread == whole.spread
        alike = alike and weights(source) == weights(task.source)
        if not alike and (other is not None or not another):
            reason = reason or "it calls other operators there"
            continue
        small = task.model_copy(update={"source": source})
        try:
            found = Scaled(small, largest, shapes_within(small, bound))
        except Unfit as unfit:
            reason = str(unfit)
            large = large or reason == _TOO_LARGE
            continue
        if alike:
            return found
        other = found
    if other is not None:
        return other
    error = _TooLarge if large else TaskError
    raise error(f"task {task.id} cannot be scaled down: the reference fails on every smaller size: {reason}")


def _versions(task: Task, caps: Sequence[int], batch_first: bool) -> Iterator[tuple[str, int]]:
    """Sources at other sizes with the largest constant left, in the order in which they are to be tried.

    `batch_first`: those in which the batch alone is smaller come before the others.
    """
    try:
        named = named_by_the_model(task.source)
    except SyntaxError as error:
        raise TaskError(f"task {task.id} does not parse: {error}") from error
    sizing = sizes(task)
    least_first, largest = list(caps) == sorted(caps), max(sizing, default=0)
    keeps = ((), named) if named else ((),)

    def capped(keep: Collection[int]) -> Iterator[tuple[str, int]]:
        for cap in caps:
            source = rescale(task.source, lambda value, cap=cap: shrink(value, cap), keep)
            yield source, cap
            # Here if that was not taken: one of the sizes may only have to be a little larger than the others.
            if emptied(task.source, source):
                wider = [one for one in caps if one > max(cap, SMALL)]
                for size, larger in itertools.product(sorted(sizing - {*keep}, reverse=True), wider):
                    if shrink(size, cap) < shrink(size, larger):
                        yield _all_but_one(task.source, size, larger, cap, keep), larger

    batch, arguments = given(task.source)
    alone = [sizing - {batch}] if batch in sizing else []
    for keep in [*alone, *keeps, arguments] if batch_first else [*keeps, arguments, *alone]:
        yield from capped(keep)
    divisors = [*reversed(DIVISORS)] if least_first else DIVISORS
    for divisor in divisors if batch > SMALL else ():

        def apart(value: int, divisor: int = divisor) -> int:
            most = TINY_BATCH if least_first else BATCH
            return shrink(value, most) if value == batch else divided(value, divisor)

        yield rescale(task.source, apart), max(map(apart, sizing))
    for keep, divisor in itertools.product(keeps, divisors):
        if largest > divisor:
            source = rescale(task.source, lambda value, divisor=divisor: divided(value, divisor), keep)
            yield source, divided(largest, divisor)


def _all_but_one(source: str, size: int, larger: int, cap: int, keep: Collection[int]) -> str:
    """A version whose sizes are below `cap`, and one of them below `larger`."""
    return rescale(source, lambda value: shrink(value, larger if value == size else cap), keep)


def divided(value: int, divisor: int) -> int:
    """ceil(value / divisor) of a value that is a size; small ones stay."""
    return -(-value // divisor) if value > SMALL else value


def shapes_within(task: Task, bound: Bound | None) -> str:
    """The inputs' shapes; raises Unfit where the reference does not run or is larger than it may be."""
    if bound is not None and elements(task.source) > bound.elements:
        raise Unfit(_TOO_LARGE)
    try:
        module = TaskModule.of(task)
        inputs, model = module.inputs(0), module.model(0)
        with FlopCounterMode(display=False) as counter:
            output = forward(model, inputs)
    except Exception as error:  # a size the reference cannot take fails in the user's code, in any way it likes
        raise Unfit(one_line(error)) from error
    total = sum(t.numel() for t in [*tensors(inputs), *model.parameters(), *tensors(output)])
    if bound is not None and (total > bound.elements or counter.get_total_flops() > bound.flops):
        raise Unfit(_TOO_LARGE)
    if any(t.numel() == 0 for t in tensors(output)):
        raise Unfit("its output is empty")
    return ", ".join("x".join(map(str, t.shape)) or "scalar" for t in tensors(inputs)) or "no tensors"
