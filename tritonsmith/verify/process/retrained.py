"""Other contents for the weights of a model that has answered already, as training, or loading, gives them.

Untrusted, as all of `runner` is. A weight is found by the reference's name for it, or by what it holds where one tensor
alone of the candidate's holds that; one that is kept in another form is not.
"""

from collections.abc import Mapping

import torch
from torch import nn

from tritonsmith.verify.process import loading, wire
from tritonsmith.verify.process.session import Answer, Session

Rows = Mapping[str, tuple[torch.Tensor, torch.Tensor]]
"""By the reference's names what weights hold, and what they are to hold."""


def answer(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """Change weights, and tell by the reference's names which were found. `moved`: they lie elsewhere afterwards, and
    their versions do not tell; else they lie where they lay, and these do. `only`: names of those that are changed, in
    so many steps (`times`)."""
    if session.model is None or not isinstance(tree, dict):
        raise RuntimeError("nothing is built")
    rows = {name: (row[0], row[1]) for name, row in tree.items()}  # type: ignore[index]
    found = places(session.model, rows)  # type: ignore[arg-type]
    only, times = header.get("only"), int(str(header.get("times", 1)))
    changed = [name for name in found if not isinstance(only, list) or name in only]
    for name, tensor in [(name, found[name]) for name in changed for _ in range(times)]:
        (_moved if header.get("moved") else _written)(tensor, rows[name][1])  # type: ignore[arg-type]
    return {"found": list(found)}, None


def places(model: nn.Module, rows: Rows) -> dict[str, torch.Tensor]:
    """A model's own tensors, by the reference's names."""
    own = loading.tensors_of(model)
    found = {name: own[name] for name, row in rows.items() if name in own and own[name].shape == row[0].shape}
    taken = {id(tensor) for tensor in found.values()}
    for name in rows.keys() - found.keys():
        free = {id(tensor): tensor for tensor in own.values() if id(tensor) not in taken}
        alike = [tensor for tensor in free.values() if _holds(tensor, rows[name][0])]
        if len(alike) == 1:
            found[name] = alike[0]
            taken.add(id(alike[0]))
    return found


def _holds(tensor: torch.Tensor, contents: torch.Tensor) -> bool:
    if tensor.numel() != contents.numel() or tensor.dtype != contents.dtype:
        return False
    return torch.equal(tensor.detach().flatten(), contents.flatten().to(tensor.device))


def _written(tensor: torch.Tensor, contents: torch.Tensor) -> None:
    """As an optimiser's step, or `load_state_dict`, changes a weight."""
    with torch.no_grad():
        tensor.copy_(contents.reshape(tensor.shape))


def _moved(tensor: torch.Tensor, contents: torch.Tensor) -> None:
    """As `to` and `weight.data = ...` change one. Who kept no more than a view of the old memory finds them there, too:
    it has kept nothing of what was in it."""
    tensor.data.copy_(contents.reshape(tensor.shape))
    elsewhere = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    tensor.data = elsewhere.copy_(tensor.data)
