"""Null controls: does a task tell a kernel from an answer that computes nothing?

Zeros, ones, a constant, a copy of an input, yesterday's output and the output for another of the inputs are put
before the verifier's own comparison. A task that one of them passes is flagged, and it is said which variants of
the inputs find the control out: the judge adds one of them for such a task. A task is tried at the size that the
interpreter bears, and at its own where its output is so small that it may be an average of very much. Does not
judge candidates, and does not mend a task.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from tritonsmith.tasks import scaling
from tritonsmith.tasks.copied import inputs_copied, model_copied
from tritonsmith.tasks.format import TaskError, TaskModule, forward, one_line, seeded
from tritonsmith.tasks.trees import FLOAT8, check_kinds, finite, leaves, map_tensors, wide
from tritonsmith.tasks.variants import Variant, adapt, hardeners, usable, variants
from tritonsmith.types import Task
from tritonsmith.verify import numerics, roofline
from tritonsmith.verify.process.loading import in_precision
from tritonsmith.verify.reference.truth import truth_of

WEIGHTS, INPUTS, OTHERS = 101, 102, 103
"""Seeds of the model, of the inputs, and of the other draw."""
AVERAGED = 8
"""An output of at most so many elements may be an average over all of the inputs."""
MAX_BYTES, MAX_FLOPS = 2 << 30, 1e11
"""Largest inputs and outputs, and most operations, with which a task is tried at its own size."""


@dataclass(frozen=True)
class Flag:
    """One thing that is wrong with a task."""

    control: str
    """The null control that passes (`zeros`, `input 0 copied`, ...), or the property that fails (`runs`, ...)."""
    message: str
    """One line for a person."""
    caught_by: tuple[str, ...] = ()
    """Labels of the variants on which the control fails; empty where none does, or where it is no control."""


@dataclass(frozen=True)
class _Case:
    """A reference on some inputs, and what a control may know."""

    inputs: list[object]
    others: list[object]
    """Another draw of the inputs."""
    truth: numerics.Truth
    forward: Callable[[list[object]], object]

    def passes(self, output: object) -> bool:
        return numerics.compare(self.truth, output, "control") is None


def vet(task: Task) -> list[Flag]:
    """Everything that is wrong with a task; empty for a good one. The task's own errors become flags."""
    try:
        small = scaling.full(task).task
        flags = _properties(small)
        if flags:
            return flags
        passed, where = _passed(small), ""
        if not passed and _averages(task, small):
            passed, where = _passed(task), " at its own size"
    except TaskError as error:
        return [Flag("runs", str(error))]
    catching = _catching(small, [label for label, _ in passed]) if passed else {}
    return [Flag(name, f"passes{where}: {meaning}", catching[name]) for name, meaning in passed]


def hardening(small: Task) -> frozenset[str]:
    """Labels of as few of `variants.hardeners` as find out every control that a task as given lets pass.

    `small` is the task at sizes of hundredths of a second, see `scaling.full`.
    """
    labels: set[str] = set()
    try:
        passed = [name for name, _ in _passed(small)]
    except TaskError:  # the judge will find out, and say so
        return frozenset()
    able = {variant.label for variant in hardeners(small)}
    for caught in _catching(small, passed).values() if passed else ():
        useful = [label for label in caught if label in able]
        if useful and not labels & set(useful):
            labels.add(useful[0])
    return frozenset(labels)


def _properties(task: Task) -> list[Flag]:
    """What a task must hold to before controls mean anything."""
    module = TaskModule.of(task)
    inputs, model = module.inputs(INPUTS), module.model(WEIGHTS)
    output = forward(model, inputs)
    found = leaves(output)
    flags = []
    try:
        check_kinds(output)
    except TypeError as error:
        return [Flag("tensors", str(error))]
    if not found:
        flags.append(Flag("tensors", f"its output is a {type(output).__name__} that holds no tensor"))
    if not finite(output):
        flags.append(Flag("finite", "its output holds NaN or infinity"))
    if not _equal(inputs, module.inputs(INPUTS)):
        flags.append(Flag("seeded", "get_inputs draws other inputs under the same seed"))
    if not _equal(list(model.state_dict().values()), list(module.model(WEIGHTS).state_dict().values())):
        flags.append(Flag("seeded", "the model has other weights under the same seed"))
    with seeded(1):
        random = numerics.compare(numerics.Truth(output, output), _unseeded(model, inputs), "again")
    if random is not None and bool(found):
        flags.append(Flag("deterministic", f"its output differs from run to run: {random.message}"))
    return flags


