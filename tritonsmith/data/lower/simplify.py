"""Operators in terms of fewer: aliases disappear, losses and the like become arithmetic and reductions.

Each rule gets an operator and a maker of new ones, and returns the value that takes the result's place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch.utils import _pytree as pytree

from tritonsmith.data.lower.trace import Op, Program, Untraceable, Value, prune


@dataclass
class Maker:
    """Makes operators in the place of another."""

    owner: str | None
    read: frozenset[Value] = frozenset()
    """Values that some operator reads, or that come out."""
    made: list[Op] = field(default_factory=list)
    producers: Mapping[Value, Op] = field(default_factory=dict)
    """Who makes each value so far, for rules that look through their operand."""

    def __call__(
        self, name: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, /, **args: object
    ) -> Value:
        """A new operator's result."""
        result = Value("made", shape, dtype, "result")
        self.made.append(Op(name, args, (result,), self.owner))
        return result

    def exact(self, name: str, shape: tuple[int, ...], /, **args: object) -> Value:
        """A new operator's result, float32 whatever the inputs are."""
        result = Value("made", shape, torch.float32, "result", exact=True)
        self.made.append(Op(name, args, (result,), self.owner))
        return result

    def several(
        self, name: str, shapes: list[tuple[int, ...]], dtypes: list[torch.dtype] | None = None, /, **args: object
    ) -> tuple[Value, ...]:
        """A new operator's results, several of them."""
        dtypes = dtypes or [torch.float32] * len(shapes)
        both = zip(shapes, dtypes, strict=True)
        results = tuple(Value("made", shape, dtype, "result") for shape, dtype in both)
        self.made.append(Op(name, args, results, self.owner))
        return results

    def shaped(self, source: Value, shape: tuple[int, ...]) -> Value:
        """The source with sizes of one added or left out."""
        return self("as_shape", shape, source.dtype, self=source)


Rule = Callable[[Op, Maker], Value | tuple[Value, ...] | None]
"""None: the operator stays."""

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators of these names."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def _same(op: Op, make: Maker) -> Value:
    return op.operands[0]


for _name in ("detach", "alias", "lift_fresh", "lift_fresh_copy", "identity"):
    RULES[_name] = _same


ALIASES = {
    "multiply": "mul", "divide": "div", "true_divide": "div", "subtract": "sub", "negative": "neg", "absolute": "abs",
    "clip": "clamp", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
    "arctan": "atan", "arcsin": "asin", "arccos": "acos", "arctan2": "atan2", "fix": "trunc",
    "special_expit": "sigmoid",
    "special_erf": "erf", "special_log1p": "log1p", "special_expm1": "expm1", "special_exp2": "exp2",
    "special_softmax": "softmax", "special_log_softmax": "log_softmax", "special_logsumexp": "logsumexp",
    "split_with_sizes": "split",
    "concat": "cat", "concatenate": "cat", "swapaxes": "transpose", "swapdims": "transpose",
}  # fmt: skip
"""Other names that torch has for an operator."""


def _renamed(op: Op, make: Maker) -> tuple[Value, ...]:
    args = dict(op.args)
    if op.name.startswith("swap"):
        args |= dict(zip(("dim0", "dim1"), [given for name, given in op.args.items() if name != "self"], strict=True))
    shapes, kinds = [one.shape for one in op.results], [one.dtype for one in op.results]
    made = make.several(ALIASES[op.name], shapes, kinds, **args)
    return made


RULES.update(dict.fromkeys(ALIASES, _renamed))


@rule("dropout", "feature_dropout", "alpha_dropout")
def _dropout(op: Op, make: Maker) -> Value:
    if op.args["train"] and op.args["p"]:
        raise Untraceable("random numbers")
    return op.tensor("input")


@rule("contiguous", "clone")
def _contiguous(op: Op, make: Maker) -> Value:
    source = op.operands[0]
    return source if source.ordered else make("copy", source.shape, source.dtype, self=source)


@rule("copy")
def _overwritten(op: Op, make: Maker) -> Value | None:
    """What another tensor's elements were copied into."""
    if not isinstance(op.args.get("src"), Value):
        return None
    source = op.tensor("src")
    if (source.shape, source.dtype) == (op.result.shape, op.result.dtype):
        return source
    if source.dtype.is_floating_point != op.result.dtype.is_floating_point:
        raise Untraceable("copied into a tensor of another kind")
    return make("copy", op.result.shape, op.result.dtype, self=source)


@rule("index")
def _indexed(op: Op, make: Maker) -> Value | None:
    """`x[index]`, `x[:, index]`: rows by one tensor of indices."""
    indices = op.args.get("indices")
    if not isinstance(indices, (list, tuple)):
        return None
    source, given = op.tensor("self"), [one for one in indices if isinstance(one, Value)]
    if len(given) != 1 or given[0].dtype not in (torch.int32, torch.int64):
        raise Untraceable("an index that is no single tensor of integers")
    (index,), dim = given, next(i for i, one in enumerate(indices) if isinstance(one, Value))
    count = (index.numel,)
    if len(index.shape) != 1:
        index = make("reshape", count, index.dtype, self=index, shape=[-1])
    shape = (*source.shape[:dim], *count, *source.shape[dim + 1 :])
    made = make("index_select", shape, source.dtype, self=source, dim=dim, index=index)
    if made.shape == op.result.shape:
        return made
    return make("reshape", op.result.shape, source.dtype, self=made, shape=list(op.result.shape))


