"""Which pointer arguments a kernel reads and which it writes, from its Triton IR as text. Pure.

A store's pointer is followed back through the operations that made it to the function's arguments; an offset that
was loaded (a gather) is not followed. Functions that are not inlined make every argument count as both.
"""

import functools
import re
from dataclasses import dataclass

_FUNCTION = re.compile(r"tt\.func public @\S+\((.*)$", re.MULTILINE)
_ARGUMENT = re.compile(r"(%[\w.$-]+): ((?:!?[\w.]+)(?:<[^{}()]*?>)?)(?= \{| loc|,|\)|$)")
_DEFINITION = re.compile(r"^\s*(%[\w.$-]+(?::\d+)?(?:, %[\w.$-]+)*) = ([\w.]+)(.*)$")
_EFFECT = re.compile(r"^\s*(?:%[\w.$-]+ = )?tt\.(store|atomic_rmw|atomic_cas|load|descriptor_store|descriptor_load|"
                     r"experimental_descriptor_store|experimental_descriptor_load|descriptor_gather|"
                     r"descriptor_scatter|descriptor_reduce)\b(.*)$")  # fmt: skip
_DESCRIBED = re.compile(r"tt\.make_tensor_descriptor (%[\w.$-]+), \[[^\]]*,")
"""A descriptor of several dimensions, which has strides."""
_NAME = re.compile(r"%[\w.$-]+(?:#\d+)?")
_FIRST_ONLY = {"tt.addptr", "tt.advance", "tt.make_tensor_ptr", "tt.make_tensor_descriptor"}
_WRITES = ("store", "atomic_rmw", "atomic_cas", "descriptor_scatter", "descriptor_reduce")


@dataclass(frozen=True)
class Uses:
    """Positions of a kernel's pointer arguments, counted among the arguments of its IR."""

    pointers: tuple[int, ...]
    read: frozenset[int]
    written: frozenset[int]
    described: frozenset[int] = frozenset()
    """Those of which the kernel itself makes a descriptor with strides."""


@functools.lru_cache(1024)
def uses(ttir: str) -> Uses:
    """What the IR reads and writes; every pointer counts as both where the text is not understood."""
    arguments = _arguments(ttir)
    pointers = tuple(place for place, (_, kind) in enumerate(arguments) if _is_memory(kind))
    everything = frozenset(pointers)
    if not arguments or "tt.call" in ttir:
        return Uses(pointers, everything, everything)
    makers = _makers(ttir)
    places = {name: place for place, (name, kind) in enumerate(arguments) if _is_memory(kind)}
    read: set[int] = set()
    written: set[int] = set()
    for line in ttir.splitlines():
        if (match := _EFFECT.match(line)) is None:
            continue
        operands = _NAME.findall(match[2])
        if not operands:
            continue
        # A pointer that comes out of an `if` is not followed; then any argument may be meant.
        found = {places[name] for name in _origins(operands[0], makers) if name in places} or set(pointers)
        writes = match[1].endswith(_WRITES)
        (written if writes else read).update(found)
        if match[1].startswith("atomic") or "descriptor_reduce" in match[1]:
            read.update(found)
    bases = (name for base in _DESCRIBED.findall(ttir) for name in _origins(base, makers))
    described = frozenset(places[name] for name in bases if name in places)
    return Uses(pointers, frozenset(read), frozenset(written), described)


def _arguments(ttir: str) -> list[tuple[str, str]]:
    header = _FUNCTION.search(ttir)
    return _ARGUMENT.findall(header[1]) if header else []


def _is_memory(kind: str) -> bool:
    return kind.startswith(("!tt.ptr", "!tt.tensordesc"))


def _makers(ttir: str) -> dict[str, list[str]]:
    """For each value the names it was made of, as far as a pointer can come from them."""
    makers: dict[str, list[str]] = {}
    for line in ttir.splitlines():
        if (match := _DEFINITION.match(line)) is None:
            continue
        names, operation, rest = match[1], match[2], match[3]
        operands = [name.split("#")[0] for name in _NAME.findall(rest)]
        if operation in _FIRST_ONLY:
            operands = operands[:1]
        elif operation in ("tt.load", "tt.get_program_id", "arith.constant"):
            operands = []
        for name in names.split(", "):
            makers.setdefault(name.split(":")[0], []).extend(operands)
        if "iter_args" in rest or operation == "scf.while":
            for inner, outer in re.findall(r"(%[\w.$-]+) = (%[\w.$-]+)", rest):
                makers.setdefault(inner, []).append(outer.split("#")[0])
    return makers


def _origins(name: str, makers: dict[str, list[str]]) -> set[str]:
    waiting, seen = [name.split("#")[0]], set()
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting.extend(makers.get(current, ()))
    return seen
