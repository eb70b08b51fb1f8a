"""Products in terms of `mm`, `bmm` and `matmul`, or of arithmetic and sums where a factor is a vector.

A product with a vector has nothing for a tile to reuse, so it becomes a multiplication on the way into a sum. Einsum is
taken for tensors without repeated letters, several of them two at a time.
"""

from collections.abc import Sequence

from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.trace import Op, Untraceable, Value


def _sum(make: Maker, source: Value, dims: Sequence[int]) -> Value:
    shape = tuple(size for i, size in enumerate(source.shape) if i not in dims)
    return make("sum", shape, source.dtype, self=source, dim=list(dims), keepdim=False, dtype=None)


def _mul(make: Maker, a: Value, b: Value) -> Value:
    rank = max(len(a.shape), len(b.shape))
    padded = [(1,) * (rank - len(one.shape)) + one.shape for one in (a, b)]
    shape = tuple(q if p == 1 else p for p, q in zip(*padded, strict=True))
    return make("mul", shape, a.dtype, self=a, other=b)


def _unsqueezed(make: Maker, value: Value, dim: int) -> Value:
    shape = (*value.shape[:dim], 1, *value.shape[dim:])
    return make("unsqueeze", shape, value.dtype, self=value, dim=dim)


def _plus(op: Op, make: Maker, made: Value) -> Value:
    """beta * self + alpha * made, the ones left out."""
    own = op.tensor("self")
    alpha, beta = op.args.get("alpha", 1), op.args.get("beta", 1)
    if alpha != 1:
        made = make("mul", made.shape, made.dtype, self=made, other=alpha)
    if beta == 0:
        return made
    return make("add", op.result.shape, made.dtype, self=made, other=own, alpha=beta)


@rule("addmm", "baddbmm", "addbmm")
def _added(op: Op, make: Maker) -> Value:
    a, b = (op.tensor(name) for name in (("mat1", "mat2") if op.name == "addmm" else ("batch1", "batch2")))
    made = make("mm" if op.name == "addmm" else "bmm", (*a.shape[:-1], b.shape[-1]), a.dtype, self=a, mat2=b)
    return _plus(op, make, _sum(make, made, [0]) if op.name == "addbmm" else made)


@rule("addmv")
def _added_vector(op: Op, make: Maker) -> Value:
    return _plus(op, make, _sum(make, _mul(make, op.tensor("mat"), op.tensor("vec")), [1]))


@rule("addr")
def _added_outer(op: Op, make: Maker) -> Value:
    a, b = op.tensor("vec1"), op.tensor("vec2")
    return _plus(op, make, _mul(make, _unsqueezed(make, a, 1), b))


@rule("outer", "ger")
def _outer(op: Op, make: Maker) -> Value:
    a, b = op.operands[0], op.operands[-1]
    return _mul(make, _unsqueezed(make, a, 1), b)


@rule("mv", "dot", "vdot", "linalg_vecdot")
def _vector(op: Op, make: Maker) -> Value:
    product = _mul(make, op.operands[0], op.operands[-1])
    return _sum(make, product, [len(product.shape) - 1])


@rule("matmul", "linalg_matmul", "mm", "bmm")
def _matmul(op: Op, make: Maker) -> Value | None:
    if "transposed" in op.args:
        return None
    a, b = op.operands[0], op.operands[-1]
    if len(b.shape) == 1:
        product = _mul(make, a, b)
        return _sum(make, product, [len(product.shape) - 1])
    if len(a.shape) == 1:
        product = _mul(make, _unsqueezed(make, a, 1), b)
        return _sum(make, product, [len(product.shape) - 2])
    if (scaled := _scaled(make, a, b)) is not None:
        return scaled
    if b.shape[-1] == 1 and len(b.shape) == 2:
        column = make("squeeze", b.shape[:1], b.dtype, self=b, dim=1)
        product = _mul(make, a, column)
        return _unsqueezed(make, _sum(make, product, [len(product.shape) - 1]), len(product.shape) - 1)
    name = "matmul" if op.name == "linalg_matmul" else op.name
    (left, by_left), (right, by_right) = _straight(make, a), _straight(make, b)
    return make(name, op.result.shape, op.result.dtype, self=left, other=right, transposed=(by_left, by_right))