@rule("to", "_to_copy", "type_as", "float", "long", "int")
def _cast(op: Op, make: Maker) -> Value:
    source = op.operands[0]
    if source.dtype == op.result.dtype:
        return source
    to_float = "copy" if source.dtype.is_floating_point else "as_float"
    name = to_float if op.result.dtype.is_floating_point else "as_int"
    return make(name, source.shape, op.result.dtype, self=source)


@rule("expand", "expand_as", "broadcast_to")
def _expand(op: Op, make: Maker) -> Value:
    source = op.operands[0]
    return source if source.shape == op.result.shape else make("copy", op.result.shape, source.dtype, self=source)


@rule("broadcast_tensors")
def _broadcast(op: Op, make: Maker) -> tuple[Value, ...]:
    given = op.args["tensors"]
    assert isinstance(given, list)
    return tuple(
        source if source.shape == result.shape else make("copy", result.shape, source.dtype, self=source)
        for source, result in zip(given, op.results, strict=True)
    )


@rule("repeat_interleave")
def _repeated(op: Op, make: Maker) -> Value:
    """Each element so many times along a dimension, side by side: a dimension of its own, broadcast."""
    source, times, dim = op.tensor("self"), op.args.get("repeats"), op.args.get("dim")
    if not isinstance(times, int) or not isinstance(dim, int):
        raise Untraceable("elements repeated by a tensor, or of no dimension")
    before, after = source.shape[: dim % len(source.shape) + 1], source.shape[dim % len(source.shape) + 1 :]
    apart = make.shaped(source, (*before, 1, *after))
    made = make("copy", (*before, times, *after), source.dtype, self=apart)
    return make("reshape", op.result.shape, source.dtype, self=made, shape=list(op.result.shape))


@rule("prelu")
def _prelu(op: Op, make: Maker) -> Value | None:
    """Slopes of channels lie along the second dimension, whatever is behind it."""
    source, weight = op.tensor("self"), op.tensor("weight")
    if weight.numel == 1 or len(source.shape) < 3 or len(weight.shape) > 1:
        return None
    slopes = make.shaped(weight, (weight.numel, *(1 for _ in source.shape[2:])))
    return make("prelu", source.shape, source.dtype, self=source, weight=slopes)


@rule("linalg_matrix_norm")
def _matrix_norm(op: Op, make: Maker) -> Value:
    if op.args.get("ord") != "fro":
        raise Untraceable(f"a matrix norm of order {op.args.get('ord')}")
    source, keep = op.tensor("self"), op.args.get("keepdim")
    dims = op.args.get("dim", [-2, -1])
    return make("norm2", op.result.shape, source.dtype, self=source, dim=dims, keepdim=keep)


@rule("linalg_vector_norm", "norm", "frobenius_norm")
def _norm(op: Op, make: Maker) -> Value:
    order = op.args.get("ord", op.args.get("p", 2))
    order = 2 if order in (None, "fro") else order
    source = op.tensor("self")
    names = {1: "norm1", 2: "norm2", float("inf"): "amax"}
    if not isinstance(order, (int, float)) or order not in names:
        raise Untraceable(f"a norm of order {order}")
    given = make("abs", source.shape, source.dtype, self=source) if order == float("inf") else source
    dim, keep = op.args.get("dim"), op.args.get("keepdim")
    return make(names[order], op.result.shape, source.dtype, self=given, dim=dim, keepdim=keep)


@rule("glu")
def _glu(op: Op, make: Maker) -> Value:
    source = op.tensor("self")
    parts = make.several("chunk", [op.result.shape] * 2, [source.dtype] * 2, self=source, chunks=2, dim=op.args["dim"])
    gate = make("sigmoid", op.result.shape, source.dtype, self=parts[1])
    return make("mul", op.result.shape, source.dtype, self=parts[0], other=gate)


@rule("stack")
def _stack(op: Op, make: Maker) -> Value:
    given = op.args["tensors"]
    assert isinstance(given, list)
    rank = len(op.result.shape)
    dim = int(str(op.args["dim"])) % rank
    one = tuple(1 if d == dim else size for d, size in enumerate(op.result.shape))
    return make("cat", op.result.shape, op.result.dtype, tensors=[make.shaped(x, one) for x in given], dim=dim)


@rule("diff")
def _diff(op: Op, make: Maker) -> Value:
    source, dim = op.tensor("self"), op.args["dim"]
    if op.args.get("n") != 1 or isinstance(op.args.get("prepend"), Value) or isinstance(op.args.get("append"), Value):
        raise Untraceable("differences of higher order")
    shape = op.result.shape
    later = make("slice", shape, source.dtype, self=source, dim=dim, start=1, end=None, step=1)
    sooner = make("slice", shape, source.dtype, self=source, dim=dim, start=0, end=-1, step=1)
    return make("sub", shape, source.dtype, self=later, other=sooner, alpha=1)


