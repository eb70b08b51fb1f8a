"""Mid-end pairs: from a plain answer of our own lowering to a correct, faster one, with the reason.

What a kernel engineer does next: touch memory less often (attention, softmax and layer norm with what is before them,
a reduction with what reads its result, a row held in registers, two products that share a factor), then tile and order
programs for the caches. Whether `after` is right is the verifier's to say, as with every pair; the reasons are those
of the machine and not measured here: on a CPU the roofline sees saved bytes and launches, but neither caches nor
occupancy. Only text that `lower` wrote is rewritten.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tritonsmith.data.faster_text import Answer, Tuned, launched_with, number, read
from tritonsmith.data.lower import convert
from tritonsmith.data.lower.launchers import launchers
from tritonsmith.data.lower.text import free_name
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier

MAX_ROW = 16384
"""Longest row, in elements, that a program holds in registers."""
LARGE_TILE = 512
"""Rows and columns from which a product is cut into larger tiles."""
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


Numbers = Mapping[str, Mapping[str, object]]
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
    for first, second, made in _neighbours(answer):
        length = number(numbers[first.name], "N")
        if first.body[:1] != [_ROW] or first.body.count(_LOOP) != 1 or not 0 < length <= MAX_ROW:
            continue
        joined = _joined(first, second, made, numbers)
        taken = {one.name for one in answer.kernels}
        if joined is not None and joined.name not in taken and not _mentions(joined, made):
            answer.replace(first, second, joined, made)
            return f"{joined.name}: the row is loaded once for {first.name} and {second.name}, nothing in between"
    return None


def _neighbours(answer: Answer) -> Iterator[tuple[Tuned, Tuned, str]]:
    """Kernels of which the second alone reads what the first alone makes, with that tensor's variable."""
    for first in answer.kernels:
        made = [passed for name, passed in first.pointers.items() if name.startswith("out")]
        for second in answer.kernels:
            read_there = [passed for name, passed in second.pointers.items() if not name.startswith("out")]
            if len(made) == 1 and made[0] in read_there and answer.private(made[0], first, second):
                yield first, second, made[0]


def _mentions(kernel: Tuned, variable: str) -> bool:
    return any(re.search(rf"\b{variable}\b", line) for line in kernel.launch())


def _merged_parameters(first: Tuned, second: Tuned, made: str) -> tuple[Tuned, dict[str, str]]:
    """A kernel with the parameters of both but for `made`; and what the second's are called in it."""
    pointers = {name: passed for name, passed in first.pointers.items() if passed != made}
    sizes, known = dict(first.sizes), {passed: name for name, passed in pointers.items()}
    names: dict[str, str] = {}
    for name, passed in second.pointers.items():
        if passed != made:
            names[name] = known.get(passed) or free_name(name, pointers)
            names[name.removesuffix("_ptr")] = names[name].removesuffix("_ptr")
            pointers[names[name]] = passed
    for name, passed in second.sizes.items():
        names[name] = name if sizes.get(name, passed) == passed else f"{name}2"
        sizes[names[name]] = passed
    return Tuned(first.name, pointers, sizes), names


def _renamed(line: str, names: Mapping[str, str]) -> str:
    """The line with values u1, u2, ... in place of v1, v2, ... and parameters by their new names."""
    line = re.sub(r"\bv(\d+)\b", r"u\1", line)
    return re.sub(r"\b\w+\b", lambda match: names.get(match.group(), match.group()), line)


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
    joined, names = _merged_parameters(first, second, made)
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
        body.append(_renamed(line, names))
    joined.body = _plain(_shared(body))
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
    lines = _plain(_shared(_collapsed(lines)))
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


def _plain(lines: list[str]) -> list[str]:
    """Values numbered without gaps."""
    order = dict.fromkeys(re.findall(r"\b[uv]\d+\b", "\n".join(lines)))
    new = {old: f"v{k}" for k, old in enumerate(order, 1)}
    return [re.sub(r"\b[uv]\d+\b", lambda match: new[match.group()], line) for line in lines]


# -- products

_ROWS = "rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]"
_COLUMNS = "rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]"


