"""A candidate's `ModelNew` in a runner: constructed under a seed, with the reference's weights.

Untrusted, as all of `runner` is.
"""

import copy
import time
from collections.abc import Mapping
from contextlib import nullcontext
from types import ModuleType

import torch
from torch import nn

from tritonsmith.verify.launches.device import on_device
from tritonsmith.verify.process import loading, wire
from tritonsmith.verify.reference import by_name, stand_ins

_SEEDS, _DRAWN_S = 128, 0.5
"""Seeds that a model is built under to see what it draws, and seconds that this may take."""


def built(
    module: ModuleType, header: Mapping[str, object], tree: Mapping[str, wire.Tree], device: str
) -> tuple[nn.Module, int]:
    """The model, and how many of the reference's weights were loaded; raises what the candidate's code does.

    `tree` holds `init` (constructor arguments), `state` (the reference's state_dict) and what stands in for weights
    while it is constructed.
    """
    rows, names = tree.get("stand_ins"), tree.get("by_name")
    known = [(stand_ins.told(row[0]), row[1]) for row in rows] if isinstance(rows, list) else []  # type: ignore[index]
    own = by_name.Weights()
    for name, row in names.items() if isinstance(names, dict) else ():
        own[name] = row[0], row[1]  # type: ignore[index,assignment]

    def construct() -> object:
        return _constructed(module, tree["init"], int(str(header["seed"])), device)

    with stand_ins.standing_in(known) if known else nullcontext():  # type: ignore[arg-type]
        model = by_name.built(construct, own) if own else construct()
    if not isinstance(model, nn.Module):
        raise TypeError("ModelNew is no nn.Module")
    if dtype := header.get("dtype"):
        model = loading.in_precision(model, getattr(torch, str(dtype)))
    model = model.to(device)
    state = tree["state"]
    loaded = loading.load_state(model, state)
    if known:
        stand_ins.put_in_rest(model, known, list(state) if isinstance(state, dict) else [], loaded)  # type: ignore[arg-type]
    return model, len(loaded)


def drawn(module: ModuleType, header: Mapping[str, object], tree: Mapping[str, wire.Tree], device: str) -> list[str]:
    """What a model holds besides tensors that is something else under another seed, by name."""
    seed, ends = int(str(header["seed"])), time.monotonic() + _DRAWN_S
    first, found = None, set[str]()
    for number in range(_SEEDS):
        model, _ = built(module, {**header, "seed": (seed + number) % (1 << 31)}, tree, device)
        held = numbers_of(model)
        first = held if first is None else first
        found |= {name for name in first.keys() | held.keys() if repr(first.get(name)) != repr(held.get(name))}
        if time.monotonic() > ends:
            break
    return sorted(found)


def numbers_of(model: nn.Module) -> dict[str, object]:
    """The numbers, words and truths that a model's parts hold, by their names."""
    return {
        f"{path}.{name}" if path else name: value
        for path, part in model.named_modules()
        for name, value in vars(part).items()
        if isinstance(value, (bool, int, float, str))
    }


def _constructed(module: ModuleType, init: wire.Tree, seed: int, device: str) -> object:
    """ModelNew under the seed, where the reference was built; one that prepares on the host is built there."""
    places = ("cuda", "cpu") if device == "cuda" else ("cpu",)
    for place in places:
        loading.seed(seed)
        try:
            with on_device(device), torch.device(place):
                return module.ModelNew(*loading.sequence(copy.deepcopy(init)))
        except Exception:  # the candidate's; the last place's is told
            if place == places[-1]:
                raise
    return None
