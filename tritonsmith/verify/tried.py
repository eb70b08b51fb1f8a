"""What a candidate is tried on at the full size: the variants of its task, and those that its text calls for."""

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from tritonsmith.source import parse
from tritonsmith.tasks import lengths
from tritonsmith.tasks.literals import levels
from tritonsmith.tasks.values import Side
from tritonsmith.tasks.variants import Variant, odd_sizes, variants
from tritonsmith.types import Task
from tritonsmith.verify.sizing import Large

LONG = "one size the task's own"
REST = "one size near the task's own, and odd, with rising values"
APART = "sizes in the task's own order"
STEPS = "other weights over as many steps"
OPPOSITE = "other weights, single numbers negative"
_LOOP = re.compile(r"\brange\(|\bwhile\b")
_THROUGH_WHOLE = re.compile(r"\bu?int32\b")
"""What a candidate's text has in it whose values may go through whole numbers of 32 bits, which hold no huge ones."""
_NUMBER = re.compile(r"\bParameter\(|\bPReLU\(")
"""What the text of a task has in it that has a single number as a weight."""


def variants_of(
    task: Task,
    source: str,
    large: Large,
    multi_input: bool,
    growth: float | None,
    strided: bool,
    named: bool,
    cuda: bool,
) -> list[Variant]:
    """The variants of a task for the candidate `source`, in their order.

    `growth` and `strided` are as in `tasks.variants`; `named`: it has all of the reference's weights by name. A GPU
    (`cuda`) tries a task as it is, and needs none of the sizes that stand for its own.
    """
    large = large.beside(least(source))
    strided = strided or "channels_last" in source  # it says that it knows of such
    light = large.light().task if multi_input else None
    found = variants(large.full.task, multi_input, growth, large.hardening, strided, light, task)
    if _THROUGH_WHOLE.search(source) and _THROUGH_WHOLE.search(_said(source)):
        found = [variant for variant in found if variant.values != "huge"]
    if light is not None and _NUMBER.search(task.source):
        found.append(Variant(OPPOSITE, light, fresh_seed=True, weights=True, opposite=True))
    if light is not None:
        found += _beyond(odd_sizes(large.full.task) or light, light, levels(task.source, source))
    if light is not None and _LOOP.search(source) and lengths.recurrent(task.source):
        whole = next(iter(large.long), large.full).task
        if whole != light:
            found.append(Variant(STEPS, whole, fresh_seed=True, weights=True, brief=True, patient=True))
    found = [replace(variant, named=variant.weights and named) for variant in found]
    if not cuda:
        found += [Variant(LONG, one.task, fresh_seed=True, brief=True) for one in large.long]
    # What a loop carries over, and what its last round is short of, shows where there is more than one round.
    rests = large.rest if _LOOP.search(source) else ()
    found += [Variant(REST, one.task, fresh_seed=True, values="rising", brief=True) for one in rests]
    apart = () if cuda else large.apart
    return found + [Variant(APART, one.task, fresh_seed=True, brief=True, patient=True) for one in apart]


def least(source: str) -> int:
    """What sizes are brought down to at least for a candidate: the hardware describes no rows of a few bytes."""
    return lengths.DESCRIBED if "escriptor" in source else lengths.LEAST


def _said(source: str) -> str:
    """A source without its comments and docstrings, in which any word may stand."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # refused, and tried all the same without staging
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
    try:
        return ast.unparse(tree)
    except RecursionError:
        return source


def _beyond(odd: Task, light: Task, some: Sequence[float]) -> list[Variant]:
    """Values beyond levels, on each side of zero and on both; what stands in for missing values shows at odd sizes."""
    sides: tuple[tuple[Side, str, Task], ...] = (
        ("below", "below -{}", odd),
        ("above", "above {}", odd),
        ("either", "beyond {} either way", light),
    )
    return [
        Variant(f"values {said.format(f'{level:g}')}", at, fresh_seed=True, values="beyond", level=level, side=side)
        for level in some
        for side, said, at in sides
    ]
