"""Matrix products in every layout, and linear layers."""

from collections.abc import Callable, Mapping, Sequence

from tritonsmith.tasks.graphs.dims import Dim, Shape, Solver
from tritonsmith.tasks.graphs.operator import Attributes, Operator, Parameter, need_rank

FAMILY = "matmul"


def _linear(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
    solver.hint(shapes[0][-1], "in_features")
    return (*shapes[0][:-1], solver.fresh("out_features"))


def _linear_sizes(shapes: Sequence[Shape], out: Shape) -> Mapping[str, Dim]:
    return {"in_features": shapes[0][-1], "out_features": out[-1]}


def _linear_parameters(shapes: Sequence[Shape], out: Shape, a: Attributes) -> Mapping[str, Parameter]:
    found = {"weight": Parameter((out[-1], shapes[0][-1]))}
    return found | {"bias": Parameter((out[-1],), "bias")} if a["bias"] else found


def _product(left: str, right: str, result: str) -> Callable[[Solver, Sequence[Shape], Attributes], Shape]:
    """A shape rule from letters, as in einsum: equal letters are equal sizes."""

    def rule(solver: Solver, shapes: Sequence[Shape], a: Attributes) -> Shape:
        known: dict[str, Dim] = {}
        for letters, shape in zip((left, right), shapes, strict=True):
            need_rank(shape, len(letters))
            for letter, dim in zip(letters, shape, strict=True):
                known[letter] = solver.same(known[letter], dim) if letter in known else dim
        if "n" in known and len(result) == 2:
            solver.hint(known["n"], "out_features")
        return tuple(solver.find(known[letter]) for letter in result)

    return rule


def _matmul(name: str, layout: str, *spellings: str, weight: float = 1.0) -> Operator:
    left, right, result = layout.replace("->", ",").split(",")
    return Operator(
        name,
        FAMILY,
        spellings,
        _product(left, right, result),
        further=("value",),
        second=lambda _: "n" * len(right),
        ranks=(len(left),),
        weight=weight,
    )


TABLE = (
    Operator(
        "linear",
        FAMILY,
        ("F.linear({x}, {weight}, {bias})",),
        _linear,
        modules=("nn.Linear({in_features}, {out_features}{bias?True})",),
        attributes={"bias": (True, True, True, False)},
        ranks=(2, 2, 3),
        sizes=_linear_sizes,
        parameters=_linear_parameters,
        weight=6.0,
    ),
    _matmul("matmul", "mk,kn->mn", "torch.matmul({x}, {y})", "{x} @ {y}", "torch.mm({x}, {y})", weight=2.0),
    _matmul("matmul_ta", "km,kn->mn", "torch.matmul({x}.T, {y})", "{x}.T @ {y}", "{x}.t() @ {y}", weight=0.7),
    _matmul("matmul_tb", "mk,nk->mn", "torch.matmul({x}, {y}.T)", "{x} @ {y}.T", "torch.mm({x}, {y}.t())", weight=1.0),
    _matmul("matmul_tab", "km,nk->mn", "torch.matmul({x}.T, {y}.T)", "{x}.T @ {y}.T", weight=0.5),
    _matmul("matvec", "mk,k->m", "torch.matmul({x}, {y})", "{x} @ {y}", "torch.mv({x}, {y})", weight=0.4),
    _matmul("outer", "m,n->mn", "torch.outer({x}, {y})", "{x}[:, None] * {y}[None, :]", weight=0.2),
    _matmul("rows_dot", "mk,mk->m", "({x} * {y}).sum(dim=-1)", 'torch.einsum("mk,mk->m", {x}, {y})', weight=0.3),
    _matmul("diagonal_matmul", "m,mn->mn", "torch.diag({x}) @ {y}", "{x}.unsqueeze(1) * {y}", weight=0.2),
    _matmul("bmm", "bmk,bkn->bmn", "torch.bmm({x}, {y})", "torch.matmul({x}, {y})", "{x} @ {y}", weight=1.2),
    _matmul(
        "bmm_tb",
        "bmk,bnk->bmn",
        "torch.bmm({x}, {y}.transpose(1, 2))",
        "torch.matmul({x}, {y}.transpose(-2, -1))",
        'torch.einsum("bmk,bnk->bmn", {x}, {y})',
        weight=0.8,
    ),
    _matmul("bmm_ta", "bkm,bkn->bmn", "torch.bmm({x}.transpose(1, 2), {y})", "{x}.mT @ {y}", weight=0.4),
    _matmul("matmul_3d_2d", "bmk,kn->bmn", "torch.matmul({x}, {y})", "{x} @ {y}", weight=0.7),
    _matmul(
        "matmul_4d_2d",
        "bijl,lk->bijk",
        'torch.einsum("bijl,lk->bijk", {x}, {y})',
        "torch.matmul({x}, {y})",
        "{x} @ {y}",
        weight=0.4,
    ),
    _matmul("matmul_4d", "bhmk,bhkn->bhmn", "torch.matmul({x}, {y})", "{x} @ {y}", weight=0.6),
    _matmul(
        "matmul_4d_tb",
        "bhmk,bhnk->bhmn",
        "torch.matmul({x}, {y}.transpose(-2, -1))",
        "{x} @ {y}.transpose(-1, -2)",
        'torch.einsum("bhmk,bhnk->bhmn", {x}, {y})',
        weight=0.6,
    ),
)
