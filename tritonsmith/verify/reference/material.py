"""What candidates are tried on: a variant's inputs, the reference with its weights, and what it answers.

Drawing, and the truth in float64, cost the judge more than a comparison does. Candidates for one task that are under
way together, as the samples of one prompt are, therefore share what is drawn (`Draws`): until the first of them has its
verdict. Whoever begins later is tried on other contents, so that nothing a verdict tells, and nothing that a pooled
runner remembers, is an answer to a question still to be asked. What is timed is drawn anew for each candidate. Runs the
task's code, never a candidate's.
"""

import secrets
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from tritonsmith.tasks.copied import model_copied
from tritonsmith.tasks.dry import chooses, picks
from tritonsmith.tasks.format import TaskError, TaskModule, draws, one_line
from tritonsmith.tasks.trees import check_kinds, continuous, finite, leaves, map_tensors
from tritonsmith.tasks.values import ONE_SIDED
from tritonsmith.tasks.variants import Variant, usable
from tritonsmith.types import Task
from tritonsmith.verify import numerics
from tritonsmith.verify.dynamic import replay
from tritonsmith.verify.process.loading import in_precision, tensors_of
from tritonsmith.verify.reference import by_name, edges, fitting, reused
from tritonsmith.verify.reference.by_name import Weights
from tritonsmith.verify.reference.given import Fails, Habits, Material, Replays, Reuse, size_of
from tritonsmith.verify.reference.hosting import Hosting, key_of, may_run_elsewhere, on_host
from tritonsmith.verify.reference.inputs import drawn, in_another_order
from tritonsmith.verify.reference.passing import passed
from tritonsmith.verify.reference.stand_ins import FEW, SMALL, StandIns, constant, put_in, stand_ins, standing_in
from tritonsmith.verify.reference.truth import hangs_on_ties, truth_of

Beside = Callable[[], AbstractContextManager[None]]
"""Use of the GPU beside other candidates."""

_TASKS = 4096
"""Tasks whose habits are remembered."""
_REPLAYS, _FOLLOWED = 2, 12
"""Calls with new contents in the same storage, and those in which a reference that remembers is followed: what stops
to follow does so when nobody is thought to look any more."""
_TRIES = 4
"""How often inputs are drawn in vain, for a reference that does not take what every seed gives, or draws sizes."""


@dataclass
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: object = None


class Supply:
    """Draws for all candidates of one judge; usable from several threads."""

    def __init__(self, cuda: bool, budget: int) -> None:
        """`budget`: bytes that may be kept for others; what does not fit is drawn for each candidate."""
        self.hosting, self._budget = Hosting(cuda), budget
        self._open: dict[str, Draws] = {}
        self._habits: dict[str, Habits] = {}
        self._lock = threading.Lock()

    def join(self, task: Task) -> "Draws":
        """What candidates for a task are tried on that begin now; to be left when the candidate's verdict is known."""
        with self._lock:
            joined = self._open.setdefault(task.source, Draws(self, task))
            joined.members += 1
            return joined

    def leave(self, draws: "Draws") -> None:
        """Nobody joins these any more."""
        with self._lock:
            self._open = {source: other for source, other in self._open.items() if other is not draws}
            draws.members -= 1
            if draws.members == 0:
                self._budget += draws.taken

    def keeps(self, draws: "Draws", size: int) -> bool:
        """Whether so many bytes may be kept, which are then accounted for."""
        with self._lock:
            if fits := size <= self._budget:
                self._budget -= size
                draws.taken += size
            return fits

    def known(self, task: Task) -> Habits | None:
        """A reference's habits, if they were found out."""
        return self._habits.get(task.source)

    def habits(self, task: Task, model: nn.Module, inputs: list[list[object]]) -> Habits:
        """A reference's habits, found out once a task; `inputs` are two sets of them."""
        known = self._habits.get(task.source)
        if known is None:
            try:
                effects = replay.reference_effects(model, inputs[0])
                known = Habits(effects, replay.has_memory(model, inputs[0], inputs[1]), passed(model, inputs[0]))
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # the task's own code
                raise TaskError(
                    f"task {task.id}: the reference fails where it is called again: {one_line(error)}"
                ) from error
            if len(self._habits) >= _TASKS:
                self._habits.clear()
            self._habits[task.source] = known
        return known


