"""Synthetic tasks: random operator graphs whose values stay finite, visible and well-conditioned.

A held-out graph (`graph.Graph.heldout`) is never trained on in any writing. `writing` makes source of a graph. No
branches, no convolutions.
"""

import random
from collections.abc import Sequence
from functools import cache
from types import CodeType
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from tritonsmith.tasks import operators
from tritonsmith.tasks.graph import EXTRA_INPUTS, FAMILIES, Graph, Step, digest
from tritonsmith.tasks.writing import render, spell
from tritonsmith.types import Task

Split = Literal["train", "heldout", "all"]

MAX_VALUE = 1e3
"""Largest magnitude a value of a safe graph may reach."""
MIN_SPREAD = 2e-2
"""Least standard deviation over root mean square of every value of a safe graph ..."""
MIN_ROW_SPREAD = 2e-3
"""... and of what follows a reduction, where averaging makes the spread small by itself."""
MIN_EFFECT = 1e-2
"""Least relative change an operator must make: one that changes nothing could be left out unnoticed."""
MAX_SAME = 0.75
"""Largest share of elements that may have one and the same value."""
MAX_ERROR = 3e-6
"""Largest relative rms error of float32 against float64, 25 times its epsilon: no ill-conditioned graph."""


def generate(
    n: int,
    seed: int = 0,
    depth: tuple[int, int] = (1, 3),
    split: Split = "train",
    families: Sequence[str] = FAMILIES,
) -> list[Task]:
    """n tasks with distinct safe graphs, the same for the same arguments.

    Raises ValueError where the arguments make no sense or do not allow n distinct graphs.
    """
    low, high = depth
    if n < 0 or not 1 <= low <= high:
        raise ValueError(f"synthetic tasks need n >= 0 and 1 <= depth: n={n}, depth={low}-{high}")
    if not families or not set(families) <= set(FAMILIES):
        raise ValueError(f"families are {', '.join(FAMILIES)}: {'+'.join(families)}")
    if split not in ("train", "heldout", "all"):
        raise ValueError(f"split is train, heldout or all: {split}")
    rng = random.Random(f"{seed}/{depth}/{split}/{sorted(families)}")
    seen: set[str] = set()
    tasks: list[Task] = []
    for _ in range(2000 + 500 * n):
        if len(tasks) == n:
            return tasks
        graph = draw(rng, rng.choice(list(families)), rng.randint(low, high))
        text = str(graph)
        if text in seen:
            continue
        seen.add(text)
        if (split == "all" or graph.heldout == (split == "heldout")) and is_safe(graph):
            tasks.append(task(graph, seed))
    if len(tasks) == n:
        return tasks
    raise ValueError(f"no {n} distinct graphs of depth {low}-{high} in split {split}: found {len(tasks)}")


def from_spec(text: str) -> list[Task]:
    """The tasks of `N[:seed][:key=value...]`, keys seed, depth (`4-6`), split, families (`pointwise+row`).

    Raises ValueError with what is wrong.
    """
    count, *parts = text.split(":")
    fields = {"seed": "0", "depth": "1-3", "split": "train", "families": "+".join(FAMILIES)}
    for place, part in enumerate(parts):
        key, sign, value = part.partition("=")
        if not sign and place == 0:
            key, value = "seed", part
        if key not in fields:
            raise ValueError(f"{part!r} is none of seed=, depth=, split=, families=")
        fields[key] = value
    low, _, high = fields["depth"].partition("-")
    numbers = (count, fields["seed"], low, high or low)
    if not all(number.isdigit() for number in numbers):
        raise ValueError("write synthetic:N[:seed][:depth=A-B][:split=heldout][:families=pointwise+row]")
    n, seed, low_depth, high_depth = map(int, numbers)
    split = fields["split"]
    if split not in ("train", "heldout", "all"):
        raise ValueError(f"split is train, heldout or all: {split}")
    return generate(n, seed, (low_depth, high_depth), split, fields["families"].split("+"))


