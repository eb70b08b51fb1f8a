"""Tensors that follow from their shape alone: filled ones, ranges, identities, triangles, and masks made of these.

Nothing of them goes to memory: a filled tensor is its number, a range the coordinate that a kernel has anyway. Views
of such tensors are made anew in the other shape. Ranges that depend on anything but sizes and integers are left out.
"""

from collections.abc import Callable

import torch

from tritonsmith.data.lower.pointwise import is_pointwise
from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.trace import Op, Untraceable, Value

# -- making them


def _full(make: Maker, shape: tuple[int, ...], dtype: torch.dtype, given: object) -> Value:
    """A tensor filled with a number."""
    if not isinstance(given, (int, float)):
        raise Untraceable("filled with no number")
    return make("full", shape, dtype, fill_value=float(given) if dtype.is_floating_point else int(given))


def _index(make: Maker, shape: tuple[int, ...], dim: int) -> Value:
    """The coordinate along a dimension, for every element; ones along the others."""
    thin = tuple(size if i == dim else 1 for i, size in enumerate(shape))
    return make("index", thin, torch.int64, dim=dim)


@rule("ones", "ones_like", "new_ones")
def _ones(op: Op, make: Maker) -> Value:
    return _full(make, op.result.shape, op.result.dtype, 1)


@rule("zeros", "zeros_like", "new_zeros")
def _zeros(op: Op, make: Maker) -> Value:
    return _full(make, op.result.shape, op.result.dtype, 0)


@rule("full", "full_like", "new_full", "scalar_tensor")
def _filled(op: Op, make: Maker) -> Value | None:
    if op.name == "full" and set(op.args) == {"fill_value"}:
        return None
    return _full(make, op.result.shape, op.result.dtype, op.args.get("fill_value", op.args.get("s")))


@rule("arange")
def _arange(op: Op, make: Maker) -> Value:
    start, step = op.args.get("start", 0), op.args.get("step", 1)
    made = _index(make, op.result.shape, 0)
    if not isinstance(start, int) or not isinstance(step, int):
        raise Untraceable("a range of no integers")
    if step != 1:
        made = make("mul", made.shape, made.dtype, self=made, other=step)
    if start != 0:
        made = make("add", made.shape, made.dtype, self=made, other=start, alpha=1)
    return _typed(make, made, op.result.dtype)


def _typed(make: Maker, value: Value, dtype: torch.dtype) -> Value:
    return make("as_float", value.shape, dtype, self=value) if dtype.is_floating_point else value


@rule("eye")
def _eye(op: Op, make: Maker) -> Value:
    shape = op.result.shape
    same = make("eq", shape, torch.bool, self=_index(make, shape, 0), other=_index(make, shape, 1))
    return _typed(make, same, op.result.dtype)


@rule("tril", "triu")
def _triangle(op: Op, make: Maker) -> Value:
    """Zeros on the other side of a diagonal."""
    source, diagonal = op.tensor("self"), op.args.get("diagonal", 0)
    shape = source.shape[-2:]
    rows, columns = _index(make, shape, 0), _index(make, shape, 1)
    if diagonal:
        rows = make("add", rows.shape, torch.int64, self=rows, other=diagonal, alpha=1)
    kept = make("le" if op.name == "tril" else "ge", shape, torch.bool, self=columns, other=rows)
    filled = make.producers.get(source)
    if filled is not None and filled.name == "full" and filled.args["fill_value"] == 1:
        return _typed(make, kept, source.dtype)
    return make("where", source.shape, source.dtype, condition=kept, self=source, other=0.0)


@rule("diagonal")
def _diagonal(op: Op, make: Maker) -> Value:
    """The diagonal of a square matrix: each row's sum of what lies on it."""
    source, shape = op.tensor("self"), op.tensor("self").shape
    if len(shape) != 2 or shape[0] != shape[1] or op.args.get("offset"):
        raise Untraceable("a diagonal of no square matrix, or another than the main one")
    same = make("eq", shape, torch.bool, self=_index(make, shape, 0), other=_index(make, shape, 1))
    kept = make("where", shape, source.dtype, condition=same, self=source, other=0.0)
    return make("sum", shape[:1], source.dtype, self=kept, dim=[1], keepdim=False)


# -- views of them


def _is_constant(make: Maker, value: Value) -> bool:
    op = make.producers.get(value)
    if op is None:
        return False
    return op.name in ("full", "index") or (is_pointwise(op) and all(_is_constant(make, one) for one in op.operands))


def _rebuilt(make: Maker, value: Value, shape: tuple[int, ...], places: dict[int, int]) -> Value:
    """The same tensor with dimension i at place `places[i]` of another shape; dimensions of one have no place."""
    op = make.producers[value]
    if op.name == "full":
        return make("full", shape, value.dtype, **op.args)
    if op.name == "index":
        dim = op.args["dim"]
        assert isinstance(dim, int)
        return _index(make, shape, places[dim]) if dim in places else _full(make, shape, value.dtype, 0)
    args: dict[str, object] = {}
    for name, given in op.args.items():
        if isinstance(given, Value):
            lead = len(value.shape) - len(given.shape)
            inner = {i - lead: place for i, place in places.items() if i >= lead and given.shape[i - lead] != 1}
            thin = tuple(size if i in inner.values() else 1 for i, size in enumerate(shape))
            given = _rebuilt(make, given, thin, inner)
        args[name] = given
    return make(op.name, shape, value.dtype, **args)


def _moved(op: Op, make: Maker, order: Callable[[int], list[int]]) -> Value | None:
    source = op.tensor("self")
    if not _is_constant(make, source):
        return None
    dims = order(len(source.shape))
    return _rebuilt(make, source, op.result.shape, {old: new for new, old in enumerate(dims)})


@rule("unsqueeze", "squeeze", "view", "reshape", "slice")
def _resized(op: Op, make: Maker) -> Value | None:
    """A view that adds or leaves out ones, or all of the tensor."""
    source, shape = op.tensor("self"), op.result.shape
    if not _is_constant(make, source) or (op.name == "slice" and shape != source.shape):
        return None
    old = [i for i, size in enumerate(source.shape) if size != 1]
    new = [i for i, size in enumerate(shape) if size != 1]
    if [source.shape[i] for i in old] != [shape[i] for i in new]:
        return None
    return _rebuilt(make, source, shape, dict(zip(old, new, strict=True)))


@rule("t", "mT", "numpy_T")
def _transposed(op: Op, make: Maker) -> Value | None:
    return _moved(op, make, lambda rank: [*range(rank - 2), rank - 1, rank - 2] if rank > 1 else [0])


@rule("transpose")
def _swapped(op: Op, make: Maker) -> Value | None:
    first, second = op.args["dim0"], op.args["dim1"]
    assert isinstance(first, int) and isinstance(second, int)

    def order(rank: int) -> list[int]:
        dims = list(range(rank))
        dims[first], dims[second] = dims[second], dims[first]
        return dims

    return _moved(op, make, order)