def _listed(op: Op) -> list[int]:
    """The dimensions that are named, from the front and in order; none where it is one alone, or all."""
    given, rank = op.args.get("dim"), len(op.tensor("self").shape)
    return sorted(d % rank for d in given) if isinstance(given, (list, tuple)) else []


@rule("sum", "mean", "amax", "amin", "norm2")
def _apart(op: Op, make: Maker) -> Value | None:
    """Dimensions that do not lie side by side are reduced in two steps, the last ones first."""
    source, dims = op.tensor("self"), _listed(op)
    split = next((i for i in range(len(dims) - 1, 0, -1) if dims[i] != dims[i - 1] + 1), None)
    if split is None:
        return None
    if op.name == "norm2":
        square = make("square", source.shape, source.dtype, self=source)
        total = make("sum", op.result.shape, source.dtype, self=square, dim=dims, keepdim=op.args.get("keepdim"))
        return make("sqrt", op.result.shape, source.dtype, self=total)
    late, keep = dims[split:], bool(op.args.get("keepdim"))
    sizes = [1 if d in late else size for d, size in enumerate(source.shape) if keep or d not in late]
    inner = make(op.name, tuple(sizes), source.dtype, self=source, dim=late, keepdim=keep)
    return make(op.name, op.result.shape, source.dtype, self=inner, dim=dims[:split], keepdim=keep)


@rule("var", "std")
def _variance(op: Op, make: Maker) -> Value | None:
    """Over dimensions that do not lie side by side, without a correction: the mean, and that of the squares left."""
    source, dims = op.tensor("self"), _listed(op)
    if not dims or dims == list(range(dims[0], dims[-1] + 1)) or op.args.get("correction") != 0:
        return None
    kept = tuple(1 if d in dims else size for d, size in enumerate(source.shape))
    mean = make("mean", kept, source.dtype, self=source, dim=dims, keepdim=True)
    centred = make("sub", source.shape, source.dtype, self=source, other=mean, alpha=1)
    square = make("square", source.shape, source.dtype, self=centred)
    found = make("mean", op.result.shape, source.dtype, self=square, dim=dims, keepdim=op.args.get("keepdim"))
    return make("sqrt", found.shape, found.dtype, self=found) if op.name == "std" else found


@rule("cummax", "cummin")
def _running(op: Op, make: Maker) -> Value | None:
    """The values alone, where nobody reads the places."""
    if len(op.results) == 1:
        return None
    values, places = op.results
    if places in make.read:
        raise Untraceable(f"the places of {op.name}")
    return make(op.name, values.shape, values.dtype, self=op.tensor("self"), dim=op.args["dim"])


@rule("all")
def _all(op: Op, make: Maker) -> Value:
    source, shape = op.tensor("self"), op.result.shape
    missing = make("logical_not", source.shape, torch.bool, self=source)
    some = make("any", shape, torch.bool, self=missing, dim=op.args.get("dim"), keepdim=op.args.get("keepdim"))
    return make("logical_not", shape, torch.bool, self=some)


@rule("max", "min")
def _extreme(op: Op, make: Maker) -> Value | tuple[Value, ...] | None:
    """Of two tensors: as it is; of all: amax; along a dimension: values, and places only if somebody reads them."""
    if "other" in op.args:
        return None
    source = op.tensor("self")
    if op.args.get("dim") is None:
        return make(f"a{op.name}", (), source.dtype, self=source, dim=None)
    values, places = op.results
    if places not in make.read:
        dim, keep = op.args["dim"], op.args["keepdim"]
        return make(f"a{op.name}", values.shape, source.dtype, self=source, dim=dim, keepdim=keep)
    return make.several(f"{op.name}_dim", [values.shape] * 2, [source.dtype, places.dtype], **op.args)


def simplify(program: Program) -> None:
    """Apply the rules until none applies, in place."""
    stands: dict[Value, Value] = {}
    producers: dict[Value, Op] = {}
    read = frozenset([*program.outputs, *(operand for op in program.ops for operand in op.operands)])

    def now(given: object) -> object:
        while isinstance(given, Value) and given in stands:
            given = stands[given]
        return given

    def rewrite(op: Op) -> list[Op]:
        op = replace(op, args={name: pytree.tree_map(now, given) for name, given in op.args.items()})
        maker = Maker(op.owner, read, producers=producers)
        found = RULES[op.name](op, maker) if op.name in RULES else None
        if found is None:
            producers.update(dict.fromkeys(op.results, op))
            return [op]
        results = found if isinstance(found, tuple) else (found,)
        done = [one for made in maker.made for one in rewrite(made)]
        stands.update({old: new for old, new in zip(op.results, results, strict=False)})
        return done

    program.ops = [one for op in program.ops for one in rewrite(op)]
    program.output = pytree.tree_map(now, program.output)
    prune(program)
