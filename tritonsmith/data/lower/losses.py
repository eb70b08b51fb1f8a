"""Losses and the like as arithmetic on elements and a reduction."""

from tritonsmith.data.lower.simplify import Maker, rule
from tritonsmith.data.lower.trace import Op, Untraceable, Value

_NONE, _MEAN, _SUM = 0, 1, 2
"""torch's numbers for `reduction`."""


def shared(a: Value, b: Value) -> tuple[int, ...]:
    """The shape two tensors broadcast to."""
    rank = max(len(a.shape), len(b.shape))
    padded = [(1,) * (rank - len(v.shape)) + v.shape for v in (a, b)]
    return tuple(max(x, y) for x, y in zip(*padded, strict=True))


def reduced(make: Maker, each: Value, reduction: object) -> Value:
    """The elements themselves, their mean or their sum, as torch numbers the choice."""
    if reduction == _NONE:
        return each
    return make("mean" if reduction == _MEAN else "sum", (), each.dtype, self=each, dim=None)


def _pair(op: Op) -> tuple[Value, Value]:
    return op.tensor("self"), op.tensor("target")


def _difference(op: Op, make: Maker) -> Value:
    x, y = _pair(op)
    return make("sub", shared(x, y), x.dtype, self=x, other=y, alpha=1)


@rule("mse_loss")
def _mse(op: Op, make: Maker) -> Value:
    gap = _difference(op, make)
    return reduced(make, make("square", gap.shape, gap.dtype, self=gap), op.args["reduction"])


@rule("l1_loss")
def _l1(op: Op, make: Maker) -> Value:
    gap = _difference(op, make)
    return reduced(make, make("abs", gap.shape, gap.dtype, self=gap), op.args["reduction"])


@rule("smooth_l1_loss")
def _smooth_l1(op: Op, make: Maker) -> Value:
    gap = _difference(op, make)
    each = make("smooth_l1", gap.shape, gap.dtype, self=gap, beta=op.args["beta"])
    return reduced(make, each, op.args["reduction"])


@rule("huber_loss")
def _huber(op: Op, make: Maker) -> Value:
    gap = _difference(op, make)
    each = make("huber", gap.shape, gap.dtype, self=gap, delta=op.args["delta"])
    return reduced(make, each, op.args["reduction"])


@rule("binary_cross_entropy_with_logits")
def _bce_logits(op: Op, make: Maker) -> Value:
    x, y = _pair(op)
    if isinstance(op.args.get("weight"), Value):
        raise Untraceable("a weighted loss")
    if isinstance(positive := op.args.get("pos_weight"), Value):
        each = make("bce_logits_weighted", shared(x, y), x.dtype, self=x, target=y, pos_weight=positive)
    else:
        each = make("bce_logits", shared(x, y), x.dtype, self=x, target=y)
    return reduced(make, each, op.args["reduction"])


@rule("binary_cross_entropy")
def _bce(op: Op, make: Maker) -> Value:
    x, y = _pair(op)
    if isinstance(op.args.get("weight"), Value):
        raise Untraceable("a weighted loss")
    return reduced(make, make("bce", shared(x, y), x.dtype, self=x, target=y), op.args["reduction"])


@rule("soft_margin_loss")
def _soft_margin(op: Op, make: Maker) -> Value:
    x, y = _pair(op)
    return reduced(make, make("soft_margin", shared(x, y), x.dtype, self=x, target=y), op.args["reduction"])


@rule("kl_div")
def _kl(op: Op, make: Maker) -> Value:
    x, y = _pair(op)
    each = make("kl_log" if op.args["log_target"] else "kl", shared(x, y), x.dtype, self=x, target=y)
    return reduced(make, each, op.args["reduction"])


@rule("poisson_nll_loss")
def _poisson(op: Op, make: Maker) -> Value:
    x, y = op.tensor("input"), op.tensor("target")
    if op.args["full"]:
        raise Untraceable("Stirling's term")
    name = "poisson_log" if op.args["log_input"] else "poisson"
    return reduced(make, make(name, shared(x, y), x.dtype, self=x, target=y, eps=op.args["eps"]), op.args["reduction"])


@rule("cosine_similarity")
def _cosine(op: Op, make: Maker) -> Value:
    x, y = op.tensor("x1"), op.tensor("x2")
    return _cosine_of(make, x, y, op.args["dim"], op.result, op.args["eps"])


def _cosine_of(make: Maker, x: Value, y: Value, dim: object, result: Value, eps: object) -> Value:
    """x.y / (max(|x|, eps) max(|y|, eps))"""
    product = make("mul", shared(x, y), x.dtype, self=x, other=y)
    dot = make("sum", result.shape, x.dtype, self=product, dim=[dim], keepdim=False)
    norms = []
    for one in (x, y):
        square = make("square", one.shape, one.dtype, self=one)
        total = make("sum", result.shape, x.dtype, self=square, dim=[dim], keepdim=False)
        root = make("sqrt", result.shape, x.dtype, self=total)
        norms.append(make("clamp_min", result.shape, x.dtype, self=root, min=eps))
    both = make("mul", result.shape, x.dtype, self=norms[0], other=norms[1])
    return make("div", result.shape, x.dtype, self=dot, other=both)


@rule("pairwise_distance")
def _distance(op: Op, make: Maker) -> Value:
    x, y = op.tensor("x1"), op.tensor("x2")
    return _distance_of(make, x, y, op.args["p"], op.args["eps"], op.result.shape)


