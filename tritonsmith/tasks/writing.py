"""Writes a graph down as a PyTorch module, in one of several people's styles.

Everything the graph leaves open is drawn: names, shapes, spellings, members or functionals, lines, docstrings.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tritonsmith.tasks import operators
from tritonsmith.tasks.graph import Graph, Step


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
