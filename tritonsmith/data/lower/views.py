"""Views: what `forward` may leave to torch, since nothing is computed or moved."""

from collections.abc import Callable, Iterator, Sequence

import torch

from tritonsmith.data.lower.forward import Forward
from tritonsmith.data.lower.trace import Op, Untraceable, Value


def _shape(forward: Forward, op: Op, source: Value) -> str:
    name = forward.held(source).name
    given = op.args.get("size", op.args.get("shape"))
    known = isinstance(given, list) and len(given) == len(op.result.shape)
    # Where the task leaves a size to torch, so does the answer; a number that the task writes or keeps is itself.
    free = given.index(-1) if isinstance(given, list) and known and -1 in given else None
    follow = new_sizes(name, source.shape, op.result.shape, free)
    written = forward.sizes_written(op)
    sizes = []
    for d, (size, expression) in enumerate(zip(op.result.shape, follow, strict=True)):
        if known and d != free and size in written and size > 1:
            sizes.append(str(size))
        elif expression.isdigit() and size > 1:
            sizes.append(_known(forward, op, source, size, d))
        else:
            sizes.append(expression)
    return ", ".join(sizes)


def new_sizes(name: str, old: Sequence[int], new: Sequence[int], free: int | None = None) -> list[str]:
    """The new shape in terms of the old one: equal sizes and products of neighbours by name, one -1, else numbers.

    `free` is the new dimension that is -1, where the task says which.
    """
    sizes: list[str] = []
    inferred = free is not None
    for before, after in _matched(old, new):
        if not before:
            sizes.append("1")
        elif len(after) == 1 and len(before) == 1:
            sizes.append(f"{name}.shape[{before[0]}]")
        elif len(after) == 1:
            sizes.append("-1" if not inferred else " * ".join(f"{name}.shape[{d}]" for d in before))
            inferred = True
        else:
            # One factor follows from the rest; it is the largest, which is the likeliest to change.
            last = max(after, key=lambda d: new[d])
            sizes += ["-1" if d == last and not inferred else str(new[d]) for d in after]
            inferred = True
    return [*sizes[:free], "-1", *sizes[free + 1 :]] if free is not None else sizes


