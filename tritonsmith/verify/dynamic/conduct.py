"""The policy's dynamic net: the judgement of what `observe` and `work` saw a forward do.

Under `strict` torch may only allocate, view, copy, cast and compute shapes; a kernel must have been launched and its
stores must reach the output. Computes no values: that is `numerics`. Rules over the source are in `policy`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding
from tritonsmith.verify.dynamic.observe import MAX_LAUNCHES
from tritonsmith.verify.policy import Policy

MAX_SCALARS = 16
"""Single values that a forward may read (`item`): a scale or a length, not the data."""
_HANDED = 0.5
"""Share of an input's floats that a forward may not hand to Python, however few they are."""
IMPOSSIBLE = {"grid", "resources"}
"""Rules of what no GPU launches, which is known without running it."""
GLUE_OPERATORS = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros",
    "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "zero_", "fill_", "fill", "arange",
    "scalar_tensor", "lift_fresh", "lift_fresh_copy", "tensor", "resize_", "view", "_unsafe_view", "reshape",
    "_reshape_alias", "view_as", "expand", "permute", "transpose", "t", "squeeze", "unsqueeze", "select", "slice",
    "narrow", "as_strided", "alias", "detach", "detach_", "flatten", "unflatten", "unbind", "split",
    "split_with_sizes", "chunk", "unfold", "diagonal", "movedim", "swapaxes", "view_as_real", "view_as_complex",
    "transpose_", "t_", "squeeze_", "unsqueeze_", "as_strided_", "clone", "copy_", "_to_copy", "contiguous", "to",
    "copy", "cat", "stack", "constant_pad_nd", "_copy_from", "repeat", "_local_scalar_dense", "item", "is_same_size",
    "stride", "size", "sym_size", "sym_stride", "numel", "dim", "is_contiguous", "_has_compatible_shallow_copy_type",
    "set_", "record_stream", "is_pinned", "device", "empty_permuted", "unsafe_split",
    "unsafe_chunk", "lift", "is_nonzero",
    "unsafe_split_with_sizes", "resize", "narrow_copy", "flip", "roll", "promote_types", "result_type", "can_cast",
}  # fmt: skip
"""Aten operators that move or name memory but compute no value."""


def check_run(seen: Mapping[str, object], policy: Policy, free: Collection[int] = ()) -> list[Finding]:
    """What one `forward` did against the policy; `seen` is a runner's answer.

    `free` are the places of outputs that torch may make alone: those that the reference passes on, see `passing`.
    """
    findings = []
    launches = seen.get("launches")
    if not (isinstance(launches, list) and launches):
        findings.append(Finding(rule="never-launched", message="forward launches no Triton kernel"))
    elif _holds_nothing(seen, free):
        findings.append(DECOY)
    work = seen.get("work")
    if isinstance(work, Mapping) and work.get("lowered") is True:
        message = "a kernel rounds float32 values to fewer bits, and the integers it finds from them may be others"
        findings.append(Finding(rule="lower-precision", message=message))
    hidden = seen.get("hidden")
    if isinstance(hidden, list) and (found := [str(name) for name in hidden if computes(f"aten.{name}.default")]):
        names = ", ".join(found[:5])
        findings.append(Finding(rule="observed", message=f"torch runs {names} where no observer looks"))
    operators = seen.get("operators")
    if policy == "strict" and isinstance(operators, Mapping):
        computing = sorted(str(name) for name in operators if computes(str(name)))
        if computing:
            message = f"torch computes in forward: {', '.join(computing[:5])}; under the strict policy the kernel must"
            findings.append(Finding(rule="torch-compute", message=message))
        rounded = _count(work, "rounded")
        if rounded > MAX_SCALARS:
            message = f"casts in torch round {rounded} values to integers; under the strict policy the kernel must"
            findings.append(Finding(rule="torch-compute", message=message))
        overwritten = _count(work, "overwritten")
        if overwritten > MAX_SCALARS:
            message = f"torch writes a constant over {overwritten} values; under the strict policy the kernel must"
            findings.append(Finding(rule="torch-compute", message=message))
        handed = work.get("handed") if isinstance(work, Mapping) else None
        if isinstance(handed, float) and handed >= _HANDED:
            message = f"forward hands {handed:.0%} of an input's values to Python"
            findings.append(Finding(rule="host-compute", message=message))
        scalars = _count(operators, "aten._local_scalar_dense.default") + _count(seen.get("work"), "values")
        if scalars > MAX_SCALARS:
            message = f"forward reads {scalars} single values of tensors; {MAX_SCALARS} are allowed"
            findings.append(Finding(rule="host-compute", message=message))
    return findings


