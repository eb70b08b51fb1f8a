"""Smaller (or larger) versions of a task, made by rewriting its integer constants.

Every integer literal that sizes something goes through one map of values, so that equal constants stay
equal and multiples stay multiples. Reached are the module's own assignments and the bodies of
`get_inputs` and `get_init_inputs`; the model's code is never touched. A range of random integers that the model's
code names as well (classes, rows of an embedding) stays as it is; so do all constants that it names where the task
runs at no other size. Does not guess what a constant means: whether a scaled task makes sense is found out by running
the reference on it.
"""

import ast
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from tritonsmith.source import parse
from tritonsmith.tasks.format import TaskError, TaskModule, forward, one_line
from tritonsmith.types import Task

LIGHT_CAPS = (4096, 2048, 1024, 512)
FULL_CAPS = (256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4)
TINY_CAPS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)


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
    tree = parse(source)
    sizing = [node for node in tree.body if _sizes(node)]
    named = _integers(node for node in tree.body if node not in sizing)
    own = _integers(node for node in sizing if not (isinstance(node, ast.FunctionDef) and node.name == "get_inputs"))
    rewriter = _Integers(change, keep, named - own)
    for node in sizing:
        rewriter.visit(node)
    return ast.unparse(tree)


def named_by_the_model(source: str) -> set[int]:
    """The integers that a task's code names where it is not for rescaling: in its classes and functions."""
    return _integers(node for node in parse(source).body if not _sizes(node))


def _sizes(node: ast.stmt) -> bool:
    """Whether a statement of a module says how large the task is."""
    function = isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs")
    return function or isinstance(node, (ast.Assign, ast.AnnAssign))


def _integers(nodes: Iterable[ast.AST]) -> set[int]:
    inner = (part for node in nodes for part in ast.walk(node))
    return {part.value for part in inner if isinstance(part, ast.Constant) and type(part.value) is int}


