"""Views: what `forward` may leave to torch, since nothing is computed or moved."""

from collections.abc import Callable, Sequence

import torch

from tritonsmith.data.lower.forward import Forward
from tritonsmith.data.lower.trace import Op, Untraceable, Value


def _shape(forward: Forward, op: Op, source: Value) -> str:
    follow = new_sizes(forward.held(source).name, source.shape, op.result.shape)
    given = op.args.get("size", op.args.get("shape"))
    if not isinstance(given, list) or len(given) != len(follow):
        return ", ".join(follow)
    # Where the task leaves a size to torch, so does the answer; a number that the task writes or keeps is itself.
    free = given.index(-1) if -1 in given else None
    sizes = []
    for d, (size, expression) in enumerate(zip(op.result.shape, follow, strict=True)):
        if d == free:
            sizes.append("-1")
        elif size in forward.literals and size > 1:
            sizes.append(str(size))
        elif expression == "-1" and free is None:
            sizes.append(expression)
        else:
            plain = expression == "-1" or expression.isdigit()
            sizes.append(forward.spelled(size) if plain else expression)
    return ", ".join(sizes)


def new_sizes(name: str, old: Sequence[int], new: Sequence[int]) -> list[str]:
    """The new shape in terms of the old one: equal sizes and products of neighbours by name, one -1, else numbers."""
    sizes: list[str] = []
    i = j = 0
    inferred = False
    while j < len(new):
        if new[j] == 1 and (i >= len(old) or old[i] != 1):
            sizes.append("1")
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
        before, after = range(first_i, i), range(first_j, j)
        if len(after) == 1 and len(before) == 1:
            sizes.append(f"{name}.shape[{before[0]}]")
        elif len(after) == 1:
            sizes.append("-1" if not inferred else " * ".join(f"{name}.shape[{d}]" for d in before))
            inferred = True
        else:
            # One factor follows from the rest; it is the largest, which is the likeliest to change.
            free = max(after, key=lambda d: new[d])
            sizes += ["-1" if d == free and not inferred else str(new[d]) for d in after]
            inferred = True
    return sizes


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
    "split": lambda f, op, x: _split(op),
    "unbind": lambda f, op, x: f"unbind({op.args['dim']})",
    "narrow": lambda f, op, x: f"narrow({op.args['dim']}, {op.args['start']}, {_span_size(f, op)})",
    "unfold": lambda f, op, x: f"unfold({op.args['dimension']}, {op.args['size']}, {op.args['step']})",
    "select": lambda f, op, x: f"select({op.args['dim']}, {op.args['index']})",
}


def _split(op: Op) -> str:
    given = op.args.get("split_size", op.args.get("split_sizes"))
    return f"split({given!r}, dim={op.args['dim']})"


def _sliced(forward: Forward, op: Op, x: Value) -> str:
    """A slice as it is written: `[:, 1:]`. Its end is counted from the tensor's end where the task does so."""
    dim, step = op.args["dim"], op.args.get("step")
    assert isinstance(dim, int)
    dim %= len(x.shape)
    start, end = op.args.get("start") or 0, op.args.get("end")
    assert isinstance(start, int)
    size = x.shape[dim]
    if start < 0:
        start += size
    first = "" if start == 0 else str(start)
    if not isinstance(end, int) or end >= size:
        last = ""
    elif 0 < size - end <= 16 and size - end in forward.literals and end not in forward.literals:
        last = str(end - size)
    elif end < 0:
        last = str(end)
    else:
        last = _span_size(forward, op) if start == 0 and step in (1, None) else str(end)
    stride = "" if step in (1, None) else f":{step}"
    return f"[{':, ' * dim}{first}:{last}{stride}]"


def _span_size(forward: Forward, op: Op) -> str:
    """The length of a slice: an input's size where one has it, else a number."""
    dim = op.args["dim"]
    assert isinstance(dim, int)
    size = op.result.shape[dim]
    for one in forward.program.inputs:
        for d, own in enumerate(one.shape):
            if own == size and size > 1 and size not in forward.literals:
                return f"{one.name}.shape[{d}]"
    return str(size)


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
