"""What a forward leaves behind: inputs and weights it changed, outputs that share memory, and inputs put in anew.

The runner notes a candidate's effects (`Before`), the judge those of the reference; what the candidate does and
the reference does not is a finding. `refill` writes new contents into inputs that were shown before without the
tensors knowing (their version stays), so that an answer kept by address, version or count is an old answer.

The runner's notes come from the candidate's process, so they are evidence, not proof. Values are `numerics`' work.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import torch
from torch import nn

from tritonsmith.tasks.copied import inputs_copied, model_copied
from tritonsmith.tasks.format import seeded, used
from tritonsmith.types import Finding
from tritonsmith.verify.dynamic.brought import brought
from tritonsmith.verify.dynamic.observe import address, tensors
from tritonsmith.verify.process.loading import tensors_of

Effects = dict[str, list[str]]
"""`mutation` and `alias`: what was changed, and which outputs share memory with what."""


_BEFORE = "lies in the output of the call before"


class Before:
    """Inputs and weights as they were before a forward."""

    def __init__(self, inputs: Sequence[object], model: nn.Module, weights: Collection[str] | None = None) -> None:
        """`weights` names those that the judge gave; what a candidate registers for itself it may write to."""
        own = tensors_of(model)
        named = {f"input {i}": tensor for i, tensor in enumerate(tensors(inputs))}
        named |= {name: own[name] for name in own if weights is None or name in weights}
        self._given = {name: tensor for name, tensor in named.items() if tensor.numel()}
        self._leaves = [tensor.requires_grad for tensor in tensors(inputs)]
        self._held, self._inputs = inputs, list(tensors(inputs))
        self._copies = {name: tensor.detach().clone() for name, tensor in self._given.items()}

    @property
    def places(self) -> Collection[int]:
        """Addresses of the storages of inputs and weights."""
        return {address(tensor) for tensor in self._given.values()}

    def effects(self, output: object, earlier: object = None) -> Effects:
        """What a forward did that gave `output`; `earlier` is what the call before it gave, still held."""
        changed = _changed(self._given, self._copies)
        leaves = enumerate(zip(self._inputs, self._leaves, strict=True))
        changed += [f"whether input {i} collects gradients" for i, (t, was) in leaves if t.requires_grad != was]
        if [*map(id, tensors(self._held))] != [*map(id, self._inputs)]:
            changed.append("which tensors the inputs' lists or dicts hold")
        given = {address(tensor): name for name, tensor in self._given.items()}
        old = {address(tensor) for tensor in tensors(earlier) if tensor.numel()} - given.keys()
        return {"mutation": changed, "alias": list(shared(output, given, old))}


def shared(
    output: object,
    given: Mapping[int, str],
    old: Collection[int],
    where: Callable[[torch.Tensor], int] = address,
) -> Iterator[str]:
    """Which outputs lie `where` what was given lies, or in `old` memory, or show one element in several places."""
    for place, tensor in enumerate(tensors(output)):
        if tensor.numel() and (at := where(tensor)) in given:
            yield f"output {place} lies in {given[at]}"
        elif tensor.numel() and at in old:
            yield f"output {place} {_BEFORE}"
    yield from _broadcast(output)


def _broadcast(output: object) -> Iterator[str]:
    """Outputs that show one element in several places: who writes to one of these changes all of them."""
    for place, tensor in enumerate(tensors(output)):
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        if tensor.numel() and any(step == 0 and size > 1 for size, step in steps):
            yield f"output {place} holds one element in several places"


def _changed(now: Mapping[str, torch.Tensor], before: Mapping[str, torch.Tensor]) -> list[str]:
    """The names of those that are other bits now; a GPU is asked once for those that are the same."""
    alike = {name: t for name, t in now.items() if t.shape == before[name].shape and t.dtype == before[name].dtype}
    pairs = [brought(tensor, before[name]) for name, tensor in alike.items()]
    told = [(one == other).all() for one, other in pairs]
    told = [one.to(told[0].device) for one in told]
    equal = dict(zip(alike, torch.stack(told).tolist() if told else [], strict=True))
    return [name for name, tensor in now.items() if not (equal.get(name) or _same(tensor, before[name]))]


def _same(now: torch.Tensor, before: torch.Tensor) -> bool:
    """Whether the bits are the same, NaN included."""
    if now.shape != before.shape or now.dtype != before.dtype:
        return False
    now, before = brought(now, before)
    return torch.equal(now, before) or bool(((now == before) | ((now != now) & (before != before))).all())


def reference_effects(model: nn.Module, inputs: Sequence[object]) -> Effects:
    """What the reference does to its inputs and weights, which a candidate may then do too."""
    fresh, copies = model_copied(model), inputs_copied(inputs)
    before = Before(copies, fresh)
    with seeded(0), torch.no_grad():
        return before.effects(fresh(*copies))


def has_memory(model: nn.Module, first: Sequence[object], second: Sequence[object]) -> bool:
    """Whether the reference's answer to `second` depends on having seen `first`; it then cannot be replayed."""
    fresh, used = model_copied(model), model_copied(model)
    with seeded(0), torch.no_grad():
        used(*inputs_copied(first))
    outputs = []
    for each in (fresh, used):
        with seeded(0), torch.no_grad():
            outputs.append(each(*inputs_copied(second)))
    return not same_answer(*outputs)