def group_tiles(answer: Answer, numbers: Numbers) -> str | None:
    """Larger tiles, and programs in groups of rows that use the same columns while they are in L2.

    The order is that of Triton's matrix multiplication tutorial.
    """
    for kernel in answer.kernels:
        values = numbers[kernel.name]
        one = kernel.body[:2] == [_ROWS, _COLUMNS] and "acc2" not in "".join(kernel.body)
        if not one or min(number(values, "M"), number(values, "N")) < LARGE_TILE:
            continue
        kernel.body[:2] = [
            "pid = tl.program_id(0)",
            "tiles_m = tl.cdiv(M, BLOCK_M)",
            "group = GROUP_M * tl.cdiv(N, BLOCK_N)",
            "first_m = pid // group * GROUP_M",
            "height = tl.minimum(tiles_m - first_m, GROUP_M)",
            "pid_m = first_m + pid % group % height",
            "pid_n = pid % group // height",
            "rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]",
            "rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]",
        ]
        kernel.body = [line.replace("batch = tl.program_id(2)", "batch = tl.program_id(1)") for line in kernel.body]
        rest = kernel.grid.split(", 64), ")[2:] or kernel.grid.split(", 64)")[2:]
        cells = f"triton.cdiv({kernel.sizes['M']}, 128) * triton.cdiv({kernel.sizes['N']}, 128)"
        kernel.grid = f"({cells}, {rest[0]}" if rest and rest[0] != ")" else f"({cells},)"
        kernel.constants |= {"BLOCK_M": "128", "BLOCK_N": "128", "BLOCK_K": "32", "GROUP_M": "8"}
        kernel.options |= {"num_warps": "8", "num_stages": "3"}
        return (
            f"{kernel.name}: 128x128 tiles load half as much per product, and programs in groups of 8 rows find "
            "their columns in L2"
        )
    return None


_DOT = '    acc = tl.dot(a, b, acc, input_precision="ieee")'


def share_factor(answer: Answer, numbers: Numbers) -> str | None:
    """Two products of one tensor, the second combined with the first: one loop with two accumulators."""
    for first, second, made in _neighbours(answer):
        if any(one.body[:2] != [_ROWS, _COLUMNS] or _DOT not in one.body for one in (first, second)):
            continue
        if any(number(numbers[first.name], name) != number(numbers[second.name], name) for name in "MNK"):
            continue
        joined = _two_products(first, second, made)
        taken = {one.name for one in answer.kernels}
        if joined is not None and joined.name not in taken and not _mentions(joined, made):
            answer.replace(first, second, joined, made)
            return f"{joined.name}: one loop loads the shared factor once for both products, nothing in between"
    return None


def _two_products(first: Tuned, second: Tuned, made: str) -> Tuned | None:
    """The second's kernel with the first's product beside its own."""
    # the numbers are equal, whatever they are taken from
    first = replace(first, sizes=first.sizes | {name: second.sizes[name] for name in "MNK"})
    joined, names = _merged_parameters(second, first, made)
    start, end = second.body.index(_DOT), first.body.index(_DOT)
    beside = [_renamed(line, names) for line in first.body]
    (a,) = (line for line in second.body if line.startswith("    a = "))
    (b,) = (line for line in beside if line.startswith("    b = "))
    stored = re.fullmatch(r"tl\.store\(out_ptr \+ offs, (\w+), mask=mask\)", first.body[-1])
    loads = [line for line in second.body if re.match(rf"\w+ = tl\.load\({_pointer(second, made)} \+ offs, ", line)]
    if a not in beside or second.body[:3] != first.body[:3] or stored is None or len(loads) != 1:
        return None
    value = _renamed(stored.group(1), {"acc": "acc2"})
    named = {loads[0].split(" = ")[0]: value}
    epilogue = [re.sub(r"\bacc\b", "acc2", line) for line in beside[end + 1 : -1]]
    rest = [line for line in second.body[start + 1 :] if line != loads[0]]
    rest = [re.sub(r"\b\w+\b", lambda match: named.get(match.group(), match.group()), line) for line in rest]
    joined.body = _plain(
        [
            *second.body[:3],
            second.body[2].replace("acc", "acc2", 1),
            *second.body[3 : start + 1],
            b.replace("    b = ", "    b2 = ", 1),
            '    acc2 = tl.dot(a, b2, acc2, input_precision="ieee")',
            *epilogue,
            *(line for line in rest if line not in epilogue),
        ]
    )
    joined.name = f"two_{re.sub('_kernel[0-9]*$', '', second.name)}_kernel"
    joined.constants, joined.grid = second.constants, second.grid
    return joined


def _pointer(kernel: Tuned, tensor: str) -> str:
    return next(name for name, passed in kernel.pointers.items() if passed == tensor)


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


REWRITINGS: tuple[Rewriting, ...] = (join_reduction, hold_row, share_factor, group_tiles, widen)
"""In this order: first less memory traffic, then how it is cut."""