def _holds_nothing(seen: Mapping[str, object], free: Collection[int]) -> bool:
    """Whether an output, or all there is, has nothing of a kernel's. What has no elements has nothing to hold: whether
    it should be so the values tell."""
    stored = bool(seen.get("touched")) or seen.get("bare") is True
    return not stored or any(place not in free for place in _places(seen, "untouched"))


def beyond_hardware(label: str, finding: Finding, cuda: bool) -> bool:
    """Whether a variant fails for no more than that its sizes, which are not the task's, need a larger GPU.

    Where Triton refuses a launch (`finding`), the kernel is for the sizes that it was asked for: a block that holds a
    row is honest until a row is too long. It must then be right at odd sizes: see `told_at_other_sizes`.
    """
    return cuda and label == "larger dimensions" and finding.rule == "resources"


_SIZES = ("power of 2", "power of two", "Input shapes", "shape", "numel", "static_assert", "static assert", "align")
"""What compilers' messages about a block's size have in them."""


def turns_down(finding: Finding) -> bool:
    """Whether a candidate says that it is not made for a size: by an assertion, or by a block that cannot be compiled.

    That is a fact about the candidate, and no wrong answer; where it counts `comparing` knows.
    """
    if finding.rule != "exception":
        return False
    kind, _, text = finding.message.partition(": ")
    if kind in ("CompilationError", "InterpreterError", "CompileTimeAssertionFailure"):
        return any(word in text for word in _SIZES)
    return kind in ("AssertionError", "ValueError", "RuntimeError", "NotImplementedError")


def may_turn_down(variant: Variant, finding: Finding) -> bool:
    """Whether nothing is held against a candidate that does not take a variant.

    Other numbers may name another task, and are to be refused in so many words; sizes that are long in one dimension
    need not stand so to each other. A kernel for the task's precision alone, by an assertion or by what Triton takes no
    half precision for, answers the task: wrong values are another matter.
    """
    if variant.dtype is not None:
        return finding.rule == "exception"
    if variant.values == "numbers":
        return turns_down(finding)
    return variant.brief and finding.rule == "exception"


def told_at_other_sizes(right: Collection[str]) -> bool:
    """Whether a candidate was right on variants (by label) that show it is for more sizes than the task's."""
    return {"as given", "odd sizes"} <= set(right)


def launched_otherwise(compiled: Collection[Mapping[str, object]], seen: Mapping[str, object]) -> list[Finding]:
    """What a forward launches that it did not launch when it was compiled, at the same sizes and on the same values.

    `compiled` are the launches of that time. Numbers that a forward takes out of what kernels wrote may be others: no
    kernel ran then.
    """
    launches, work = seen.get("launches"), seen.get("work")
    peeked = isinstance(work, Mapping) and work.get("peeked") is True
    words = ("name", "which") if peeked else ("name", "which", "said")

    def told(row: Mapping[str, object]) -> tuple[str, ...]:
        return *(str(row.get(word)) for word in words), "" if peeked else str(_grid(row))

    rows = [row for row in launches if isinstance(row, Mapping)] if isinstance(launches, list) else []
    known = {told(row) for row in compiled}
    new = {told(row) for row in rows} - known
    names = {name for name, *_ in known}
    if not new or len(compiled) >= MAX_LAUNCHES:
        return []
    other = sorted({name for name, *_ in new if name not in names})
    what = ", ".join(other) if other else f"another {min(new)[0]}, or with other arguments or on another grid,"
    message = f"forward launches {what} here, which it did not launch when it was compiled"
    return [Finding(rule="uncompiled", message=message)]


