"""Synthetic tasks: random operator graphs, written down as PyTorch modules in several people's styles.

A graph is canonical: it says which operators follow each other with which constants, and nothing about
names, shapes or writing. Splits are made by it, so a held-out graph is never trained on in any writing.
Graphs are chains (one value passes through; further inputs enter on the way). No branches, no convolutions.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from tritonsmith.tasks import operators
from tritonsmith.tasks.operators import Operator
from tritonsmith.types import Task

FAMILIES: tuple[str, ...] = ("pointwise", "row", "gemm")
Split = Literal["train", "heldout", "all"]

EXTRA_INPUTS = ("y", "z")
"""Names of the further inputs in a graph, in the order in which they enter."""

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


@dataclass(frozen=True)
class Step:
    """One operator of a graph with its constants, or with the further input it takes."""

    name: str
    constants: tuple[float, ...] = ()
    extra: str | None = None

    @property
    def operator(self) -> Operator:
        """The operator's entry in the table."""
        return operators.find(self.name, binary=self.extra is not None)

    def __str__(self) -> str:
        return " ".join([self.name, *map(repr, self.constants), *([self.extra] if self.extra else [])])

    @classmethod
    def parse(cls, text: str) -> "Step":
        """Inverse of `str`. Raises ValueError for what is no step."""
        name, *rest = text.split()
        extra = rest[0] if rest and rest[0] in EXTRA_INPUTS else None
        step = cls(name, () if extra else tuple(map(float, rest)), extra)
        try:
            expected = len(step.operator.constants)
        except KeyError:
            raise ValueError(f"unknown operator: {text!r}") from None
        if len(step.constants) != expected:
            raise ValueError(f"{name} takes {expected} constants: {text!r}")
        return step


@dataclass(frozen=True)
class Graph:
    """A chain of operators, of one family."""

    family: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"{self.family}: " + " | ".join(map(str, self.steps))

    @classmethod
    def parse(cls, text: str) -> "Graph":
        """Inverse of `str`. Raises ValueError for what is no graph."""
        family, colon, chain = text.partition(":")
        if not colon or family not in FAMILIES:
            raise ValueError(f"no operator graph: {text!r}")
        return cls(family, tuple(Step.parse(part) for part in chain.split("|")))

    @property
    def depth(self) -> int:
        """Number of operators."""
        return len(self.steps)

    @property
    def extras(self) -> tuple[str, ...]:
        """The further inputs, in the order in which they enter."""
        return tuple(step.extra for step in self.steps if step.extra)

    @property
    def reduced(self) -> bool:
        """Whether the last axis is gone at the end."""
        return any(step.operator.kind == "reduce" for step in self.steps)

    @property
    def heldout(self) -> bool:
        """Whether the graph belongs to the tenth that is never trained on."""
        return int(_digest(str(self)), 16) % 10 == 0


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
        id=f"synthetic/{_digest(text)[:10]}",
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


# -- writing -----------------------------------------------------------------------------------------------


def spell(spelling: str, step: Step, x: str, y: str = "") -> str:
    """The expression of a step over the expression x."""
    constants = dict(zip("ab", map(repr, step.constants), strict=False))
    return spelling.format(x=x, y=y, **constants)


_LAYOUTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "pointwise": (
        ("batch_size", "dim"),
        ("batch_size", "features"),
        ("M", "N"),
        ("batch_size", "channels", "length"),
        ("batch_size", "channels", "height", "width"),
    ),
    "row": (("batch_size", "dim"), ("batch_size", "dim"), ("rows", "cols"), ("batch_size", "num_classes")),
    "gemm": (("batch_size", "in_features", "out_features"),),
}
_SIZES: dict[str, tuple[int, ...]] = {
    "small": (8, 16, 24, 32, 48, 64, 100, 128),
    "large": (256, 384, 500, 512, 768, 1000, 1024, 1536, 2048, 3000, 4096),
}
_DOCSTRINGS = (
    "Simple model that applies a chain of operations.",
    "A fused block.",
    "Model that performs the operations below.",
    "Applies the operations one after the other.",
)


@dataclass
class _Writer:
    """The pieces of one task's source while it is written."""

    rng: random.Random
    graph: Graph
    members: list[str] = field(default_factory=list)
    """Lines of `__init__`."""
    arguments: tuple[str, ...] = ()
    """Constructor arguments, which are also names of module constants."""

    def expression(self, step: Step, x: str, extra: str, use_modules: bool) -> str:
        """One spelling of the step; anything but a bare name is put in parentheses where it must be."""
        operator = step.operator
        if operator.member:
            self._parameter(step.name, operator.member)
        elif operator.module and use_modules:
            return f"self.{self._module(step)}({x})"
        bare = x.isidentifier()
        choices = [s for s in operator.spellings if bare or s.count("{x}") == 1]
        spelling = self.rng.choice(choices or list(operator.spellings))
        enclosed = "({x})" in spelling or "({x}," in spelling
        return spell(spelling, step, f"({x})" if _is_operation(x) and not enclosed else x, extra)

    def _parameter(self, name: str, member: str) -> None:
        self.arguments = ("in_features", "out_features") if self.graph.family == "gemm" else ("dim",)
        made = operators.MEMBERS[name].format(**{argument: argument for argument in self.arguments})
        self.members.append(f"self.{member} = {made}")

    def _module(self, step: Step) -> str:
        base = step.name
        name, count = base, 1
        while any(line.startswith(f"self.{name} ") for line in self.members):
            count += 1
            name = f"{base}{count}"
        module = spell(step.operator.module or "", step, "")
        self.members.append(f"self.{name} = {module}")
        return name


