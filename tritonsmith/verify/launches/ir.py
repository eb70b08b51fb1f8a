"""The lines of a kernel's intermediate code that say how fast it can be: widths of loads, what multiplies, what waits.

Pure: TTGIR and PTX as text in, a few short lines out, the telling ones first. Does not judge what they say.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

LONGEST = 120
"""Characters of a line."""
MOST = 64
"""Lines that are kept at all, whatever is asked for."""

_OPCODES = (
    r"(ld|st)\.local",
    r"wgmma\.mma_async|tcgen05\.mma|mma\.sync|mma\.sp|fma\.rn\.f32",
    r"ld\.global",
    r"st\.global",
    r"cp\.async\.(?!commit|wait)",
    r"(atom|red)\.",
    r"bar\.sync|mbarrier\.try_wait|cp\.async\.wait|wgmma\.wait",
)
"""PTX instructions that are told first: spills, products, global loads and stores, copies that run on beside the
arithmetic, atomics, barriers. A multiplication on CUDA cores is told where the kernel has a `tl.dot`."""
_SHARED = (r"(ld|st|ldmatrix|stmatrix)\b.*\.shared",)
"""Those that are told last."""
_INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]+)", re.MULTILINE)
_LAYOUT = re.compile(r"^#(\w+) = #[\w.]+\.(\w+)<\{(.*)\}>$", re.MULTILINE)
_CONVERSION = re.compile(r"ttg\.convert_layout %\S+ .*?: tensor<(\w+), (.+?)> -> tensor<\w+, (.+?)>(?: loc|\s*$)", re.M)
_SHOWN_LAYOUTS = 3


def key_lines(ttgir: str, ptx: str, most: int) -> list[str]:
    """At most `most` lines: `8 x ld.global.v4.b32`, `2 x convert_layout 64x64xf32 #blocked -> #mma`, `#blocked: ...`.

    Instructions are counted as they stand in the text, not as often as they run. Empty texts have no lines.
    """
    counts = Counter(_INSTRUCTION.findall(ptx))
    if "tt.dot" not in ttgir:
        del counts["fma.rn.f32"]
    told = _instructions(counts, _OPCODES), _conversions(ttgir), _layouts(ttgir), _instructions(counts, _SHARED)
    return bounded([line for part in told for line in part], most)


def bounded(lines: list[str], most: int) -> list[str]:
    """The first lines, none of them long or with a line break: what came from elsewhere is text of any kind."""
    return [" ".join(line.split())[:LONGEST] for line in lines[: min(most, MOST)]]


def _instructions(counts: Counter[str], kinds: Sequence[str]) -> Iterator[str]:
    for kind in kinds:
        found = [(name, count) for name, count in counts.items() if re.match(kind, name)]
        yield from (f"{count} x {name}" for name, count in sorted(found, key=lambda one: -one[1]))


def _conversions(ttgir: str) -> Iterator[str]:
    counts = Counter((shape, _short(before), _short(after)) for shape, before, after in _CONVERSION.findall(ttgir))
    for (shape, before, after), count in counts.most_common():
        yield f"{count} x convert_layout {shape} {before} -> {after}"


def _layouts(ttgir: str) -> Iterator[str]:
    for name, kind, fields in _LAYOUT.findall(ttgir)[:_SHOWN_LAYOUTS]:
        yield f"#{name}: {kind} {fields.replace(' = ', ' ')}"


def _short(layout: str) -> str:
    """`#blocked`, or `slice 1 of #blocked`."""
    match = re.search(r"slice<\{dim = (\d+), parent = (#\w+)", layout)
    return f"slice {match[1]} of {match[2]}" if match else layout.split("<")[0]
