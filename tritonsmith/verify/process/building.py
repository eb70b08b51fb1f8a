"""A candidate's `ModelNew` in a runner: constructed under a seed, with the reference's weights.

Untrusted, as all of `runner` is.
"""

import copy
from collections.abc import Mapping
from contextlib import nullcontext
from types import ModuleType

import torch
from torch import nn

from tritonsmith.verify.launches.device import on_device
from tritonsmith.verify.process import loading, wire
from tritonsmith.verify.reference import by_name, stand_ins


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