def _grid(row: Mapping[str, object]) -> list[object]:
    """A launch's programs along each of three dimensions: some tell of those alone that were given."""
    grid = row.get("grid")
    given = list(grid) if isinstance(grid, (list, tuple)) else []
    return given + [1] * (3 - len(given))


def at_own_sizes(seen: Mapping[str, object], policy: Policy) -> list[Finding]:
    """What a forward at the task's own sizes, whose kernels were only compiled, did against the policy.

    Tensors had no data there, or held zeros, so a forward that launches nothing says little: all of it may be empty.
    """
    return [
        finding
        for finding in check_run({**seen, "touched": True, "untouched": []}, policy)
        if finding.rule != "host-compute"
    ]


ROUGH = {"tf32"}
"""What a kernel may be told in words, by which products are of lower precision than by other words."""


def less_precise(own: Collection[Mapping[str, object]], runs: Collection[Mapping[str, object]]) -> list[Finding]:
    """What kernels are given at the task's own sizes (launches there) that is of lower precision than in any run.

    A kernel that was run is meant; one that was not has no values to be told by.
    """
    known: dict[tuple[str, str], set[str]] = {}
    for name, argument, kind in _precise(runs):
        known.setdefault((name, argument), set()).add(kind)
    for name, argument, kind in _precise(own):
        kinds = known.get((name, argument))
        bits = {int(one) for one in kinds or () if one.isdigit()}
        lower = kind.isdigit() and int(kind) < min(bits, default=0)
        if lower or (kinds and kind in ROUGH - kinds):
            what = f"{kind} bits" if lower else kind
            message = f"at the task's own sizes {name} is given {argument} in {what}, as nowhere that it was run"
            return [Finding(rule="lower-precision", message=message)]
    return []


def _precise(launches: Collection[Mapping[str, object]]) -> Iterator[tuple[str, str, str]]:
    """Kernel, argument and precision of each argument that has one."""
    for row in launches:
        kinds = row.get("precise")
        for argument, kind in kinds.items() if isinstance(kinds, Mapping) else ():
            yield str(row.get("name")), str(argument), str(kind)


def unturned(own: Mapping[str, object]) -> dict[str, int]:
    """Loops, by line, that go round twice at the task's own sizes (or at all) and never did where values were compared;
    and how often it is that they go round there, two standing for more."""
    known, rounds = own.get("known"), own.get("loops")
    if not isinstance(known, Mapping) or not isinstance(rounds, Mapping):
        return {}
    found = {str(line): min(2, _count(rounds, line)) for line in rounds}
    return {line: count for line, count in found.items() if _count(known, line) < count}


def turned(seen: Mapping[str, object], wanted: Mapping[str, int]) -> set[str]:
    """Which of these loops go round so often in what was `seen`."""
    return {line for line, count in wanted.items() if _count(seen.get("loops"), line) >= count}


_COVERED = 0.98
"""Share of an output that must be stored: kernels that store all of it store that and more, as it is counted."""
PARTS = 4
"""Parts of an output that programs must store to, as `cover` counts them."""
OVERFLOWS = 1 << 31
"""Bytes of a tensor whose elements may be too many for a number of 32 bits."""
_WORTH = 1 << 14
"""Bytes of an output in which parts are told apart."""