def _distance_of(make: Maker, x: Value, y: Value, p: object, eps: object, shape: tuple[int, ...]) -> Value:
    if p not in (2, 2.0):
        raise Untraceable("a distance that is not Euclidean")
    gap = make("sub", shared(x, y), x.dtype, self=x, other=y, alpha=1)
    moved = make("add", gap.shape, x.dtype, self=gap, other=eps, alpha=1)
    return make("norm2", shape, x.dtype, self=moved, dim=[-1], keepdim=len(shape) == len(gap.shape))


@rule("triplet_margin_loss")
def _triplet(op: Op, make: Maker) -> Value:
    anchor, positive, negative = op.tensor("anchor"), op.tensor("positive"), op.tensor("negative")
    if op.args["swap"]:
        raise Untraceable("a swapped triplet loss")
    shape = anchor.shape[:-1]
    near = _distance_of(make, anchor, positive, op.args["p"], op.args["eps"], shape)
    far = _distance_of(make, anchor, negative, op.args["p"], op.args["eps"], shape)
    gap = make("sub", shape, anchor.dtype, self=near, other=far, alpha=1)
    moved = make("add", shape, anchor.dtype, self=gap, other=op.args["margin"], alpha=1)
    return reduced(make, make("relu", shape, anchor.dtype, self=moved), op.args["reduction"])


@rule("hinge_embedding_loss")
def _hinge_embedding(op: Op, make: Maker) -> Value:
    x, y = _pair(op)
    each = make("hinge_embedding", shared(x, y), x.dtype, self=x, target=y, margin=op.args["margin"])
    return reduced(make, each, op.args["reduction"])


@rule("margin_ranking_loss")
def _ranking(op: Op, make: Maker) -> Value:
    first, second, target = op.tensor("input1"), op.tensor("input2"), op.tensor("target")
    gap = make("sub", shared(first, second), first.dtype, self=first, other=second, alpha=1)
    each = make("ranking", shared(gap, target), first.dtype, self=gap, target=target, margin=op.args["margin"])
    return reduced(make, each, op.args["reduction"])


@rule("cosine_embedding_loss")
def _cosine_embedding(op: Op, make: Maker) -> Value:
    x, y, target = op.tensor("input1"), op.tensor("input2"), op.tensor("target")
    likeness = _cosine_of(make, x, y, -1, target, 1e-8)
    each = make("cosine_embedding", target.shape, x.dtype, self=likeness, target=target, margin=op.args["margin"])
    return reduced(make, each, op.args["reduction"])


@rule("cross_entropy_loss")
def _cross_entropy(op: Op, make: Maker) -> Value:
    x, target = _pair(op)
    smoothing = op.args.get("label_smoothing") or 0.0
    if isinstance(op.args.get("weight"), Value) or not isinstance(smoothing, float):
        raise Untraceable("a weighted cross entropy")
    if target.dtype.is_floating_point:
        if smoothing:
            raise Untraceable("smoothed probabilities")
        return _soft_cross_entropy(make, x, target, op.args["reduction"])
    logs = make("log_softmax", x.shape, x.dtype, self=x, dim=1 if len(x.shape) > 1 else 0)
    return _smoothed(make, logs, target, op, smoothing) if smoothing else _nll_of(make, logs, target, op)


def _smoothed(make: Maker, logs: Value, target: Value, op: Op, smoothing: float) -> Value:
    """A share of each target is spread evenly over all classes."""
    picked, shape = _picked(make, logs, target, op), target.shape
    even = make("mean", shape, logs.dtype, self=logs, dim=[1], keepdim=False)
    sure = make("mul", shape, logs.dtype, self=picked, other=smoothing - 1.0)
    return reduced(
        make,
        make("sub", shape, logs.dtype, self=sure, other=even, alpha=smoothing),
        op.args["reduction"],
    )


def _soft_cross_entropy(make: Maker, x: Value, target: Value, reduction: object) -> Value:
    """Against probabilities: minus the sum of target times log probability, over classes."""
    logs = make("log_softmax", x.shape, x.dtype, self=x, dim=1)
    product = make("mul", x.shape, x.dtype, self=logs, other=target)
    shape = x.shape[:1] + x.shape[2:]
    total = make("sum", shape, x.dtype, self=product, dim=[1], keepdim=False)
    return reduced(make, make("neg", shape, x.dtype, self=total), reduction)


@rule("nll_loss", "nll_loss_nd", "nll_loss2d")
def _nll(op: Op, make: Maker) -> Value:
    x, target = _pair(op)
    if isinstance(op.args.get("weight"), Value):
        raise Untraceable("a weighted loss")
    return _nll_of(make, x, target, op)


def _nll_of(make: Maker, logs: Value, target: Value, op: Op) -> Value:
    """Minus the log probability of each target."""
    each = make("neg", target.shape, logs.dtype, self=_picked(make, logs, target, op))
    return reduced(make, each, op.args["reduction"])


def _picked(make: Maker, logs: Value, target: Value, op: Op) -> Value:
    """The log probability of each target. Targets to ignore are not looked for."""
    if op.args.get("ignore_index") != -100:
        raise Untraceable("a loss that ignores some targets")
    if len(logs.shape) == 1:
        raise Untraceable("a loss without a batch")
    column = make.shaped(target, (target.shape[0], 1, *target.shape[1:]))
    picked = make("gather", column.shape, logs.dtype, self=logs, dim=1, index=column)
    return make.shaped(picked, target.shape)
