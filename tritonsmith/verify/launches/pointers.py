"""Which pointer arguments a kernel reads and which it writes, from its Triton IR as text. Pure.

A store's pointer is followed back through the operations that made it to the function's arguments; an offset that
was loaded (a gather) is not followed. Functions that are not inlined make every argument count as both.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tritonsmith.verify.launches.dataflow import UNKNOWN, Flow

_WRITES = re.compile(r"tt\.(store|atomic_rmw|atomic_cas|(experimental_)?descriptor_store|descriptor_(scatter|reduce))")
_READS = re.compile(r"tt\.(load|atomic_rmw|atomic_cas|(experimental_)?descriptor_load|descriptor_(gather|reduce))")
_STRIDED = re.compile(r"^ %[\w.$-]+(?:#\d+)?, \[[^\]]*,")
"""A descriptor of several dimensions, which has strides."""


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
    flow = Flow.of(ttir)
    places = {name: place for place, (name, kind) in enumerate(flow.arguments) if _is_memory(kind)}
    pointers = tuple(places.values())
    if not flow.arguments or "tt.call" in ttir:
        return Uses(pointers, frozenset(pointers), frozenset(pointers))
    read, written, described = set[int](), set[int](), set[int]()
    for kind, operands, rest in flow.operations:
        if not operands:
            continue
        if kind == "tt.make_tensor_descriptor" and _STRIDED.match(rest):
            described |= _places(flow.origins(operands[0]), places)
        reads, writes = _READS.fullmatch(kind), _WRITES.fullmatch(kind)
        if reads or writes:
            origins = flow.origins(operands[0])
            # A pointer that was loaded is not followed, nor one that comes by a branch; any argument may be meant then.
            found = set() if UNKNOWN in origins else _places(origins, places)
            found = found or set(pointers)
            read |= found if reads else set()
            written |= found if writes else set()
    return Uses(pointers, frozenset(read), frozenset(written), frozenset(described))


def _places(origins: Iterable[str], places: Mapping[str, int]) -> set[int]:
    return {places[name] for name in origins if name in places}


def _is_memory(kind: str) -> bool:
    return kind.startswith(("!tt.ptr", "!tt.tensordesc"))
