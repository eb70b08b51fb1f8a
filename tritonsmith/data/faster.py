"""Mid-end pairs: from a plain answer of our own lowering to a correct, faster one, with the reason.

What a kernel engineer does next: touch memory less often (attention, softmax and layer norm with what is before them,
a reduction with what reads its result, a row held in registers, two products that share a factor), then tile and order
programs for the caches. Whether `after` is right is the verifier's to say, as with every pair; the reasons are those
of the machine and not measured here: on a CPU the roofline sees saved bytes and launches, but neither caches nor
occupancy. Only text that `lower` wrote is rewritten.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tritonsmith.data.faster_products import Numbers, group_tiles, share_factor, use_tensor_cores
from tritonsmith.data.faster_text import (
    Answer,
    Tuned,
    launched_with,
    mentions,
    merged_parameters,
    neighbours,
    number,
    plain,
    read,
    renamed,
)
from tritonsmith.data.lower import convert
from tritonsmith.data.lower.launchers import launchers
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier

MAX_ROW = 16384
"""Longest row, in elements, that a program holds in registers."""
LONG = 1 << 20
"""Elements from which a pointwise kernel takes larger blocks."""


@dataclass(frozen=True)
class Improvement:
    """A slower and a faster answer to one task."""

    before: Pair
    after: Pair
    reason: str
    """A line for each change."""


@dataclass(frozen=True)
class Gain:
    """What the verifier says of both answers of an improvement."""

    before: Verdict
    after: Verdict

    @property
    def ratio(self) -> float | None:
        """How many times faster `after` is; a prediction on a CPU. None unless both are right and were timed."""
        if not (self.before.correct and self.after.correct and self.before.speedup and self.after.speedup):
            return None
        return self.after.speedup.median / self.before.speedup.median


def judge(verifier: Verifier, improvements: Sequence[tuple[Task, Improvement]]) -> list[Gain]:
    """Verify both answers of each, side by side; a `verifier` that times also says what is gained."""
    jobs = [
        (task, Candidate(task=task.id, source=pair.source))
        for task, one in improvements
        for pair in (one.before, one.after)
    ]
    verdicts = verifier.verify_many(jobs)
    return [Gain(before, after) for before, after in zip(verdicts[::2], verdicts[1::2], strict=True)]


Rewriting = Callable[[Answer, Numbers], str | None]
"""Changes an answer in place and says why; None where there is nothing to change."""


def faster(task: Task, pair: Pair) -> Improvement | Miss:
    """A faster form of a plain answer that `lower` gave for the task, not judged yet, its launches where those are."""
    plain = convert(task)
    apart = isinstance(plain, Pair) and launchers(plain.source) == pair.source
    if not isinstance(plain, Pair) or not (apart or plain.source == pair.source):
        return Miss("not an answer of our own lowering")
    reasons: list[str] = []
    source = plain.source
    merged = convert(task, merged=True)
    saved = source.count("@triton.jit") - merged.source.count("@triton.jit") if isinstance(merged, Pair) else 0
    if isinstance(merged, Pair) and saved > 0:
        source = merged.source
        what = "scores never reach memory" if "attention_kernel" in source else "computed while the row is loaded"
        reasons.append(f"{saved} fewer kernel{'s' if saved > 1 else ''}: {what}")
    try:
        read(source)
    except ValueError as error:
        return Miss(str(error))
    numbers = launched_with(task, source)
    for rewriting in REWRITINGS:
        while (reason := rewriting(answer := read(source), numbers)) is not None:
            source = answer.source()
            numbers = launched_with(task, source)
            reasons.append(reason)
    if not reasons:
        return Miss("nothing faster is known")
    text = "\n".join(f"{reason}." for reason in reasons)
    return Improvement(pair, Pair(text, launchers(source) if apart else source), text)


# -- rows

_ROW = "row = tl.program_id(0)"
_LOOP = "for start in range(0, N, BLOCK):"


def join_reduction(answer: Answer, numbers: Numbers) -> str | None:
    """A number a row, and the kernel over elements that reads it: one kernel that loads the row once."""
    for first, second, made in neighbours(answer):
        length = number(numbers[first.name], "N")
        if first.body[:1] != [_ROW] or first.body.count(_LOOP) != 1 or not 0 < length <= MAX_ROW:
            continue
        joined = _joined(first, second, made, numbers)
        taken = {one.name for one in answer.kernels}
        if joined is not None and joined.name not in taken and not mentions(joined, made):
            answer.replace(first, second, joined, made)
            return f"{joined.name}: the row is loaded once for {first.name} and {second.name}, nothing in between"
    return None


def _joined(first: Tuned, second: Tuned, made: str, numbers: Numbers) -> Tuned | None:
    """The reduction's kernel with the other's work after it, on the same row."""
    length, values = number(numbers[first.name], "N"), numbers[second.name]
    elementwise = second.body[0].startswith("offs = tl.program_id(0) * BLOCK") and second.body[1] == "mask = offs < n"
    body = _straight(first.body)
    if not elementwise or number(values, "n") % length or body is None:
        return None
    stored = re.fullmatch(r"tl\.store\(\w+ \+ row, (.+)\)", body.pop())
    if stored is None:
        return None
    joined, names = merged_parameters(first, second, made)
    inner = [name for name in second.sizes if name.startswith("D") and number(values, name) == length]
    for name in ("n", *inner):
        joined.sizes.pop(names.pop(name), None)
    pointer = next(name for name, passed in second.pointers.items() if passed == made)
    for line in second.body[2:]:
        for one in inner:
            line = line.replace(f"offs // {one}", "row").replace(f"offs % {one}", "cols")
        if re.search(rf"tl\.load\({pointer} \+ row,", line):
            names[line.split(" = ")[0]] = stored.group(1)
            continue
        if pointer in line or any(re.search(rf"\b{one}\b", line) for one in inner):
            return None
        body.append(renamed(line, names))
    joined.body = plain(_shared(body))
    joined.name = f"{first.name.removesuffix('_kernel')}_{second.name}"
    joined.grid = first.grid
    _whole_row(joined, length)
    return joined if _is_straight(joined.body) else None


def hold_row(answer: Answer, numbers: Numbers) -> str | None:
    """Several walks along a row become one load of a block that holds all of it."""
    for kernel in answer.kernels:
        walks = kernel.body.count(_LOOP)
        if kernel.body[:1] != [_ROW] or walks < 2 or not 0 < number(numbers[kernel.name], "N") <= MAX_ROW:
            continue
        body = _straight(kernel.body)
        if body is not None:
            kernel.body = body
            _whole_row(kernel, number(numbers[kernel.name], "N"))
            return f"{kernel.name}: the row fits into one block, so it is loaded once instead of {walks} times"
    return None


def _whole_row(kernel: Tuned, length: int) -> None:
    """A block that holds a row, and the warps that hold the block."""
    kernel.constants["BLOCK"] = f"triton.next_power_of_2({kernel.sizes['N']})"
    if length > 2048:
        kernel.options["num_warps"] = "8" if length <= 8192 else "16"


def _straight(body: Sequence[str]) -> list[str] | None:
    """A body of loops over a row as if a block held the row; None where it is not understood."""
    lines: list[str] = []
    inside = False
    for line in body:
        inside = line == _LOOP or (inside and line.startswith("    "))
        if line != _LOOP:
            lines.append(line[4:] if inside else line)
    lines = ["cols = tl.arange(0, BLOCK)" if line == "cols = start + tl.arange(0, BLOCK)" else line for line in lines]
    lines = plain(_shared(_collapsed(lines)))
    return lines if _is_straight(lines) else None


def _is_straight(lines: Sequence[str]) -> bool:
    text = "\n".join(lines)
    return not re.search(r"\b(acc|peak|start)\b|^for ", text, re.MULTILINE)


def _collapsed(lines: list[str]) -> list[str]:
    """Accumulators over one block are what is accumulated."""
    found: list[str] = []
    acc = ""
    for line in lines:
        if re.fullmatch(r"acc = tl\.(zeros|full)\(.*\)|top = -float\(\"inf\"\)|total = 0\.0|top = peak", line):
            continue
        if match := re.fullmatch(r"acc \+= (.+)|acc = tl\.(?:maximum|minimum)\(acc, (.+)\)", line):
            acc = match.group(1) or match.group(2)
            continue
        if match := re.fullmatch(r"peak = tl\.maximum\(top, (tl\.max\(\w+, axis=0\))\)", line):
            line = f"top = {match.group(1)}"
        elif match := re.fullmatch(r"total = total \* tl\.exp\(top - peak\) \+ (tl\.sum\(.+\))", line):
            line = f"total = {match.group(1).replace('peak', 'top')}"
        found.append(re.sub(r"\bacc\b", acc, line) if acc and "(acc, axis=0)" in line else line)
    return found


def _shared(lines: list[str]) -> list[str]:
    """The same expression is computed once, whatever fills the places that the mask leaves out."""
    known: dict[str, str] = {}
    names: dict[str, str] = {}
    found: list[str] = []
    for line in lines:
        for old, new in names.items():
            line = re.sub(rf"\b{old}\b", new, line)
        target, _, value = line.partition(" = ")
        if not re.fullmatch(r"\w+", target) or not value:
            found.append(line)
            continue
        key = re.sub(r"other=[^)]+?(\(\"inf\"\))?\)", ")", value)
        key = re.sub(r'tl\.where\(mask, (\w+), (?:-?float\("inf"\)|[^()]+)\)', r"where(\1)", key)
        if key in known:
            if known[key] != target:
                names[target] = known[key]
            continue
        # what was computed from an older value of this name is no longer that expression
        known = {one: name for one, name in known.items() if name != target and not re.search(rf"\b{target}\b", one)}
        names.pop(target, None)
        if not re.search(rf"\b{target}\b", key):
            known[key] = target
        found.append(line)
    return found


# -- elements


def widen(answer: Answer, numbers: Numbers) -> str | None:
    """Larger blocks for long pointwise kernels: more loads in flight a program, fewer programs."""
    for kernel in answer.kernels:
        opens = kernel.body[0].startswith("offs = tl.program_id(0) * BLOCK") and kernel.constants.get("BLOCK") == "1024"
        plain = not any(re.search(r"//|%|^for ", line) for line in kernel.body)
        if not opens or not plain or number(numbers[kernel.name], "n") < LONG:
            continue
        kernel.constants["BLOCK"] = "4096"
        kernel.grid = kernel.grid.replace(", 1024)", ", 4096)")
        kernel.options["num_warps"] = "8"
        return f"{kernel.name}: blocks of 4096 on 8 warps keep more loads in flight"
    return None


REWRITINGS: tuple[Rewriting, ...] = (join_reduction, hold_row, share_factor, group_tiles, use_tensor_cores, widen)
"""In this order: first less memory traffic, then how it is cut."""