def same_answer(one: object, other: object) -> bool:
    """Whether two answers have the same tensors, bit by bit."""
    pair = list(tensors(one)), list(tensors(other))
    return len(pair[0]) == len(pair[1]) and all(map(_same, *pair))


def holds_inputs(model: nn.Module, calls: Sequence[Sequence[object]]) -> bool:
    """Whether it matters to the last answer that calls share a storage: the reference then keeps tensors it is given.

    What an answer would be there hangs on whether they are kept or copied, which nobody asked a candidate to know.
    """
    shared = inputs_copied(calls[0])
    one, other = model_copied(model), used(model, calls[:-1])
    for contents in calls:
        refill(shared, contents)
        with seeded(0), torch.no_grad():
            told = [tensor.clone() for tensor in tensors(one(*shared))]
    with seeded(0), torch.no_grad():
        expected = list(tensors(other(*inputs_copied(calls[-1]))))
    return len(told) != len(expected) or not all(map(_same, told, expected))


def findings(seen: Mapping[str, object], allowed: Effects, old: Collection[int] = ()) -> list[Finding]:
    """What a candidate's forward did that the reference's does not; `seen` is a runner's answer.

    `old` are the places of the reference's outputs that lie in memory which was there before: it keeps them, too.
    """
    again = {f"output {place} {_BEFORE}" for place in old}
    found = []
    effects = seen.get("effects")
    notes = effects if isinstance(effects, Mapping) else {}
    for rule, word in (("mutation", "forward changes {}, which the reference leaves alone"), ("alias", "{}")):
        rows = notes.get(rule)
        new = (
            [str(row) for row in rows if row not in allowed[rule] and row not in again]
            if isinstance(rows, list)
            else []
        )
        if new:
            found.append(Finding(rule=rule, message=word.format(", ".join(new[:5]))))
    return found or list(_kept(seen.get("work"), notes.get("alias"), old))


def _kept(work: object, shared: object, allowed: Collection[int]) -> Iterator[Finding]:
    """Outputs in memory that is older than the call: another call writes over them, the next one or the hundredth.

    Those in inputs and in the reference's weights (`shared`) are judged by what the reference does.
    """
    old = work.get("old") if isinstance(work, Mapping) else None
    known = [str(row) for row in shared] if isinstance(shared, list) else []
    for place in old if isinstance(old, list) else []:
        if place not in allowed and not any(row.startswith(f"output {place} lies in") for row in known):
            yield Finding(rule="alias", message=f"output {place} lies in memory that was there before the call")
            return


def form(inputs: object) -> list[tuple[torch.Size, torch.dtype]]:
    """What contents must be like to be written into the storage of inputs."""
    return [(tensor.shape, tensor.dtype) for tensor in tensors(inputs)]


def refill(inputs: object, contents: object) -> None:
    """Write new contents into tensors of the same shapes and dtypes; their version counters stay as they are."""
    for old, new in zip(tensors(inputs), tensors(contents), strict=True):
        old.data.copy_(new)