def task(graph: Graph, style: int = 0) -> Task:
    """The task of a graph in one writing; `style` picks names, shapes and spellings."""
    text = str(graph)
    return Task(
        id=f"synthetic/{digest(text)[:10]}",
        level=1 if graph.depth == 1 else 2,
        source=render(graph, random.Random(f"{text}/{style}")),
        graph=text,
    )


def draw(rng: random.Random, family: str, depth: int) -> Graph:
    """A random graph of that family and depth, safe or not."""
    steps: list[Step] = []
    extras = iter(EXTRA_INPUTS)
    anchor = {"pointwise": -1, "row": rng.randrange(depth), "gemm": 0}[family]
    reduced = False
    for place in range(depth):
        if place == anchor:
            operator = rng.choice(operators.ROW if family == "row" else operators.GEMM)
            reduced = operator.kind == "reduce"
            steps.append(Step(operator.name))
            continue
        extra = None if reduced or rng.random() > 0.2 else next(extras, None)
        if extra:
            steps.append(Step(rng.choice(operators.BINARY).name, extra=extra))
        else:
            operator = rng.choice(operators.POINTWISE)
            steps.append(Step(operator.name, tuple(rng.choice(values) for values in operator.constants)))
    return Graph(family, tuple(steps))


# -- safety ------------------------------------------------------------------------------------------------


def is_safe(graph: Graph) -> bool:
    """Whether every operator has a visible, finite and well-conditioned effect on normal inputs."""
    inputs = _probes(graph.family)
    truth, single = inputs["x"], inputs["x"].float()
    reduced = False
    for step in graph.steps:
        if step.operator.kind == "gemm":
            continue  # the probe stands for the product
        if step.operator.positive and truth.min() < 1e-2:
            return False
        reduced = reduced or step.operator.kind == "reduce"
        before, truth = truth, evaluate(step, truth, inputs)
        single = evaluate(step, single, inputs)
        if not _is_sound(before, truth, MIN_ROW_SPREAD if reduced else MIN_SPREAD):
            return False
    return bool(_rms(single.double() - truth) <= MAX_ERROR * _rms(truth))


def evaluate(step: Step, x: Tensor, inputs: dict[str, Tensor]) -> Tensor:
    """The step's value in PyTorch, by its first spelling; parameters as `nn` initialises them."""
    names: dict[str, object] = {"torch": torch, "F": F, "x": x}
    if step.extra:
        names["y"] = inputs[step.extra].to(x.dtype)
    if step.name == "affine_layernorm":
        return F.layer_norm(x, x.shape[-1:])
    return eval(_expression(step), names)  # our own text, built from the operator table


@cache
def _expression(step: Step) -> CodeType:
    return compile(spell(step.operator.spellings[0], step, "x", "y"), str(step), "eval")


def _is_sound(before: Tensor, after: Tensor, min_spread: float) -> bool:
    size = _rms(after)
    if not torch.isfinite(after).all() or after.abs().max() > MAX_VALUE or size < 1e-4:
        return False
    if after.std() < min_spread * size or (after == after.flatten().mode().values).double().mean() > MAX_SAME:
        return False
    return before.shape != after.shape or bool(_rms(after - before) > MIN_EFFECT * size)


def _rms(x: Tensor) -> Tensor:
    return x.square().mean().sqrt()


@cache
def _probes(family: str) -> dict[str, Tensor]:
    """Inputs in float64: normal, and for chains of elements also a sweep far into the tails."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(32, 256, generator=generator, dtype=torch.float64).float().double()
    if family != "row":
        x = torch.cat([x, torch.linspace(-5.5, 5.5, 1024, dtype=torch.float64).float().double().view(4, 256)])
    extras = {name: torch.randn(x.shape, generator=generator, dtype=torch.float64) for name in EXTRA_INPUTS}
    return {"x": x} | {name: value.float().double() for name, value in extras.items()}