def uncovered(own: Mapping[str, object], small: Mapping[str, object]) -> list[Finding]:
    """Outputs that kernels cannot store whole at the task's own sizes, as `cover` counts it; addresses beyond memory.

    What it counts must be enough at `small` sizes, where the candidate's values were right: or it does not see what
    the kernels do.
    """
    lost = {name for name, *_ in _strays(small)}
    for name, line, offset, size in _strays(own):
        if name not in lost:
            message = f"at the task's own sizes {name} goes to byte {offset} of a tensor of {size}"
            hint = ": 32 bits do not hold its offsets" if offset < 0 and size > OVERFLOWS else ""
            return [Finding(rule="out-of-bounds", message=message + hint, line=line or None)]
    enough = {place for place, most, whole in _covered(small) if most >= whole}
    for place, most, whole in _covered(own):
        if place in enough and most < _COVERED * whole:
            share = f"{100 * most / whole:.2g} %"
            message = f"at the task's own sizes the grids store {share} of output {place:.0f} at most"
            return [Finding(rule="uninitialised", message=message)]
    everywhere = {place for place, parts, _ in _covered(small, "reached") if parts == PARTS}
    for place, parts, whole in _covered(own, "reached"):
        if place in everywhere and parts < PARTS and whole >= _WORTH:
            message = f"at the task's own sizes programs store to {parts:.0f} of {PARTS} parts of output {place:.0f}"
            return [Finding(rule="uninitialised", message=f"{message}, however many of them are tried")]
    return []


def covers(seen: Mapping[str, object]) -> bool:
    """Whether every output that is counted may be stored whole, and in all its parts, and no access leaves memory."""
    whole = all(most >= _COVERED * size for _, most, size in _covered(seen))
    return whole and not _strays(seen) and all(parts == PARTS for _, parts, _ in _covered(seen, "reached"))


def _strays(seen: Mapping[str, object]) -> list[tuple[str, int, int, int]]:
    rows = seen.get("strays")
    known = [row for row in rows if isinstance(row, list) and len(row) == 4] if isinstance(rows, list) else []
    return [
        (str(name), line, offset, size)
        for name, line, offset, size in known
        if isinstance(line, int) and isinstance(offset, int) and isinstance(size, int)
    ]


def _covered(seen: Mapping[str, object], key: str = "covered") -> list[tuple[float, float, float]]:
    rows = seen.get(key)
    known = [row for row in rows if isinstance(row, list) and len(row) == 3] if isinstance(rows, list) else []
    return [(float(row[0]), float(row[1]), float(row[2])) for row in known]


def remembered(seen: Mapping[str, object], again: Mapping[str, object]) -> list[Finding]:
    """What a forward spares itself when it is called `again` on the contents it was called on last (`seen`).

    An answer kept by its inputs' contents is right whenever it is asked for, and a timing that shows the same inputs
    twice believes it. A kernel may look for itself, and do less: it multiplies, or writes, less than it did.
    """
    first, second = (Counter(_launched(answer, "name")) for answer in (seen, again))
    if first != second:
        other = ", ".join(sorted(((first - second) or (second - first)).keys()))
        times = "fewer" if first - second else "more"
        message = f"called again on the same contents forward launches {other} {times} times"
        return [Finding(rule="cache", message=message)]
    words = ("name", "bytes_loaded", "bytes_stored", "dot_flops")
    first, second = (Counter(_launched(answer, *words)) for answer in (seen, again))
    if first != second:
        other = min(first - second).split()[0]
        message = f"called again on the same contents {other} reads, writes or multiplies another amount"
        return [Finding(rule="cache", message=message)]
    return []


def pieces(seen: Mapping[str, object]) -> int:
    """Pieces of memory that a forward keeps and that its answer may hang on; see `kept`."""
    return _count(seen, "pieces")


HANGS = Finding(
    rule="cache",
    message="the answer hangs on memory that forward keeps: it is wrong where that holds what it held before the call",
)


def counts(seen: Mapping[str, object]) -> bool:
    """Whether a candidate counts its calls; see `counters`."""
    return _count(seen, "counters") > 0


COUNTED = Finding(rule="cache", message="after many calls the answer is another one: forward counts them")


def tickets(seen: Mapping[str, object]) -> bool:
    """Whether kernels count, call by call, in memory that forward keeps; see `kept`."""
    return _count(seen, "tickets") > 0


def keeps(seen: Mapping[str, object]) -> bool:
    """Whether kernels were given memory, besides inputs and weights, that was there before the call; see `kept`."""
    return _count(seen, "older") > 0