class _Integers(ast.NodeTransformer):
    def __init__(self, change: Callable[[int], int], keep: Collection[int], ranges: Collection[int]) -> None:
        """`keep` are integers that stay everywhere, `ranges` those that stay where they bound random integers."""
        self._change, self._keep, self._ranges = change, keep, ranges
        self._bounds: set[ast.expr] = set()

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if type(node.value) is not int or node.value in self._keep or node in self._bounds:
            return node
        return ast.copy_location(ast.Constant(self._change(node.value)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _RANDOM_INTEGERS:
            named = [keyword.value for keyword in node.keywords if keyword.arg in ("low", "high", "from", "to")]
            bounds = [one for one in [*node.args, *named] if isinstance(one, ast.Constant)]
            self._bounds.update(one for one in bounds if one.value in self._ranges)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        return node  # an index picks, it does not size

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        return node if node.arg in ("dim", "axis", "dims", "seed") else self.generic_visit(node)  # type: ignore[return-value]


def tiny(task: Task) -> Scaled:
    """The smallest version on which the reference runs."""
    return _first(task, TINY_CAPS, None)


def full(task: Task) -> Scaled:
    """The task itself if the interpreter can bear it, else the largest version that it can."""
    try:
        return Scaled(task, None, _shapes(task, FULL))
    except _Unfit:
        return _first(task, FULL_CAPS, FULL)


def light(task: Task, full: Scaled, bound: Bound) -> Scaled:
    """The largest version within `bound`, or the full one where there is none."""
    try:
        return Scaled(task, None, _shapes(task, bound))
    except _Unfit:
        pass
    caps = [cap for cap in (*LIGHT_CAPS, *FULL_CAPS) if full.cap is None or cap < full.cap]
    try:
        return _first(task, caps, bound)
    except TaskError:
        return full


def runs_without_data(task: Task) -> bool:
    """Whether the reference runs on tensors that have shapes alone; one that looks at its values does not."""
    return _runs_without_data(task.source)


@functools.lru_cache(4096)
def _runs_without_data(source: str) -> bool:
    try:
        with torch.device("meta"), torch.no_grad():
            module = TaskModule.of(Task(id="sizes", level=1, source=source))
            output = module.model(0, "meta")(*module.inputs(0, "meta"))
    except Exception:  # whatever the user's code does with a size it cannot take
        return False
    return all(tensor.numel() for tensor in _tensors(output))


@functools.lru_cache(4096)
def _broadcast(source: str) -> tuple[object, ...] | None:
    """Of each operator of a forward which dimensions of its operands are spread over the result's; None without data.

    A size may turn a task into another one: halves of 3 have 2 elements and 1, and their product is no longer that of
    equals.
    """
    try:
        with torch.device("meta"), torch.no_grad():
            module = TaskModule.of(Task(id="sizes", level=1, source=source))
            model, inputs = module.model(0, "meta"), module.inputs(0, "meta")
            with _Spread() as spread:
                model(*inputs)
    except Exception:  # whatever the user's code does with a size it cannot take
        return None
    return tuple(spread.seen)


class _Spread(TorchDispatchMode):
    """Notes of each operator on several tensors which of their dimensions are one where the result's are not."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[object] = []

    def __torch_dispatch__(
        self, func: OpOverload, types: object, args: tuple[object, ...] = (), kwargs: dict[str, object] | None = None
    ) -> object:
        output = func(*args, **(kwargs or {}))
        given = [one.shape for one in args if isinstance(one, torch.Tensor)]
        if isinstance(output, torch.Tensor) and len(given) > 1:
            ends = [tuple(zip(reversed(shape), reversed(output.shape), strict=False)) for shape in given]
            self.seen.append(tuple(tuple(own == 1 != out for own, out in pairs) for pairs in ends))
        return output


class _Unfit(Exception):
    """A size at which a task cannot be tried; says why."""


def _first(task: Task, caps: Sequence[int], bound: Bound | None) -> Scaled:
    reason = ""
    try:
        named = named_by_the_model(task.source)
    except SyntaxError as error:
        raise TaskError(f"task {task.id} does not parse: {error}") from error
    whole, another = _broadcast(task.source), None
    for keep, cap in itertools.product(((), named) if named else ((),), caps):
        source = rescale(task.source, lambda value, cap=cap: shrink(value, cap), keep)
        small = task.model_copy(update={"source": source})
        try:
            found = Scaled(small, cap, _shapes(small, bound))
        except _Unfit as unfit:
            reason = str(unfit)
            continue
        if whole is None or (seen := _broadcast(source)) is None or len(seen) != len(whole) or seen == whole:
            return found
        another = another or found
    if another is not None:
        return another
    raise TaskError(f"task {task.id} cannot be scaled down: the reference fails on every smaller size: {reason}")


def _shapes(task: Task, bound: Bound | None) -> str:
    """The inputs' shapes; raises _Unfit where the reference does not run or is larger than it may be."""
    if bound is not None and _too_large(task, bound):
        raise _Unfit("its inputs are too large for the interpreter")
    try:
        module = TaskModule.of(task)
        inputs, model = module.inputs(0), module.model(0)
        with FlopCounterMode(display=False) as counter:
            output = forward(model, inputs)
    except Exception as error:  # a size the reference cannot take fails in the user's code, in any way it likes
        raise _Unfit(one_line(error)) from error
    elements = sum(t.numel() for t in [*_tensors(inputs), *model.parameters(), *_tensors(output)])
    if bound is not None and (elements > bound.elements or counter.get_total_flops() > bound.flops):
        raise _Unfit("it is too large for the interpreter")
    if any(t.numel() == 0 for t in _tensors(output)):
        raise _Unfit("its output is empty")
    return ", ".join("x".join(map(str, t.shape)) or "scalar" for t in _tensors(inputs)) or "no tensors"


def _too_large(task: Task, bound: Bound) -> bool:
    """Whether the inputs alone are over the limit, found without allocating them."""
    try:
        with torch.device("meta"):
            inputs = TaskModule.of(task).inputs(0, "meta")
    except Exception:  # not every get_inputs runs on meta tensors; then it runs for real
        return False
    return sum(t.numel() for t in _tensors(inputs)) > bound.elements


def _tensors(tree: object) -> list[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [t for item in tree for t in _tensors(item)] if isinstance(tree, (list, tuple)) else []