def _matched(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[range, range]]:
    """Neighbouring dimensions of the old and of the new shape with as many elements; a new one of size one alone."""
    i = j = 0
    while j < len(new):
        if new[j] == 1 and (i >= len(old) or old[i] != 1):
            yield range(0), range(j, j + 1)
            j += 1
            continue
        if i >= len(old):
            raise Untraceable("a view that cannot be followed")
        first_i, first_j = i, j
        left, right = old[i], new[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right and i < len(old):
                left, i = left * old[i], i + 1
            elif right < left and j < len(new):
                right, j = right * new[j], j + 1
            else:
                raise Untraceable("a view that cannot be followed")
        yield range(first_i, i), range(first_j, j)


def _known(forward: Forward, op: Op, source: Value, size: int, dim: int) -> str:
    """A size that does not follow from the source's alone: a member, an input's size, a product with a member."""
    if size in forward.sizes_written(op):
        return str(size)
    if (found := forward.member(op, size) or forward.input_size(size, dim, len(op.result.shape))) is not None:
        return found
    name = forward.held(source).name
    for d, own in enumerate(source.shape):
        if own > 1 and size % own == 0 and (factor := forward.member(op, size // own)) is not None:
            return f"{name}.shape[{d}] * {factor}"
        if own % size == 0 and (factor := forward.member(op, own // size)) is not None:
            return f"{name}.shape[{d}] // {factor}"
    return forward.weight_size(size) or str(size)


NEED_ORDER = {"view", "reshape", "flatten", "unflatten"}
"""Views of elements in order; of others they are copies."""

VIEWS: dict[str, Callable[[Forward, Op, Value], str]] = {
    "view": lambda f, op, x: f"reshape({_shape(f, op, x)})",
    "reshape": lambda f, op, x: f"reshape({_shape(f, op, x)})",
    "flatten": lambda f, op, x: f"flatten({op.args['start_dim']}{_end(op)})",
    "unflatten": lambda f, op, x: f"reshape({_shape(f, op, x)})",
    "unsqueeze": lambda f, op, x: f"unsqueeze({op.args['dim']})",
    "squeeze": lambda f, op, x: f"squeeze({'' if op.args.get('dim') is None else _listed(op.args['dim'])})",
    "transpose": lambda f, op, x: f"transpose({op.args['dim0']}, {op.args['dim1']})",
    "permute": lambda f, op, x: f"permute({_listed(op.args['dims'])})",
    "t": lambda f, op, x: "t()",
    "numpy_T": lambda f, op, x: "t()" if len(x.shape) == 2 else f"permute({_listed(range(len(x.shape))[::-1])})",
    "mT": lambda f, op, x: "transpose(-2, -1)",
    "chunk": lambda f, op, x: f"chunk({op.args['chunks']}, dim={op.args['dim']})",
    "split": lambda f, op, x: _split(f, op, x),
    "unbind": lambda f, op, x: f"unbind({op.args['dim']})",
    "narrow": lambda f, op, x: f"narrow({op.args['dim']}, {op.args['start']}, {_span_size(f, op)})",
    "unfold": lambda f, op, x: f"unfold({op.args['dimension']}, {op.args['size']}, {op.args['step']})",
    "select": lambda f, op, x: f"select({op.args['dim']}, {op.args['index']})",
}


def _split(forward: Forward, op: Op, source: Value) -> str:
    """In as many equal parts as the task's are, unless it writes their size; unequal ones by what is known of each."""
    given, dim = op.args.get("split_size", op.args.get("split_sizes")), op.args["dim"]
    assert isinstance(dim, int)
    parts = [one.shape[dim] for one in op.results]
    written = forward.sizes_written(op)
    if len(set(parts)) == 1 and parts[0] not in written:
        return f"chunk({len(parts)}, dim={dim})"
    if isinstance(given, int):
        size = str(given) if given in written else _known(forward, op, source, given, dim)
        return f"split({size}, dim={dim})"
    sizes = [_known(forward, op, source, part, dim) for part in parts]
    loose = [place for place, (size, part) in enumerate(zip(sizes, parts, strict=True)) if size == str(part)]
    loose = [place for place in loose if parts[place] not in written]
    if len(loose) == 1:
        rest = " - ".join(size for place, size in enumerate(sizes) if place not in loose)
        sizes[loose[0]] = f"{forward.held(source).name}.shape[{dim}] - {rest}"
    return f"split([{', '.join(sizes)}], dim={dim})"


def _sliced(forward: Forward, op: Op, x: Value) -> str:
    """A slice as it is written: `[:, 1:]`. Its end is counted from the tensor's end where the task does so."""
    dim, step = op.args["dim"], op.args.get("step")
    assert isinstance(dim, int)
    dim %= len(x.shape)
    start, end = op.args.get("start") or 0, op.args.get("end")
    assert isinstance(start, int)
    size = x.shape[dim]
    # A start counted from the end stays so: the end may be elsewhere at other sizes.
    first = "" if start == 0 or start <= -size else _part(forward, op, start)
    if not isinstance(end, int) or end >= size:
        last = ""
    elif end < 0:
        last = str(end)
    elif 0 < size - end <= 16 and size - end in forward.literals and end not in forward.literals:
        last = str(end - size)
    else:
        known = _span_size(forward, op) if start == 0 and step in (1, None) else str(end)
        last = _part(forward, op, end) if known == str(end) else known
    stride = "" if step in (1, None) else f":{step}"
    return f"[{':, ' * dim}{first}:{last}{stride}]"


def _part(forward: Forward, op: Op, place: int) -> str:
    """Where a slice begins or ends: a half of the size, or what part the task's code divides it into; else a number."""
    source, dim = op.tensor("self"), op.args["dim"]
    assert isinstance(dim, int)
    size, written = source.shape[dim], forward.literals | forward.sizes_written(op)
    if place <= 1 or place in written or size % place or size // place not in written:
        return str(place)
    return f"{forward.held(source).name}.shape[{dim % len(source.shape)}] // {size // place}"


def _span_size(forward: Forward, op: Op) -> str:
    """The length of a slice: an input's size or a member where one has it, else a number."""
    dim = op.args["dim"]
    assert isinstance(dim, int)
    size = op.result.shape[dim]
    if size <= 1 or size in forward.literals:
        return str(size)
    return forward.input_size(size) or forward.member(op, size) or str(size)


def _end(op: Op) -> str:
    return "" if op.args["end_dim"] == -1 else f", {op.args['end_dim']}"


def _listed(given: object) -> str:
    return ", ".join(map(str, given)) if isinstance(given, (list, tuple, range)) else str(given)


def emit_view(forward: Forward, op: Op) -> None:
    """The view as a statement; what it gives may lie out of order."""
    source = op.tensor("self")
    held = forward.shaped(source)
    if op.name in NEED_ORDER:
        held = forward.in_order(source)
    names = [forward.fresh() for _ in op.results]
    made = f".{VIEWS[op.name](forward, op, source)}" if op.name != "slice" else _sliced(forward, op, source)
    forward.lines.append(f"{', '.join(names)} = {held.name}{made}")
    for name, result in zip(names, op.results, strict=True):
        forward.hold(result, name, contiguous=held.contiguous and _keeps_order(op, source, result))


def _keeps_order(op: Op, source: Value, result: Value) -> bool:
    """Whether the view of an ordered tensor is ordered."""
    if op.name in ("chunk", "split", "unbind", "slice", "narrow"):
        if op.args.get("step") not in (1, None):
            return False
        dim = op.args["dim"]
        assert isinstance(dim, int)
        return all(size == 1 for size in source.shape[: dim % len(source.shape)]) or result.shape == source.shape
    if op.name == "unfold":
        return False
    meta = torch.empty(source.shape, device="meta")
    if op.name in ("transpose", "permute", "t", "numpy_T", "mT", "select"):
        text = {"mT": "transpose(-2, -1)", "numpy_T": f"permute({_listed(range(len(source.shape))[::-1])})"}
        if op.name == "transpose":
            return meta.transpose(op.args["dim0"], op.args["dim1"]).is_contiguous()  # type: ignore[arg-type]
        if op.name == "permute":
            return meta.permute(op.args["dims"]).is_contiguous()  # type: ignore[arg-type]
        if op.name == "select":
            return meta.select(op.args["dim"], op.args["index"]).is_contiguous()  # type: ignore[arg-type]
        return meta.mT.is_contiguous() if op.name in text or op.name == "t" else False
    return True