KEPT = Finding(
    rule="cache",
    message="called on other values or sizes than before the answer is wrong, and that of a new ModelNew is right: "
    "forward keeps what it found in an earlier call's inputs",
)
FROZEN = Finding(
    rule="cache",
    message="called on another number of rows than before the answer is wrong, and that of a new ModelNew is right: "
    "forward keeps a size, or memory of a size, of an earlier call",
)
STALE = Finding(
    rule="cache",
    message="after a first call the model's weights were given other contents, as training and loading do, and the "
    "answer is not that of these weights: forward keeps what it made of the old ones; make it anew in each call",
)
SHARED = Finding(
    rule="cache",
    message="another ModelNew was constructed, with other weights or arguments, and one of the two gives a wrong "
    "answer beside the other: a class or a module keeps what is one model's; keep it in `self`",
)


def did_otherwise(seen: Mapping[str, object]) -> list[Finding]:
    """What a forward that is called by the thousand on the same contents did otherwise at last; see `unrun`."""
    if not isinstance(changed := seen.get("changed"), str) or not changed:
        return []
    message = f"after {_count(seen, 'calls')} calls on the same contents forward {changed[:200]}: it counts them"
    return [Finding(rule="cache", message=message)]


def _launched(seen: Mapping[str, object], *words: str) -> list[str]:
    launches = seen.get("launches")
    rows = [row for row in launches if isinstance(row, Mapping)] if isinstance(launches, list) else []
    return [" ".join(str(row.get(word)) for word in words) for row in rows]


def made_by_torch(seen: Mapping[str, object], nearly: bool = False, rearranged: bool = False) -> bool:
    """Whether, in this run, torch had made the output of the inputs before a kernel copied it.

    With some inputs an honest kernel changes nothing either (a clamp of small values behind a `cat`): only what is so
    with other inputs too is `COPIED`. `nearly`: also where the output resembles what torch had made; see
    `work.resembles`; `rearranged`: where it holds the same values at other places.
    """
    counted = ["made", *(["nearly"] if nearly else []), *(["rearranged"] if rearranged else [])]
    work = seen.get("work")
    return isinstance(work, Mapping) and any(work.get(kind) is True for kind in counted)


def moved_by_torch(seen: Mapping[str, object], moving: bool) -> bool:
    """Whether torch brought values to other places in a task that asks for nothing else (`moving`; see `passing`)."""
    return moving and _count(seen.get("work"), "moved") > 0


def reads_nothing(seen: Mapping[str, object], reads: bool) -> bool:
    """Whether kernels wrote an answer and read no memory at all for it, in a task whose answer `reads` what is given.

    An answer that is the same whatever is given needs no kernel; the task says that it is to be computed.
    """
    launches = seen.get("launches")
    traffic = [row for row in launches if isinstance(row, Mapping)] if isinstance(launches, list) else []
    loaded, stored = (sum(_count(row, name) for row in traffic) for name in ("bytes_loaded", "bytes_stored"))
    told = _count(seen.get("operators"), "aten._local_scalar_dense.default")
    return reads and stored > 0 and loaded == 0 and told == 0


DECOY = Finding(rule="decoy", message="an output holds nothing that a kernel stored")
CONSTANT = Finding(rule="constant", message="the kernels read nothing of what forward was given")
COPIED = Finding(rule="decoy", message="torch had made the output already; the kernels only copy it")


def computes(operator: str) -> bool:
    """Whether an operator, by its name as torch tells it, does more than move or name memory."""
    return _short(operator) not in GLUE_OPERATORS


def _places(seen: Mapping[str, object], name: str) -> list[object]:
    rows = seen.get(name)
    return rows if isinstance(rows, list) else []


def _count(record: object, name: str) -> int:
    value = record.get(name) if isinstance(record, Mapping) else None
    return value if isinstance(value, int) else 0


def _short(operator: str) -> str:
    """`relu` of `aten.relu.default`; a name outside aten stays whole and so matches nothing."""
    namespace, _, rest = operator.partition(".")
    return rest.split(".")[0] if namespace == "aten" else operator
