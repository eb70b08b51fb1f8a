"""Each operator of the graphs' table: all of its spellings and modules mean the same, and its shape rule is torch's."""

import dataclasses
import random

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tritonsmith.tasks.graphs.dims import MisfitError
from tritonsmith.tasks.graphs.draft import Draft, replay
from tritonsmith.tasks.graphs.draw import Sketch
from tritonsmith.tasks.graphs.evaluation import Evaluation, concrete
from tritonsmith.tasks.graphs.graph import Graph, Node
from tritonsmith.tasks.graphs.operator import OPERANDS
from tritonsmith.tasks.graphs.sizes import probe_sizes
from tritonsmith.tasks.graphs.styles import draw_style
from tritonsmith.tasks.graphs.table import TABLE
from tritonsmith.tasks.graphs.writer import Writer


def alone(name: str, seed: int) -> Graph:
    """A graph of that operator alone."""
    rng = random.Random(seed)
    operator = TABLE[name]
    for _ in range(200):
        sketch = Sketch(rng)
        kind = operator.first or ("positive" if operator.positive else "normal")
        try:
            leaf = sketch.leaf(kind, "n" * rng.choice(operator.ranks))
            return sketch.draft.canonical(sketch.step(name, leaf))
        except MisfitError:
            continue
    raise AssertionError(f"{name} cannot be drawn")


@pytest.mark.parametrize("name", TABLE)
def test_shape_rule_agrees_with_torch(name: str) -> None:
    for seed in range(2):
        draft = replay(alone(name, seed))
        evaluation = evaluated(draft)
        last = len(draft.items) - 1
        assert evaluation.run()[last].shape == concrete(draft.shape(last), evaluation.sizes)


@pytest.mark.parametrize("name", TABLE)
def test_spellings_and_modules_mean_the_same(name: str) -> None:
    for seed in range(2):
        draft = replay(alone(name, seed))
        evaluation = evaluated(draft)
        values = evaluation.run()
        place = len(draft.items) - 1
        node = draft.items[place]
        assert isinstance(node, Node)
        operands = dict(zip(OPERANDS, (values[one] for one in node.operands), strict=False))
        held = evaluation.parameters(place)
        writer = Writer(draft, evaluation.sizes, draw_style(random.Random(seed)), random.Random(seed))
        writer.style = dataclasses.replace(writer.style, attribute_arguments=0.0)
        given = {name: name for name in operands}
        scope = {"torch": torch, "F": F, "nn": nn, "weight": None, "bias": None} | operands | held
        for spelling in TABLE[name].spellings[1:]:
            got = eval(writer.fill(place, spelling, given), scope)
            got = (
                got.double() if got.is_floating_point() else got
            )  # what a spelling makes a float32, as floats are here
            torch.testing.assert_close(got, values[place], msg=lambda text, s=spelling: f"{s}: {text}")
        for template in TABLE[name].modules:
            text = writer.fill(place, template, {})
            sizes = {label: evaluation.sizes[symbol] for symbol, label in writer.names.items()}
            module = eval(text, {"nn": nn} | sizes).double()
            load(module, held or {"weight": operands["x"]})
            got = eval(f"module({writer.fill(place, TABLE[name].call, given)})", scope | {"module": module})
            torch.testing.assert_close(got, values[place], msg=lambda message, s=text: f"{s}: {message}")


def evaluated(draft: Draft) -> Evaluation:
    """The draft at small sizes."""
    sizes = probe_sizes(draft)
    assert sizes is not None
    return Evaluation(draft, sizes)


def load(module: nn.Module, held: dict[str, torch.Tensor]) -> None:
    """Put parameters and buffers into a module that has them."""
    names = {"mean": "running_mean", "variance": "running_var"}
    known = module.state_dict()
    module.load_state_dict(
        {full: one for name, one in held.items() if (full := names.get(name, name)) in known}, strict=False
    )