def _straight(make: Maker, value: Value) -> tuple[Value, bool]:
    """The matrices that a factor is the transposes of, where it is a transposed view; and whether it is."""
    op = make.producers.get(value)
    rank = len(value.shape)
    if op is None or op.name not in ("t", "mT", "numpy_T", "transpose", "permute"):
        return value, False
    if op.name == "transpose":
        turned = {int(str(op.args[name])) % rank for name in ("dim0", "dim1")} == {rank - 1, rank - 2}
    elif op.name == "permute":
        dims = op.args["dims"]
        turned = isinstance(dims, list) and [d % rank for d in dims] == [*range(rank - 2), rank - 1, rank - 2]
    else:
        turned = op.name == "mT" or rank == 2
    return (op.operands[0], True) if turned else (value, False)


def _scaled(make: Maker, a: Value, b: Value) -> Value | None:
    """A diagonal matrix scales rows, or columns."""
    for diagonal, other, left in ((a, b, True), (b, a, False)):
        maker = make.producers.get(diagonal)
        if maker is None or maker.name not in ("diag", "diag_embed"):
            continue
        given = maker.tensor("self")
        if len(given.shape) >= len(diagonal.shape) or maker.args.get("diagonal") or maker.args.get("offset"):
            continue
        rank = len(given.shape)
        if left or rank > 1:
            given = _unsqueezed(make, given, rank if left else rank - 1)
        return _mul(make, given, other)
    return None


@rule("linear")
def _linear(op: Op, make: Maker) -> Value | None:
    """A layer applied to one vector."""
    x, weight, bias = op.tensor("input"), op.tensor("weight"), op.args.get("bias")
    if len(x.shape) > 1 and len(weight.shape) > 1:
        return None
    made = _mul(make, weight, x) if len(x.shape) == 1 else _mul(make, x, weight)
    made = _sum(make, made, [len(made.shape) - 1])
    return make("add", made.shape, made.dtype, self=made, other=bias, alpha=1) if isinstance(bias, Value) else made


@rule("inner")
def _inner(op: Op, make: Maker) -> Value:
    a, b = op.tensor("self"), op.tensor("other")
    if len(b.shape) > 2:
        raise Untraceable("inner of stacks")
    if len(b.shape) == 2 and len(a.shape) > 1:
        return make("linear", op.result.shape, op.result.dtype, input=a, weight=b, bias=None)
    product = _mul(make, a, b)
    return _sum(make, product, [len(product.shape) - 1])


@rule("bilinear")
def _bilinear(op: Op, make: Maker) -> Value:
    """x W_o y for each o: x times every W_o, then a row's product with y is summed."""
    x, y, weight = op.tensor("input1"), op.tensor("input2"), op.tensor("weight")
    if len(x.shape) != 2:
        raise Untraceable("bilinear of more than two dimensions")
    made = make("matmul", (weight.shape[0], x.shape[0], weight.shape[2]), x.dtype, self=x, other=weight)
    made = _sum(make, _mul(make, made, y), [2])
    made = make("transpose", made.shape[::-1], made.dtype, self=made, dim0=0, dim1=1)
    bias = op.args.get("bias")
    if not isinstance(bias, Value):
        return make("copy", made.shape, made.dtype, self=made)
    return make("add", made.shape, made.dtype, self=made, other=bias, alpha=1)


# -- einsum


@rule("tensordot")
def _tensordot(op: Op, make: Maker) -> Value:
    a, b = op.tensor("self"), op.tensor("other")
    inner = op.args["dims_self"], op.args["dims_other"]
    assert all(isinstance(dims, (list, tuple)) for dims in inner)
    letters = [iter("abcdefghijklm"), iter("nopqrstuvwxyz")]
    own = [[next(names) for _ in one.shape] for names, one in zip(letters, (a, b), strict=True)]
    for at_a, at_b in zip(*inner, strict=True):  # type: ignore[misc]
        own[1][at_b % len(b.shape)] = own[0][at_a % len(a.shape)]
    left, right = ("".join(one) for one in own)
    out = "".join(letter for letter in left + right if (left + right).count(letter) == 1)
    return make("einsum", op.result.shape, op.result.dtype, equation=f"{left},{right}->{out}", tensors=[a, b])