def _unseeded(model: nn.Module, inputs: list[object]) -> object:
    """The output under the caller's seed, from copies."""
    with torch.no_grad():
        return model_copied(model)(*inputs_copied(inputs))


def _passed(task: Task) -> list[tuple[str, str]]:
    """Names and meanings of the controls that pass on the task as given."""
    try:
        case = _case(Variant("as given", task))
        return [(name, meaning) for name, meaning, output in _controls(case) if case.passes(output)]
    except Exception as error:  # the reference fails on another draw, or at another size, in the user's code
        raise TaskError(f"task {task.id}: the reference fails: {one_line(error)}") from error


def _catching(task: Task, names: list[str]) -> dict[str, tuple[str, ...]]:
    """For each control the labels of the variants on which it fails, those of other values first."""
    caught: dict[str, list[str]] = {name: [] for name in names}
    was_finite = finite(_case(Variant("as given", task)).truth.native)
    first = hardeners(task)
    labels = {variant.label for variant in first}
    others = [variant for variant in variants(task, multi_input=True)[1:] if variant.label not in labels]
    for variant in [*first, *others]:
        try:
            case = _case(variant)
        except Exception:  # the reference's own code fails on this variant, which then does not exist
            continue
        if not usable(variant, case.truth.native, was_finite):
            continue
        for name, _, output in _controls(case):
            if name in caught and not case.passes(output):
                caught[name].append(variant.label)
    return {name: tuple(labels) for name, labels in caught.items()}


def _case(variant: Variant) -> _Case:
    module = TaskModule.of(variant.task)
    model = module.model(WEIGHTS)
    if variant.dtype is not None:
        model = in_precision(model, variant.dtype)
    inputs, others = adapt(module.inputs(INPUTS), variant), module.inputs(OTHERS)
    # What a control remembers is from before: from the task as given.
    others = [map_tensors(item, lambda t: _to(t, variant.dtype)) for item in others]
    return _Case(inputs, others, truth_of(model, inputs), lambda given: forward(model, given))


def _controls(case: _Case) -> Iterator[tuple[str, str, object]]:
    """Name, meaning and output of each control."""
    native = case.truth.native
    stale = case.forward(case.others)
    yield "zeros", "all zeros", map_tensors(native, torch.zeros_like)
    yield "ones", "all ones", map_tensors(native, torch.ones_like)
    yield "mean", "the mean of the output for other inputs", map_tensors(stale, _mean)
    for place, given in enumerate(case.inputs):
        if isinstance(given, torch.Tensor) and (copied := _shaped(given, native)) is not None:
            yield f"input {place} copied", f"input {place} as it is", copied
    yield "stale", "the output for other inputs", stale
    if len(case.inputs) < 2:
        return
    for place, other in enumerate(case.others):
        if not _equal(other, case.inputs[place]):  # a table that no seed changes is no other draw
            swapped = [*case.inputs[:place], other, *case.inputs[place + 1 :]]
            meaning = f"the output for another input {place}, which does not matter"
            yield f"input {place} ignored", meaning, case.forward(swapped)


def _averages(task: Task, small: Task) -> bool:
    """Whether the task's output may be an average over so much that no draw differs from another."""
    if small.source == task.source:
        return False
    module = TaskModule.of(small)
    if sum(tensor.numel() for tensor in leaves(forward(module.model(WEIGHTS), module.inputs(INPUTS)))) > AVERAGED:
        return False
    own = roofline.footprint(task)
    return own is not None and own.floor_bytes <= MAX_BYTES and own.flops <= MAX_FLOPS


def _mean(tensor: torch.Tensor) -> torch.Tensor:
    return torch.full_like(tensor, float(tensor.double().mean())) if not tensor.is_complex() else tensor * 0


def _shaped(given: torch.Tensor, native: object) -> object | None:
    """The input in the shape of every output, None where it does not fit."""
    outputs = leaves(native)
    if not outputs or any(tensor.numel() != given.numel() for tensor in outputs):
        return None
    return map_tensors(native, lambda tensor: given.reshape(tensor.shape).to(tensor.dtype))


def _to(tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    changed = dtype is not None and tensor.is_floating_point() and tensor.dtype not in FLOAT8
    return tensor.to(dtype) if changed else tensor


def _equal(one: object, two: object) -> bool:
    first, second = leaves(one), leaves(two)
    return len(first) == len(second) and all(
        a.shape == b.shape and torch.equal(wide(a).nan_to_num(), wide(b).nan_to_num())
        for a, b in zip(first, second, strict=True)
    )
