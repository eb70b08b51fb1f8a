"""What a task computes, as a hash: of its trace's operators, wiring, constants and dtypes.

The same for every size, name and style of writing, as far as styles are known: `relu_`, `max(x, y)`, `x ** 2`, a
dimension counted from the end or left at its default, `1` for `1.0`, and the order of what is added or multiplied. Two
forms may so be of one computation, `silu` and `x * sigmoid(x)`; one form is of one.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache

import torch

from tritonsmith.tasks.traced import SIZES, Operation, Trace, rank

EDITION = 2
"""Of the forms: those of another are not to be compared with these."""
_TEXT = re.compile(r"(?:(\d+)-)?[0-9a-f]{16}")

_DIMENSIONS = {"dim", "dims", "dim0", "dim1", "start_dim", "end_dim"}
_COMMUTATIVE = {"add", "mul", "maximum", "minimum", "logical_and", "logical_or", "bitwise_and", "bitwise_or"}
_OF_TWO = {"max": "maximum", "min": "minimum"}
"""Operators that have another name where they have two operands."""
_POWERS = {"2.0": "square", "0.5": "sqrt", "-0.5": "rsqrt", "-1.0": "reciprocal"}
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")

_Spelled = tuple[str, list[str]]
"""An operator's name and its attributes, in the one way of writing them."""


def form(trace: Trace) -> str:
    """The edition and the hash, such as `2-0123456789abcdef`."""
    spelled = [_spelled(trace, operation) for operation in trace.operations]
    ordered = _ordered(trace, spelled)
    leaves: dict[str, str] = {}
    numbers: dict[str, int] = {}

    def named(operand: str) -> str:
        """An operand by the number of what it is of; a leaf also by its kind, numbered where it is first read."""
        if operand in trace.leaves:
            return leaves.setdefault(operand, f"leaf{len(leaves)}:{_kind(trace, operand)}")
        whole, dot, output = operand.partition(".")
        return f"%{numbers[whole]}{dot}{output}"

    parts = []
    for at in _visited(trace, ordered):
        name, kept = spelled[at]
        parts.append(f"{name}({','.join([*map(named, ordered[at]), *kept])})")
        numbers[f"%{at}"] = len(parts)
    parts.append(",".join(map(named, trace.returned)))
    return f"{EDITION}-{_hash(';'.join(parts))[:16]}"


def edition(text: str) -> int | None:
    """Of which edition a form is, 0 where it does not say; None for a text that is no form."""
    found = _TEXT.fullmatch(text)
    return None if found is None else int(found[1] or 0)


def is_old(text: str) -> bool:
    """Whether a text is a form that is not to be compared with today's."""
    return edition(text) not in (None, EDITION)


def _visited(trace: Trace, ordered: Sequence[Sequence[str]]) -> list[int]:
    """The operations in an order that their wiring alone gives: what each reads before it, from what is returned; what
    nothing reads comes last. With changes in place among them, whose place in time may matter, in the order written."""
    if any(_functional(one.name) != one.name for one in trace.operations):
        return list(range(len(ordered)))
    seen: set[int] = set()
    found: list[int] = []
    last = [f"%{at}" for at in range(len(ordered))]
    stack = [(operand, False) for operand in (*reversed(last), *reversed(trace.returned))]
    while stack:
        operand, read = stack.pop()
        if operand in trace.leaves:
            continue
        at = int(operand.removeprefix("%").partition(".")[0])
        if read:
            found.append(at)
        elif at not in seen:
            seen.add(at)
            stack += [(operand, True), *((one, False) for one in reversed(ordered[at]))]
    return found


def _spelled(trace: Trace, operation: Operation) -> _Spelled:
    name = _functional(operation.name)
    name = _OF_TWO.get(name, name) if len(operation.operands) == 2 else name
    found = {}
    for key, text in operation.attributes:
        placed = _NUMBER.sub(lambda number: repr(float(number[0])), _place(trace, operation, key, text))
        if key not in SIZES and placed != _default(trace, operation, key):
            found[key] = placed
    if name == "pow" and found.get("exponent") in _POWERS:
        name = _POWERS[found.pop("exponent")]
    return name, [f"{key}={text}" for key, text in found.items()]


def _place(trace: Trace, operation: Operation, key: str, text: str) -> str:
    """An attribute's text; a dimension counted from the end is counted from the front."""
    if key not in _DIMENSIONS or "-" not in text or not operation.operands:
        return text
    dimensions = rank(_type_of(trace, operation.operands[0])) + (operation.name in ("unsqueeze", "stack"))
    return re.sub(r"-\d+", lambda found: str(int(found[0]) + dimensions), text)


def _default(trace: Trace, operation: Operation, key: str) -> str | None:
    """A dimension's default as `_spelled` writes it: it is left out only where it is written as the schema has."""
    known = _default_dimension(operation.name, key) if key in _DIMENSIONS else None
    return None if known is None else repr(float(_place(trace, operation, key, known)))


@cache
def _default_dimension(name: str, key: str) -> str | None:
    """The default of an ATen operator's dimension; None where it has none."""
    packet = getattr(torch.ops.aten, name, None)
    for overload in packet.overloads() if packet is not None else ():
        for argument in getattr(packet, overload)._schema.arguments:
            if argument.name == key and isinstance(argument.default_value, int):
                return str(argument.default_value)
    return None


def _ordered(trace: Trace, spelled: Sequence[_Spelled]) -> list[list[str]]:
    """The operands of each operation, those that may change places in an order of what they are made of."""
    made: dict[str, str] = {}
    ordered = []
    for place, (operation, (name, kept)) in enumerate(zip(trace.operations, spelled, strict=True)):
        of = {operand: _made(trace, operand, made) for operand in operation.operands}
        own = sorted(operation.operands, key=of.__getitem__) if _commutes(name, kept) else list(operation.operands)
        made[f"%{place}"] = _hash(f"{name}({','.join([*(of[one] for one in own), *kept])})")
        ordered.append(own)
    return ordered


def _made(trace: Trace, operand: str, made: Mapping[str, str]) -> str:
    """What an operand is, whatever it is called."""
    if operand in trace.leaves:
        return _kind(trace, operand)
    whole, _, output = operand.partition(".")
    return f"{made.get(whole, whole)}.{output}"


def _commutes(name: str, attributes: Sequence[str]) -> bool:
    """Whether an operator's operands may change places: of `add` with a factor they may not."""
    return name in _COMMUTATIVE and not any(one.startswith("alpha=") for one in attributes)


def _functional(name: str) -> str:
    """`relu` for `relu_`: in place or not, the same is computed."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _type_of(trace: Trace, operand: str) -> str:
    """The type of a leaf or of an operation's output."""
    if operand in trace.leaves:
        return trace.leaves[operand]
    index, _, output = operand.removeprefix("%").partition(".")
    return trace.operations[int(index)].outputs[int(output or 0)]


def _kind(trace: Trace, leaf: str) -> str:
    """Give a leaf's dtype and number of dimensions."""
    kind = trace.leaves[leaf]
    return f"{kind.partition('[')[0]}{rank(kind)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