def render(graph: Graph, rng: random.Random) -> str:
    """The source of a task in KernelBench's format; rng decides everything the graph leaves open."""
    writer = _Writer(rng, graph)
    x = rng.choice(("x", "x", "x", "x", "input", "a"))
    names = rng.choice((("y", "z"), ("y", "z"), ("other", "third"), ("b", "c")))[: len(graph.extras)]
    body = _forward(writer, x, names)
    shape = rng.choice(_LAYOUTS[graph.family])
    if writer.arguments == ("dim",):
        shape = ("batch_size", "dim")
    text = "\n".join(["", *_model(writer, x, names, body), "", "", *_inputs(writer, shape), ""])
    functional = "import torch.nn.functional as F\n" if "F." in text or rng.random() < 0.2 else ""
    return f"import torch\nimport torch.nn as nn\n{functional}\n{text}"


def _forward(writer: _Writer, x: str, names: Sequence[str]) -> list[str]:
    """Statements of `forward`, `return` included: one operator a line, or two."""
    rng = writer.rng
    modules = rng.random() < 0.25
    paired = rng.random() < 0.4
    returns_expression = rng.random() < 0.25
    target = rng.choice((x, x, "out", "h"))
    extras = iter(names)
    lines: list[str] = []
    value, pending = x, False
    for place, step in enumerate(writer.graph.steps):
        value = writer.expression(step, value, next(extras) if step.extra else "", modules)
        last = place + 1 == len(writer.graph.steps)
        if last and returns_expression:
            return [*lines, f"return {value}"]
        if paired and not pending and not last and rng.random() < 0.6 and not _repeats(writer.graph.steps[place + 1]):
            pending = True
            continue
        lines.append(f"{target} = {value}")
        value, pending = target, False
    return [*lines, f"return {value}"]


def _is_operation(expression: str) -> bool:
    """Whether the outermost thing in an expression is an infix or prefix operator."""
    level = 0
    for character in expression:
        level += (character == "(") - (character == ")")
        if character in " -" and level == 0:
            return True
    return False


def _repeats(step: Step) -> bool:
    """Whether every spelling needs its input by a name."""
    return all(spelling.count("{x}") > 1 for spelling in step.operator.spellings)


def _model(writer: _Writer, x: str, names: Sequence[str], body: list[str]) -> list[str]:
    rng = writer.rng
    typed = rng.random() < 0.3
    inputs = [f"{name}: torch.Tensor" if typed else name for name in (x, *names)]
    arguments = [f"{name}: int" if typed else name for name in writer.arguments]
    lines = ["class Model(nn.Module):"]
    if rng.random() < 0.4:
        lines += [f'    """{rng.choice(_DOCSTRINGS)}"""', ""]
    if writer.members or rng.random() < 0.5:
        opening = rng.choice(("super().__init__()", "super().__init__()", "super(Model, self).__init__()"))
        lines += [f"    def __init__({', '.join(['self', *arguments])}):"]
        lines += [f"        {line}" for line in (opening, *writer.members)]
        lines += [""]
    lines += [f"    def forward({', '.join(['self', *inputs])}){' -> torch.Tensor' if typed else ''}:"]
    return lines + [f"        {line}" for line in body]


def _inputs(writer: _Writer, shape: tuple[str, ...]) -> list[str]:
    rng = writer.rng
    sizes = _sizes(rng, shape, writer.graph.family)
    lines = [f"{name} = {size}" for name, size in sizes.items()]
    if writer.graph.family == "gemm":
        shapes = [("batch_size", "in_features")] + [("batch_size", "out_features")] * len(writer.graph.extras)
    else:
        shapes = [shape] * (1 + len(writer.graph.extras))
    tensors = [f"torch.randn({', '.join(one)})" for one in shapes]
    lines += ["", "", "def get_inputs():", f"    return [{', '.join(tensors)}]"]
    lines += ["", "", "def get_init_inputs():", f"    return [{', '.join(writer.arguments)}]"]
    return lines


def _sizes(rng: random.Random, shape: tuple[str, ...], family: str) -> dict[str, int]:
    """A size for each dimension: few batches, wide rows, images of moderate size."""
    if len(shape) == 4:
        side = rng.choice((16, 28, 32, 56, 64))
        return dict(zip(shape, (rng.choice((8, 16, 32)), rng.choice((16, 24, 32, 64)), side, side), strict=True))
    if family == "gemm":
        batch = rng.choice((64, 100, 128, 256, 512, 1000, 1024))
        return dict(zip(shape, (batch, *(rng.choice(_SIZES["large"]) for _ in range(2))), strict=True))
    sizes = [rng.choice(_SIZES["small"]) for _ in shape[:-1]]
    return dict(zip(shape, (*sizes, rng.choice(_SIZES["large"])), strict=True))