@rule("einsum")
def _einsum(op: Op, make: Maker) -> Value:
    equation, tensors = op.args["equation"], op.args["tensors"]
    assert isinstance(equation, str) and isinstance(tensors, (list, tuple))
    equation = equation.replace(" ", "")
    if "." in equation:
        raise Untraceable("einsum with an ellipsis")
    given, _, out = equation.partition("->")
    letters = given.split(",")
    if "->" not in equation:
        out = "".join(sorted({c for c in given if c.isalpha() and given.count(c) == 1}))
    if any(len(set(one)) < len(one) for one in letters):
        raise Untraceable("einsum of a diagonal")
    sides = [
        _lone(make, tensor, own, out + "".join(letters[:i] + letters[i + 1 :]))
        for i, (tensor, own) in enumerate(zip(tensors, letters, strict=True))
    ]
    if len(sides) == 1:
        value, own = sides[0]
        value = _permuted(make, value, own, out)
        return make("copy", value.shape, value.dtype, self=value) if len(own) == len(letters[0]) else value
    (value, own), *rest = sides
    while len(rest) > 1:
        (other, its), *rest = rest
        later = out + "".join(letters for _, letters in rest)
        kept = "".join(dict.fromkeys(letter for letter in own + its if letter in later))
        value, own = _contract(make, value, own, other, its, kept), kept
    return _contract(make, value, own, *rest[0], out)


def _lone(make: Maker, value: Value, own: str, kept: str) -> tuple[Value, str]:
    """The tensor without the letters that nobody else has, summed over."""
    dims = [i for i, letter in enumerate(own) if letter not in kept]
    if not dims:
        return value, own
    return _sum(make, value, dims), "".join(letter for letter in own if letter in kept)


def _permuted(make: Maker, value: Value, own: str, wanted: str) -> Value:
    """The dimensions in another order."""
    if own == wanted:
        return value
    dims = [own.index(letter) for letter in wanted]
    return make("permute", tuple(value.shape[d] for d in dims), value.dtype, self=value, dims=dims)


def _aligned(make: Maker, value: Value, own: str, wanted: str) -> Value:
    """The dimensions in the wanted order, ones where there is none but in front."""
    value = _permuted(make, value, own, "".join(letter for letter in wanted if letter in own))
    seen = False
    for place, letter in enumerate(wanted):
        seen = seen or letter in own
        if seen and letter not in own:
            value = _unsqueezed(make, value, len(value.shape) - sum(one in own for one in wanted[place:]))
    return value


def _contract(make: Maker, a: Value, of_a: str, b: Value, of_b: str, out: str) -> Value:
    """Two tensors: a stack of matrix products where both have dimensions of their own, else a product and a sum."""
    batch = "".join(c for c in out if c in of_a and c in of_b)
    inner = "".join(c for c in of_a if c in of_b and c not in out)
    rows = "".join(c for c in out if c in of_a and c not in of_b)
    columns = "".join(c for c in out if c in of_b and c not in of_a)
    if not (inner and rows and columns):
        product = _mul(make, _aligned(make, a, of_a, out + inner), _aligned(make, b, of_b, out + inner))
        return _sum(make, product, range(len(out), len(out + inner))) if inner else product
    if batch or len(columns) > 1:
        # all but the last rows and columns count as batch; the factor without them is read again for each
        batch, rows, columns = batch + rows[:-1] + columns[:-1], rows[-1], columns[-1]
    left = _merged(make, _aligned(make, a, of_a, batch + rows + inner), len(inner), 0)
    right = _merged(make, _aligned(make, b, of_b, batch + inner + columns), len(inner), 1)
    shape = tuple((a.shape[of_a.index(c)] if c in of_a else b.shape[of_b.index(c)]) for c in batch + rows + columns)
    made = make("matmul", shape, a.dtype, self=left, other=right)
    return _permuted(make, made, batch + rows + columns, out)


def _merged(make: Maker, value: Value, count: int, after: int) -> Value:
    """`count` neighbouring dimensions as one, `after` dimensions behind them."""
    if count == 1:
        return value
    end = len(value.shape) - after
    size = 1
    for one in value.shape[end - count : end]:
        size *= one
    shape = (*value.shape[: end - count], size, *value.shape[end:])
    return make("reshape", shape, value.dtype, self=value, shape=list(shape))
