"""Losses: predictions and targets into one number, or one for each row."""

from collections.abc import Sequence

from tritonsmith.tasks.graphs.dims import MisfitError, Shape, Solver
from tritonsmith.tasks.graphs.operator import Attributes, Operator, need_rank, steps

FAMILY = "loss"
_REDUCTION = {"reduction": ("mean", "mean", "mean", "sum")}
_MARGIN = (0.5, 1.0, 1.0, *steps(4, 40))


def _equal(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    """All operands of one shape, into a number."""
    for shape in shapes[1:]:
        if len(shape) != len(shapes[0]):
            raise MisfitError("operands of another rank")
        for left, right in zip(shapes[0], shape, strict=True):
            solver.same(left, right)
    return ()


def _classes(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    """(batch, classes) and a class for each row, into a number."""
    need_rank(shapes[0], 2)
    need_rank(shapes[1], 1)
    solver.same(shapes[0][0], shapes[1][0])
    solver.hint(shapes[0][1], "classes")
    return ()


def _rows(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    """(batch, features) twice, into (batch,)."""
    need_rank(shapes[0], 2)
    _equal(solver, shapes, a)
    return (solver.find(shapes[0][0]),)


def _loss(name: str, *spellings: str, module: str = "", target: str = "value", weight: float = 1.0) -> Operator:
    return Operator(
        name,
        FAMILY,
        spellings,
        _equal,
        modules=(module,) if module else (),
        call="{x}, {y}",
        attributes=_REDUCTION if "{reduction" in spellings[0] else {},
        further=(target,),
        second=lambda rank: "n" * rank,
        ranks=(1, 2, 3, 4),
        weight=weight,
    )


def _with(
    name: str, attribute: str, *spellings: str, module: str = "", target: str = "value", weight: float = 1.0
) -> Operator:
    values = _MARGIN if attribute == "margin" else (0.5, 1.5, 2.0, *steps(4, 30))
    return Operator(
        name,
        FAMILY,
        spellings,
        _equal,
        modules=(module,) if module else (),
        call="{x}, {y}",
        attributes={attribute: values},
        further=(target,),
        second=lambda rank: "n" * rank,
        ranks=(1, 2, 3),
        weight=weight,
    )


TABLE = (
    _loss(
        "mse_loss",
        'F.mse_loss({x}, {y}{reduction?"mean"})',
        module='nn.MSELoss({reduction?"mean"})',
        weight=1.5,
    ),
    _loss("squared_error", "torch.mean(({x} - {y}) ** 2)", "(({x} - {y}) ** 2).mean()", weight=0.5),
    _loss("l1_loss", 'F.l1_loss({x}, {y}{reduction?"mean"})', module='nn.L1Loss({reduction?"mean"})'),
    _loss("smooth_l1_loss", "F.smooth_l1_loss({x}, {y})", module="nn.SmoothL1Loss()"),
    _with("smooth_l1_beta", "beta", "F.smooth_l1_loss({x}, {y}, beta={beta})", weight=0.3),
    _with("huber_loss", "delta", "F.huber_loss({x}, {y}, delta={delta})", module="nn.HuberLoss(delta={delta})"),
    _loss(
        "bce_with_logits",
        "F.binary_cross_entropy_with_logits({x}, {y})",
        module="nn.BCEWithLogitsLoss()",
        target="binary",
    ),
    _loss("soft_margin_loss", "F.soft_margin_loss({x}, {y})", target="signs", weight=0.5),
    _loss(
        "hinge_loss",
        "torch.mean(torch.clamp(1 - {x} * {y}, min=0))",
        "F.relu(1.0 - {x} * {y}).mean()",
        target="signs",
    ),
    Operator(
        "hinge_margin",
        FAMILY,
        ("torch.clamp({margin} - {x} * {y}, min=0).mean()", "torch.mean(F.relu({margin} - {y} * {x}))"),
        _equal,
        attributes={"margin": _MARGIN},
        further=("signs",),
        second=lambda rank: "n" * rank,
        ranks=(1, 2),
        weight=0.4,
    ),
    Operator(
        "kl_div",
        FAMILY,
        (
            'F.kl_div({x}, {y}, reduction="batchmean")',
            "({y} * ({y}.log() - {x})).sum() / {x}.shape[0]",
        ),
        _equal,
        modules=('nn.KLDivLoss(reduction="batchmean")',),
        call="{x}, {y}",
        further=("probabilities",),
        second=lambda rank: "n" * rank,
        ranks=(2,),
        first="log_probabilities",
    ),
    Operator(
        "cross_entropy",
        FAMILY,
        ("F.cross_entropy({x}, {y})", "F.nll_loss(F.log_softmax({x}, dim=1), {y})"),
        _classes,
        modules=("nn.CrossEntropyLoss()",),
        call="{x}, {y}",
        further=("labels",),
        second=lambda _: "n",
        picks=lambda shapes, _: shapes[0][1],
        ranks=(2,),
        weight=1.5,
    ),
    Operator(
        "cross_entropy_smooth",
        FAMILY,
        ("F.cross_entropy({x}, {y}, label_smoothing={c})",),
        _classes,
        attributes={"c": (0.05, 0.1, 0.2)},
        further=("labels",),
        second=lambda _: "n",
        picks=lambda shapes, _: shapes[0][1],
        ranks=(2,),
        weight=0.2,
    ),
    Operator(
        "nll_loss",
        FAMILY,
        ("F.nll_loss({x}, {y})",),
        _classes,
        modules=("nn.NLLLoss()",),
        call="{x}, {y}",
        further=("labels",),
        second=lambda _: "n",
        picks=lambda shapes, _: shapes[0][1],
        ranks=(2,),
        first="log_probabilities",
        weight=0.5,
    ),
    Operator(
        "cosine_similarity",
        FAMILY,
        ("F.cosine_similarity({x}, {y}, dim=1)", "F.cosine_similarity({x}, {y}, dim=-1)"),
        _rows,
        modules=("nn.CosineSimilarity(dim=1)",),
        call="{x}, {y}",
        further=("value",),
        second=lambda _: "nn",
        ranks=(2,),
    ),
    Operator(
        "cosine_loss",
        FAMILY,
        (
            "torch.mean(1 - F.cosine_similarity({x}, {y}, dim=1))",
            "(1.0 - F.cosine_similarity({x}, {y}, dim=-1)).mean()",
        ),
        _equal,
        further=("value",),
        second=lambda _: "nn",
        ranks=(2,),
        weight=0.6,
    ),
    Operator(
        "pairwise_distance",
        FAMILY,
        ("F.pairwise_distance({x}, {y})", "torch.norm({x} - {y} + 1e-6, dim=1)"),
        _rows,
        further=("value",),
        second=lambda _: "nn",
        ranks=(2,),
        weight=0.4,
    ),
    Operator(
        "triplet_margin_loss",
        FAMILY,
        ("F.triplet_margin_loss({x}, {y}, {z}, margin={margin})",),
        _equal,
        modules=("nn.TripletMarginLoss(margin={margin})",),
        call="{x}, {y}, {z}",
        attributes={"margin": _MARGIN},
        further=("value", "value"),
        second=lambda _: "nn",
        ranks=(2,),
    ),
    Operator(
        "margin_ranking_loss",
        FAMILY,
        (
            "F.margin_ranking_loss({x}, {y}, {z}, margin={margin})",
            "torch.clamp(-{z} * ({x} - {y}) + {margin}, min=0).mean()",
        ),
        _equal,
        modules=("nn.MarginRankingLoss(margin={margin})",),
        call="{x}, {y}, {z}",
        attributes={"margin": _MARGIN},
        further=("value", "signs"),
        second=lambda rank: "n" * rank,
        ranks=(1,),
        weight=0.4,
    ),
)
