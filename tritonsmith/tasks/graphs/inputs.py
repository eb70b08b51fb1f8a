"""How a task draws its inputs: the lines of `get_inputs` and `get_init_inputs`."""

import math
import random
from collections.abc import Sequence

from tritonsmith.tasks.graphs.dims import Dim, Term, evaluate
from tritonsmith.tasks.graphs.draft import index_range
from tritonsmith.tasks.graphs.evaluation import concrete
from tritonsmith.tasks.graphs.graph import Leaf
from tritonsmith.tasks.graphs.writer import Writer, is_operation

FEW = 8
"""An output of at most so many elements may be an average over so much that no draw of its inputs differs from another:
then their scale is drawn too."""
_SCALES = ("(0.5 + torch.rand(()))", "(torch.rand(()) + 0.5)")
_SHARES = ("0.2 + 0.6 * torch.rand(())", "0.8 - 0.6 * torch.rand(())")


def input_functions(writer: Writer) -> list[list[str]]:
    """The lines of `get_inputs` and of `get_init_inputs`."""
    style, draft = writer.style, writer.draft
    sizes_of = {place: (*draft.shape(place), index_range(draft, place)) for place in writer.inputs}
    literal = style.literal_inputs and not any(isinstance(dim, Term) for dims in sizes_of.values() for dim in dims)

    def size(dim: Dim) -> str:
        return str(evaluate(dim, writer.sizes)) if literal else writer.dim(dim)

    drawing = _Drawing(
        writer.rng,
        uniform=writer.uniform and writer.rng.random() < 0.5,
        scaled=math.prod(concrete(draft.shape(len(draft.items) - 1), writer.sizes)) <= FEW,
    )
    drawn: dict[str, str] = {}
    for place, name in writer.inputs.items():
        leaf = draft.items[place]
        assert isinstance(leaf, Leaf)
        shape = [size(dim) for dim in draft.shape(place)]
        drawn[name] = drawing.draw(leaf.kind, shape, size(sizes_of[place][-1]) if leaf.kind in _PICKING else "")
    lines = [f"    {name} = {text}" for name, text in drawn.items()] if style.named_inputs else []
    lines.append(f"    return [{', '.join(drawn if style.named_inputs else drawn.values())}]")
    arguments = [text if literal and (text := writer.constants[name])[0] != "(" else name for name in writer.arguments]
    comment = "  # No special initialization inputs needed" if style.layout == "kernelbench" and not arguments else ""
    return [
        ["def get_inputs():", *lines],
        ["def get_init_inputs():", f"    return [{', '.join(arguments)}]{comment}"],
    ]


_PICKING = ("labels", "indices")


class _Drawing:
    """How one task draws its tensors."""

    def __init__(self, rng: random.Random, uniform: bool, scaled: bool) -> None:
        self._rng, self._uniform, self._scaled = rng, uniform, scaled

    def draw(self, kind: str, shape: Sequence[str], values: str) -> str:
        """The expression of a leaf of that kind; `values` is how many an index takes."""
        inner = ", ".join(shape)
        whole = f"({inner}{',' if len(shape) == 1 else ''})"
        if kind in _PICKING:
            return f"torch.randint(0, {values}, {whole})"
        if kind == "normal":
            return self._scale(f"torch.rand({inner})" if self._uniform else f"torch.randn({inner})")
        if kind == "positive":
            return self._scale(f"torch.rand({inner}) + 0.5")
        if kind == "near_one":
            return f"torch.rand({inner}) * 0.2 + 0.9"
        if kind == "rare":
            return f"torch.rand({inner}) < 1.0 / {shape[-1] if shape else 1}"
        if kind in ("probabilities", "log_probabilities"):
            function = "torch.softmax" if kind == "probabilities" else "torch.log_softmax"
            return f"{function}({self._scale(f'torch.randn({inner})')}, dim=-1)"
        return self._chosen(kind, inner, whole)

    def _chosen(self, kind: str, inner: str, whole: str) -> str:
        """Booleans, ones and zeros, signs: half of each, or a share that is drawn too."""
        if self._scaled:
            share = self._rng.choice(_SHARES)
            mask, numbers = f"torch.rand({inner}) < {share}", f"(torch.rand({inner}) < {share}).float()"
        else:
            mask = self._rng.choice((f"torch.rand({inner}) > 0.5", f"torch.randint(0, 2, {whole}).bool()"))
            numbers = f"torch.randint(0, 2, {whole}).float()"
        return {"mask": mask, "binary": numbers, "signs": f"{numbers} * 2 - 1"}[kind]

    def _scale(self, text: str) -> str:
        if not self._scaled:
            return text
        return f"{f'({text})' if is_operation(text) else text} * {self._rng.choice(_SCALES)}"
