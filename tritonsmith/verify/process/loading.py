"""A candidate's source as a module, and a task's weights in its model; in the runner's process.

Nothing is written to the disk. What goes wrong is raised as it is: `raised` makes data of it.
"""

import importlib.util
import linecache
import random
import sys
from collections.abc import Sequence
from types import ModuleType

import torch
from torch import nn

from tritonsmith.source import lines
from tritonsmith.tasks.trees import FLOAT8, continuous
from tritonsmith.verify.process import wire

CANDIDATE = "candidate.py"
"""File name under which the candidate's lines appear in tracebacks."""


def import_source(source: str) -> ModuleType:
    """The module that a source makes, whose lines tracebacks and `inspect` know."""
    # No mtime: linecache then never looks for the file, and inspect.getsource, which @triton.jit
    # needs, is answered without anything written to the disk.
    linecache.cache[CANDIDATE] = (len(source), None, lines(source), CANDIDATE)
    spec = importlib.util.spec_from_loader("candidate", loader=None)
    if spec is None:
        raise RuntimeError("no module spec")
    module = importlib.util.module_from_spec(spec)
    module.__file__ = CANDIDATE
    sys.modules["candidate"] = module
    exec(compile(source, CANDIDATE, "exec"), module.__dict__)
    return module


def forget() -> None:
    """Let nothing of the module be known any more."""
    sys.modules.pop("candidate", None)
    linecache.cache.pop(CANDIDATE, None)


def sequence(tree: wire.Tree) -> Sequence[object]:
    """Arguments that came over the wire; none for anything else."""
    return tree if isinstance(tree, (list, tuple)) else ()


def seed(number: int) -> None:
    """Seed what random numbers a constructor may draw."""
    random.seed(number)
    torch.manual_seed(number)


def tensors_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """A model's parameters and buffers by name, found without running anything of the model's own."""
    found: dict[str, torch.Tensor] = {}
    _collect(model, "", found, set())
    return found


def _collect(module: nn.Module, prefix: str, found: dict[str, torch.Tensor], seen: set[int]) -> None:
    if id(module) in seen:
        return
    seen.add(id(module))
    held = vars(module)
    for part in ("_parameters", "_buffers"):
        for name, tensor in (held.get(part) or {}).items():
            if isinstance(tensor, torch.Tensor):
                found[f"{prefix}{name}"] = tensor
    for name, inner in (held.get("_modules") or {}).items():
        if isinstance(inner, nn.Module):
            _collect(inner, f"{prefix}{name}.", found, seen)


def in_precision(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    """The model with its numbers in another precision; 8-bit floats are weights as they were quantised, and stay."""
    if not any(tensor.dtype in FLOAT8 for tensor in tensors_of(model).values()):
        return model.to(dtype)

    def change(tensor: torch.Tensor) -> torch.Tensor:
        changed = continuous(tensor) and tensor.dtype not in FLOAT8
        return tensor.to(dtype) if changed else tensor

    return model._apply(change)


def load_state(model: nn.Module, state: wire.Tree) -> list[str]:
    """Load the weights whose names and shapes the model has; gives these names."""
    own = model.state_dict()
    same = {
        name: value
        for name, value in (state.items() if isinstance(state, dict) else ())
        if name in own and isinstance(value, torch.Tensor) and own[name].shape == value.shape
    }
    model.load_state_dict(same, strict=False)
    return list(same)