class Draws:
    """What the candidates for one task are tried on that are under way together; of several threads one draws."""

    def __init__(self, supply: Supply, task: Task) -> None:
        self._supply, self._task = supply, task
        self.weights = secrets.randbits(31)
        """The seed under which models are built. A runner is told it; it tells nothing of the inputs."""
        self._others = secrets.randbits(31)
        """The seed of what stands in for constant weights."""
        self.members, self.taken = 0, 0
        self._slots: dict[Hashable, _Slot] = {}
        self._hosted: dict[Hashable, bool] = {}
        """By variant whether it is on the host: decided once, for what is known of one is made in several steps."""
        self._lock = threading.Lock()

    def material(self, variant: Variant, wide: bool = True, beside: Beside = nullcontext) -> Material | Fails:
        """A variant's material; not `wide` where there is no memory for the reference in float64.

        `beside` is used for what needs the GPU, and in parts: who wants that alone waits for all that it has begun. Not
        to be called within it, where others would wait for this slot.
        """
        with self._slot("material", variant) as slot:
            if isinstance(slot.kept, (Material, Fails)):
                return slot.kept
            made = self._material(variant, wide, beside)
            if isinstance(made, Fails):
                slot.kept = made
            elif self._supply.keeps(self, size_of(made)):
                slot.kept = made
                with nullcontext() if self.hosted(variant) else beside():
                    self._prepare([made.truth])
            return made

    def replays(self, variant: Variant) -> Replays:
        """Further contents for a variant."""
        with self._slot("replays", variant) as slot:
            if isinstance(slot.kept, Replays):
                return slot.kept
            made = self._replays(variant)
            if self._supply.keeps(self, size_of(made)):
                slot.kept = made
                self._prepare([truth for _, truth in made.again])
            return made

    def following(self, variant: Variant, first: list[object]) -> list[tuple[list[object], numerics.Truth]]:
        """Further contents for the storage of `first`, for a reference that remembers: it answers call by call.

        Empty where it keeps what it is given, for that changes then.
        """
        model, calls = self.model(variant), [first, *(self.inputs_like(variant, first) for _ in range(_FOLLOWED))]
        if replay.holds_inputs(model, calls):
            return []
        return [(calls[n], truth_of(model, calls[n], calls[:n])) for n in range(1, len(calls))]

    def reuse(self, variant: Variant, first: list[object], second: list[object]) -> Reuse:
        """What one model is used on for that has answered `first`; `second` are other inputs of the same shapes."""
        with self._slot("reuse", variant) as slot:
            if isinstance(slot.kept, Reuse) and slot.kept.first is first:
                return slot.kept
            rows, weights = reused.more_rows(self.model(variant), first, second), Weights()
            with suppress(TaskError):  # there is none
                weights = self.by_name(replace(variant, weights=True, named=True))
            made = Reuse(first, rows, weights, self.trained(variant, weights, first) if weights else None)
            if self._supply.keeps(self, size_of(made)):
                slot.kept = made
                self._prepare([truth for truth in (rows[1] if rows else None, made.trained) if truth is not None])
            return made

    def trained(self, variant: Variant, weights: Weights, inputs: list[object]) -> numerics.Truth | None:
        """What one model answers that has answered these inputs, and whose weights became others; see `reused`."""
        return reused.trained(self.model(variant), weights, inputs)

    def habits(self, variant: Variant) -> Habits:
        """What the reference does besides giving an answer, seen on a variant unless it is known."""
        known = self._supply.known(variant.task)
        if known is not None:
            return known
        further = self._further(variant, model := self.model(variant))
        return self._supply.habits(variant.task, model, [inputs for inputs, _ in further])

    def inputs(self, variant: Variant) -> list[object]:
        """New inputs, for one candidate alone."""
        return drawn(variant, lambda: self.model(variant), self.device(variant))

    def device(self, variant: Variant) -> str:
        """Where a variant is drawn and answered."""
        return "cpu" if self.hosted(variant) else self._supply.hosting.device

    def hosted(self, variant: Variant) -> bool:
        """Whether that is the host, and candidates run elsewhere."""
        if (known := self._hosted.get(key := key_of(variant))) is None:
            known = self._hosted.setdefault(key, self._supply.hosting.hosted(variant, self._task))
        return known

    def inputs_like(self, variant: Variant, like: list[object] | None) -> list[object]:
        """New inputs for the storage of others; those themselves in another order where a task draws sizes, too. Those
        of any size where there are no others."""
        if like is None:
            return self.inputs(variant)
        drawn = (self.inputs(variant) for _ in range(_TRIES))
        return next((one for one in drawn if replay.form(one) == replay.form(like)), None) or in_another_order(like)

    def model(self, variant: Variant) -> nn.Module:
        """The reference with its weights."""
        if known := self.by_name(variant):
            model = by_name.built(lambda: self._constructed(variant, self.weights), known).to(self.device(variant))
            by_name.put_in(model, known)
            return model
        if variant.weights:
            model = self._standing_in(variant, known := self.stand_ins(variant))
            put_in(list(tensors_of(model).values()), known)
            return model
        model = self._plain(variant)
        return in_precision(model, variant.dtype) if variant.dtype is not None else model

    def under_seed(self, variant: Variant, seed: int) -> nn.Module:
        """The reference with the weights of another seed."""
        return self._constructed(variant, seed).to(self.device(variant))

    def _constructed(self, variant: Variant, seed: int) -> nn.Module:
        """The reference where candidates are constructed: the same seed gives others elsewhere."""
        return TaskModule.of(variant.task).model(seed, self._supply.hosting.device)

    def _standing_in(self, variant: Variant, known: StandIns) -> nn.Module:
        """The same with contents for constant weights, and then where it answers."""
        device = self._supply.hosting.device
        there = [(map_tensors(value, lambda t: t.to(device)), contents.to(device)) for value, contents in known]
        with standing_in(there):  # type: ignore[arg-type]
            return self._constructed(variant, self.weights).to(self.device(variant))

    def _plain(self, variant: Variant) -> nn.Module:
        """The same as it is, and then where it answers."""
        if not self.hosted(variant):
            return self._constructed(variant, self.weights)
        with self._slot("constructed", Variant("as given", variant.task)) as slot:
            if not isinstance(slot.kept, nn.Module):
                slot.kept = self._constructed(variant, self.weights).to("cpu")
            return model_copied(slot.kept)

    def stand_ins(self, variant: Variant) -> StandIns:
        """What stands in for constant weights, nothing where a variant leaves them; raises TaskError if none is."""
        if not variant.weights or variant.named:
            return []
        with self._slot("stand-ins", variant) as slot:
            if not isinstance(slot.kept, list):
                slot.kept = self._constant(variant)
            if not slot.kept:
                raise TaskError(f"task {variant.task.id}: no weight is constant")
            return slot.kept

    def _constant(self, variant: Variant) -> StandIns:
        """Contents for constant weights, about what those begin as where a reference bears no others."""
        model, whole = self._plain(variant), not picks(variant.task.source)
        if not (about := stand_ins(model, self._others, whole)) or (variant.opposite and not _single(model)):
            return []
        free = stand_ins(model, self._others, whole, True, variant.opposite)
        model = self._standing_in(variant, free)
        put_in(list(tensors_of(model).values()), free)
        if self._bears(model, variant):
            return free
        return [] if variant.opposite else about

    def by_name(self, variant: Variant) -> Weights:
        """What stands in for weights by name, where a variant wants it so; raises TaskError if there is nothing."""
        if not variant.weights or not variant.named:
            return Weights()
        with self._slot("by name", variant) as slot:
            known = slot.kept if isinstance(slot.kept, Weights) else self._trained(variant)
            slot.kept = known
            if not known:
                raise TaskError(f"task {variant.task.id}: it has no weights that may be others")
            return known

    def _trained(self, variant: Variant) -> Weights:
        """Contents for all weights, or for those alike alone where a reference bears no other signs or numbers."""
        model, other = self._plain(variant), self._constructed(variant, self._others).to(self.device(variant))
        whole = not picks(variant.task.source)
        if variant.opposite and not _single(model):
            return Weights()
        left = by_name.weights(model, other, self._others, "left", whole)
        for how in ("signed", "turned", "scaled"):
            known = by_name.weights(model, other, self._others, how, whole, variant.opposite)
            if how != "signed" and len(known) == len(left):
                break
            by_name.put_in(model, known)
            borne = self._bears(model, variant)
            by_name.take_out(model, known)
            if borne:
                return known
            if variant.opposite:
                return Weights()
        return left

    def _bears(self, model: nn.Module, variant: Variant) -> bool:
        """Whether a reference's answer with these weights is what it computes, up to rounding."""
        try:
            return fitting.sound(truth_of(model, self.inputs(variant)))
        except torch.OutOfMemoryError:
            return False
        except Exception:  # the task's own code
            return False

    @contextmanager
    def _slot(self, kind: str, variant: Variant) -> Iterator[_Slot]:
        with self._lock:
            slot = self._slots.setdefault((kind, key_of(variant)), _Slot())
        with slot.lock:
            yield slot

    def _material(self, variant: Variant, wide: bool, beside: Beside) -> Material | Fails:
        if not self.hosted(variant):
            return self._made(variant, wide, beside, beside)
        made = self._made(variant, True, nullcontext, beside)
        if may_run_elsewhere(made.reason) if isinstance(made, Fails) else draws(made.model):
            self._hosted[key_of(variant)] = False
            self._supply.hosting.leave(variant)
            return self._made(variant, wide, beside, beside)
        return made

    def _made(self, variant: Variant, wide: bool, beside: Beside, constructing: Beside) -> Material | Fails:
        # What a variant changes fails each time; a task that draws sizes may fail under some seeds.
        made = self._tried(variant, wide, beside, constructing)
        for _ in range(_TRIES - 1 if variant.label == "as given" else 0):
            if isinstance(made, Material) and not fitting.flat(made.truth.native):
                break
            again = self._tried(variant, wide, beside, constructing)
            made = again if isinstance(made, Fails) or isinstance(again, Material) else made
        return made

    def _tried(self, variant: Variant, wide: bool, beside: Beside, constructing: Beside) -> Material | Fails:
        try:
            # On the host most models are copies of one that was constructed before.
            with constructing() if variant.weights or not self._is_there(variant) else beside():
                model = self.model(variant)
            with beside():
                inputs = self.inputs(variant)
            with beside():
                truth = truth_of(model, inputs, wide=wide, one_sided=variant.values in ONE_SIDED)
            faint = variant.factor < 1.0 or variant.values == "small"
            slices = not faint and not truth.tied and variant.values != "rising"
            truth = replace(truth, faint=slices, floor=numerics.FLOOR if faint else 0.0)
            check_kinds([inputs, dict(model.state_dict()), truth.native])
            with beside():
                truth = edges.settled(variant.values, model, inputs, truth)
                if variant.label != "as given" and _is_either(variant, model, inputs, truth):
                    raise ValueError("the reference's answer is either's of equal values")
                fine = finite(truth.native)
                return Material(inputs, model, truth, fine, fine and usable(variant, truth.native, False))
        except torch.OutOfMemoryError:
            raise  # says something of the GPU, and nothing of the task
        except Exception as error:  # the task's own code fails on this variant
            return Fails(error.with_traceback(None))  # which would keep the inputs and the model

    def _is_there(self, variant: Variant) -> bool:
        """Whether a plain reference is on the host already."""
        with self._slot("constructed", Variant("as given", variant.task)) as slot:
            return isinstance(slot.kept, nn.Module)

    def _replays(self, variant: Variant) -> Replays:
        further = self._further(variant, model := self.model(variant))
        habits = self._supply.habits(variant.task, model, [inputs for inputs, _ in further])
        return Replays(habits, [] if habits.remembers else further)

    def _further(self, variant: Variant, model: nn.Module) -> list[tuple[list[object], numerics.Truth]]:
        """New inputs with the reference's answers; raises TaskError where it fails on most of what is drawn."""
        found: list[tuple[list[object], numerics.Truth]] = []
        for _ in range(_TRIES * _REPLAYS):
            try:
                inputs = self.inputs(variant)
                found.append((inputs, truth_of(model, inputs)))
            except torch.OutOfMemoryError:
                raise
            except Exception:  # the task's own code, which may fail under some seeds and not under others
                continue
            if len(found) == _REPLAYS:
                return found
        raise TaskError(f"task {variant.task.id}: the reference fails on most of what is drawn for it")

    def _prepare(self, truths: list[numerics.Truth]) -> None:
        """Make what is kept ready for others, whose threads use other streams: it must be there, and known."""
        for truth in truths:
            numerics.prepare(truth)
        if not all(map(on_host, truths)):
            torch.cuda.current_stream().synchronize()


def _is_either(variant: Variant, model: nn.Module, inputs: list[object], truth: numerics.Truth) -> bool:
    """Whether a floating-point answer hangs on which of equal values comes first; of whole ones `numerics` knows."""
    if not chooses(variant.task.source) or not all(map(continuous, leaves(truth.native))):
        return False
    return hangs_on_ties(model, inputs)


def _single(model: nn.Module) -> bool:
    """Whether a parameter of a few numbers begins as a constant that is not about zero."""
    found = [constant(parameter) for parameter in model.parameters() if parameter.numel() < FEW]
    return any(value is not None and abs(value) >= SMALL for value in found)
