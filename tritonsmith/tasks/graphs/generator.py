"""Tasks out of random graphs: distinct, safe, of the splits, depths and families that are wanted; and their SPEC."""

import contextlib
import random
from collections.abc import Iterator, Sequence
from typing import Literal

import torch

from tritonsmith.tasks.graphs.draft import Draft, replay
from tritonsmith.tasks.graphs.draw import draw
from tritonsmith.tasks.graphs.graph import Graph
from tritonsmith.tasks.graphs.safety import is_safe
from tritonsmith.tasks.graphs.sizes import draw_sizes, least_sizes
from tritonsmith.tasks.graphs.table import FAMILIES, TABLE
from tritonsmith.tasks.graphs.writing import render
from tritonsmith.types import Task

Split = Literal["train", "validation", "heldout", "all"]
SPLITS = ("train", "validation", "heldout", "all")
LEVEL_2_DEPTH = 6
"""Most operators of a fusion; what is deeper is a network."""
TRIES = 600
"""Graphs drawn one after the other without a new one before it is said that there are no more."""


def generate(
    n: int,
    seed: int = 0,
    depth: tuple[int, int] = (1, 6),
    split: Split = "train",
    families: Sequence[str] = FAMILIES,
    only_level: int | None = None,
    small: bool = False,
) -> list[Task]:
    """n tasks with distinct safe graphs, the same for the same arguments; `depth` in operators, `small` in sizes.
    `families` may name operators too.

    Raises ValueError where the arguments make no sense or do not allow n distinct graphs.
    """
    with _one_thread():
        return [task(graph, seed, small) for graph in draw_graphs(n, seed, depth, split, families, only_level)]


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute in this thread alone: on values this small others only wait for each other, and beside other
    work that was fourteen times as long.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def draw_graphs(
    n: int,
    seed: int = 0,
    depth: tuple[int, int] = (1, 6),
    split: Split = "train",
    families: Sequence[str] = FAMILIES,
    only_level: int | None = None,
) -> Iterator[Graph]:
    """The graphs of `generate`, one by one."""
    low, high = depth
    if n < 0 or not 1 <= low <= high:
        raise ValueError(f"graphs need n >= 0 and 1 <= depth: n={n}, depth={low}-{high}")
    if not families or not set(families) <= {*FAMILIES, *TABLE}:
        raise ValueError(f"families are {', '.join(FAMILIES)}, or operators such as conv2d: {'+'.join(families)}")
    if split not in SPLITS:
        raise ValueError(f"split is train, validation, heldout or all: {split}")
    rng = random.Random(f"{seed}/{depth}/{split}/{sorted(families)}/{only_level}")
    seen: set[str] = set()
    found = misses = 0
    while found < n:
        misses += 1
        if misses > TRIES:
            raise ValueError(f"no {n} distinct graphs of depth {low}-{high} in split {split}: found {found}")
        graph = draw(rng, rng.randint(low, high), families)
        if graph is None or str(graph) in seen:
            continue
        seen.add(str(graph))
        if split not in ("all", graph.split) or (only_level and level(graph) != only_level):
            continue
        draft = replay(graph)
        if is_safe(draft) and least_sizes(draft):
            found, misses = found + 1, 0
            yield graph


def from_spec(text: str) -> list[Task]:
    """The tasks of `N[:seed][:key=value...]`, keys seed, depth (`4-6`), split, families (`pointwise+conv`, or names:
    `any+conv2d`), level, sizes (`any`, or `small` ones that the interpreter computes at as they are).

    Raises ValueError with what is wrong.
    """
    count, *parts = text.split(":")
    fields = {"seed": "0", "depth": "1-6", "split": "train", "families": "+".join(FAMILIES), "level": "0"}
    fields["sizes"] = "any"
    for place, part in enumerate(parts):
        key, sign, value = part.partition("=")
        if not sign and place == 0:
            key, value = "seed", part
        if key not in fields:
            raise ValueError(f"{part!r} is none of seed=, depth=, split=, families=, level=, sizes=")
        fields[key] = value
    low, _, high = fields["depth"].partition("-")
    numbers = (count, fields["seed"], low, high or low, fields["level"])
    if not all(number.isdigit() for number in numbers):
        raise ValueError("write graphs:N[:seed][:depth=A-B][:split=heldout][:families=pointwise+conv][:level=2]")
    n, seed, low_depth, high_depth, only_level = map(int, numbers)
    split = fields["split"]
    if split not in SPLITS:
        raise ValueError(f"split is train, validation, heldout or all: {split}")
    if fields["sizes"] not in ("any", "small"):
        raise ValueError(f"sizes are any or small: {fields['sizes']}")
    families, small = fields["families"].split("+"), fields["sizes"] == "small"
    return generate(n, seed, (low_depth, high_depth), split, families, only_level or None, small)


def level(graph: Graph) -> int:
    """1 = one operator, 2 = a fusion, 3 = a network: several layers that multiply, or more than six operators."""
    if graph.depth == 1:
        return 1
    layers = sum(TABLE[node.name].family in ("matmul", "conv") for node in graph.nodes)
    return 3 if graph.depth > LEVEL_2_DEPTH or layers > 1 else 2


def task(graph: Graph, style: int = 0, small: bool = False) -> Task:
    """The task of a graph in one writing; `style` picks names, sizes and spellings, `small` says of which sizes."""
    draft = replay(graph)
    rng = random.Random(f"{graph}/{style}")
    sizes = draw_sizes(draft, rng, small)
    if sizes is None:
        raise ValueError(f"no sizes for {graph}")
    uniform = _takes_uniform(draft)
    return Task(
        id=f"graphs/{graph.digest[:10]}",
        level=level(graph),
        source=render(draft, sizes, rng, uniform),
        graph=str(graph),
    )


def _takes_uniform(draft: Draft) -> bool:
    """Whether inputs may also be drawn from 0 to 1: everything still matters then."""
    return is_safe(draft, uniform=True)


def families_of(graph: Graph) -> tuple[str, ...]:
    """The families of a graph's operators, each once."""
    return tuple(dict.fromkeys(TABLE[node.name].family for node in graph.nodes))
