"""One candidate's forwards in its runners: loads, builds, compiles and calls it on what it is tried on.

It knows what a runner holds, so that nothing is built or compiled twice. Decides nothing: see `trial`.
"""

import math
import secrets
import time
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import nn

from tritonsmith.tasks.dry import runs_without_data
from tritonsmith.tasks.format import TaskError, TaskModule
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Task
from tritonsmith.verify import numerics
from tritonsmith.verify.conversation import SPARE_BYTES, Conversation, RunnerFailed, rows
from tritonsmith.verify.dynamic import conduct, observe, outlines
from tritonsmith.verify.policy import Policy
from tritonsmith.verify.process import wire
from tritonsmith.verify.process.building import numbers_of
from tritonsmith.verify.reference.by_name import Weights
from tritonsmith.verify.reference.given import Fails, Material
from tritonsmith.verify.reference.hosting import on_host
from tritonsmith.verify.reference.material import Draws, Supply
from tritonsmith.verify.reference.truth import truth_of
from tritonsmith.verify.room import Room

Answer = tuple[dict[str, object], wire.Tree]
"""What a runner saw, and the outputs."""
_ZEROS = 1 << 29
"""Bytes of inputs that a candidate is given as zeros where it does not run without data."""
_TWICE = 1 << 28
"""Bytes of inputs that are copied, to see whether a forward changes them."""
_SEEDS = 8
"""Seeds under which a reference whose constructor draws numbers, or truths, is seen to."""
_NO_DATA = "exception", "memory"
"""Findings that may only mean that a forward does not run on tensors without data."""


@dataclass(frozen=True)
class Some:
    """What some programs of a forward, or all of them, are seen to store."""

    found: wire.Tree
    """All outputs; or of some programs a list of what stays, and one of what may be parts: of each tensor the elements
    and their places, or None. None where they tell nothing, or the outputs do not look like the reference's."""
    stale: bool
    """Whether that is for what the candidate kept of a call without data, which a runner that has seen none would not
    have."""
    added: bool
    """Whether atomics made some of the outputs."""
    seconds: float
    """About what all programs would take."""


class Forwards:
    """The calls of one candidate; values come from the runner of mode `mode`."""

    def __init__(
        self,
        task: Task,
        source: str,
        strictness: Policy,
        talk: Conversation,
        supply: Supply,
        room: Room,
        target: str,
        cuda: bool,
        wide: bool = True,
    ) -> None:
        """Not `wide`: there is no memory for the reference in float64."""
        self._task, self._source, self._target = task, source, target
        self._policy: Policy = strictness
        self._wide = wide
        self._talk, self._supply, self._room, self._cuda = talk, supply, room, cuda
        self.mode = "cuda" if cuda else "interpret"
        self._compiler = "cuda" if cuda else "capture"
        self.elsewhere = False
        """Whether a runner's candidate finds another GPU than it usually does; see `launches.device`."""
        self.named = False
        """Whether the candidate last built has all of the reference's weights by name."""
        self._weights: list[str] = []
        """Names of the reference's weights."""
        self._draws: Draws | None = None
        self._loaded: tuple[Variant, Material] | None = None
        """What the runner has built a model for, and holds the inputs of, compiled and not yet run."""

    # What runners are given.

    def ready(self) -> None:
        """Have a runner that has loaded the candidate."""
        if not self._talk.has(self.mode):
            if self._cuda:
                self.leave()  # the new one may be a pooled one, which has seen what was drawn for others
            self._talk.load(self.mode, self._source, self._target, self.elsewhere)

    @property
    def draws(self) -> Draws:
        """What the candidate is tried on, joined when its first runner is there."""
        if self._draws is None:
            self._draws = self._supply.join(self._task)
        return self._draws

    def leave(self) -> None:
        """Be done with what was drawn: before a runner is given back, or a verdict is."""
        if self._draws is not None:
            self._supply.leave(self._draws)
        self._draws = self._loaded = None

    def drawing(self, variant: Variant) -> AbstractContextManager[None]:
        """What a variant is drawn and answered within: use of the GPU beside other candidates, where it is needed."""
        return nullcontext() if self.draws.hosted(variant) else self._room.beside()

    def comparing(self, truth: numerics.Truth) -> AbstractContextManager[None]:
        """What an output is compared within."""
        return nullcontext() if on_host(truth) else self._room.beside()

    def material(self, variant: Variant) -> Material | Fails:
        """What the candidate is tried on, or why it cannot be."""
        if self._loaded is not None and self._loaded[0] == variant:
            return self._loaded[1]
        try:
            return self.draws.material(variant, self._wide, self._room.beside)
        except torch.OutOfMemoryError:
            if not self._room.whole:
                raise
        # The exception is gone, and with it what it kept alive.
        torch.cuda.empty_cache()
        try:
            return self.draws.material(variant, False, self._room.beside)
        except torch.OutOfMemoryError as error:
            return Fails(error.with_traceback(None))

    def truth(self, model: nn.Module, inputs: list[object]) -> numerics.Truth:
        """What the reference answers; in its own dtype alone where all the memory there is does not hold more."""
        try:
            return truth_of(model, inputs, wide=self._wide)
        except torch.OutOfMemoryError:
            if not self._room.whole:
                raise
        torch.cuda.empty_cache()
        return truth_of(model, inputs, wide=False)

    def existing(self, variant: Variant) -> Material:
        """A variant's material; raises TaskError where the reference fails on it."""
        found = self.material(variant)
        if isinstance(found, Fails):
            raise TaskError(f"task {self._task.id}: the reference fails: {found.reason}") from found.reason
        return found

    def build(self, mode: str, variant: Variant, model: nn.Module) -> None:
        """Construct the candidate with the reference's weights."""
        header, tree = self.plan(variant, model)
        reply, _ = self._talk.ask(mode, {"do": "build", **header}, tree)
        self.named = reply.get("loaded") == len(model.state_dict())

    def plan(self, variant: Variant, model: nn.Module) -> tuple[dict[str, object], dict[str, object]]:
        """What a runner needs for building."""
        init = TaskModule.of(variant.task).init_inputs()
        dtype = str(variant.dtype).removeprefix("torch.") if variant.dtype else None
        known = [[value, contents] for value, contents in self.draws.stand_ins(variant)]
        named = {name: list(row) for name, row in self.draws.by_name(variant).items()}
        tree = {"init": init, "state": dict(model.state_dict()), "stand_ins": known, "by_name": named}
        return {"seed": self.draws.weights, "dtype": dtype}, tree

    def drawn(self, variant: Variant) -> list[str]:
        """What the candidate holds besides tensors that is something else under another seed, where the reference holds
        no such thing; asks the runner that it was compiled in, if that is there still."""
        if not self._talk.has(self._compiler):
            return []
        model = self.existing(variant).model
        header, tree = self.plan(variant, model)
        with self._room.beside():
            found = self._talk.ask(self._compiler, {"do": "drawn", **header}, tree)[0].get("drawn")
        names = [str(name) for name in found] if isinstance(found, list) else []
        if not names:
            return []
        held = [numbers_of(TaskModule.of(variant.task).model(seed)) for seed in range(_SEEDS)]
        return [] if any(one != held[0] for one in held) else names

    # Compiling.

    def capture(self, variant: Variant) -> dict[str, object]:
        """What a forward launches that is captured and not run; `lower` compiles it."""
        self._talk.load("capture", self._source, self._target)
        material = self.existing(variant)
        self._talk.at(f"while launches were captured {_in_words(variant, material)}")
        self._weights = list(material.model.state_dict())
        self.build("capture", variant, material.model)
        return self._talk.ask("capture", {"do": "forward", "values": False}, material.inputs)[0]

    def capture_whole(self) -> dict[str, object] | None:
        """What is seen of a forward for the task as it is, on tensors without data; `lower` then compiles its launches.

        Where the candidate does not run so, for it looks at its values, on zeros. None where it runs on neither.
        """
        if not runs_without_data(self._task):
            return None
        self._talk.at("while launches were captured at the task's own sizes")
        module = TaskModule.of(self._task)
        tree = {"init": module.init_inputs(), "inputs": module.inputs(0, "meta")}
        few = sum(tensor.nbytes for tensor in observe.tensors(tree["inputs"])) <= _ZEROS
        for zeros in (False, True) if few else (False,):
            try:
                header: dict[str, object] = {"do": "whole", "seed": self.draws.weights, "zeros": zeros}
                header["weights"] = self._weights
                return self._talk.ask("capture", header, tree)[0]
            except RunnerFailed as failure:
                if failure.finding.rule not in _NO_DATA or not self._talk.has("capture"):
                    raise
        return None

    def cover(self, task: Task) -> dict[str, object]:
        """How much of its outputs the candidate's kernels can store for a task, on tensors without data."""
        self.ready()
        self._talk.at("while it was called without data")
        module = TaskModule.of(task)
        tree = {"init": module.init_inputs(), "inputs": module.inputs(0, "meta")}
        header: dict[str, object] = {"do": "cover", "seed": self.draws.weights, "programs": secrets.randbits(31)}
        return self._talk.ask(self.mode, header, tree)[0]

    def often_at_own_sizes(self, most: int) -> dict[str, object]:
        """Call the candidate up to so many times on tensors without data of the task's own sizes; no kernel runs."""
        self.ready()
        self._talk.at("while it was called without data, many times at the task's own sizes")
        module = TaskModule.of(self._task)
        tree = {"init": module.init_inputs(), "inputs": module.inputs(0, "meta")}
        header: dict[str, object] = {"do": "often at own sizes", "seed": self.draws.weights, "most": most}
        return self._talk.ask(self.mode, header, tree)[0]

    def some_programs(self, variant: Variant, material: Material, every: float = 0.0) -> "Some":
        """What some programs of each launch store on a variant, or all do, where those take `every` seconds at most."""
        self.ready()
        self._talk.at(f"while some programs of each launch ran {_in_words(variant, material)}")
        self._loaded = None
        self.build(self.mode, variant, material.model)
        room = bytes_of(material.truth) + sum(tensor.numel() for tensor in observe.tensors(material.truth.native))
        header: dict[str, object] = {"do": "some programs", "programs": secrets.randbits(31), "every": every}
        seen, found = self._talk.ask(self.mode, header, material.inputs, room)
        expected = outlines.outline(material.truth.native)
        if seen.get("told") is not True or expected != (outlines.outline(found) if every else seen.get("outline")):
            found = None
        seconds = seen.get("seconds")
        known = seconds if isinstance(seconds, float) else math.inf
        return Some(found, seen.get("stale") is True, seen.get("added") is True, known)

    @property
    def left(self) -> float:
        """Seconds that the candidate has left."""
        return self._talk.deadline - time.monotonic()

    def lower(self, whole: bool = True) -> list[dict[str, object]]:
        """The captured launches' assembly texts; not `whole`: what the compiler's front end alone says of them."""
        self._talk.at("while launches were compiled")
        return rows(self._talk.ask("capture", {"do": "compile", "whole": whole}, free=True)[0], "kernels")

    def compile(self, variant: Variant) -> dict[str, object]:
        """Compile on the GPU what a forward launches; the next `run` on this variant goes on from here."""
        self.ready()
        material = self.existing(variant)
        self._talk.at(f"while launches were compiled {_in_words(variant, material)}")
        self.build(self.mode, variant, material.model)
        seen = self._compiled(material)
        self._loaded = variant, material
        return seen

    def _compiled(self, material: Material, handed: bool = False) -> dict[str, object]:
        """What was seen of a forward whose launches are compiled and not run."""
        seen, _ = self._talk.ask(self.mode, {"do": "compile", "handed": handed}, material.inputs)
        return {**seen, "touched": True, "untouched": []}

    # Values.

    @property
    def seconds(self) -> float:
        """What the last call took of the candidate's time."""
        return self._talk.seconds

    def run(self, variant: Variant, material: Material, again: bool = False, held: bool = False) -> Answer:
        """Build the candidate and call it on a variant; with `again`, or `held`, it keeps the inputs. It tells its
        effects, but for inputs that a GPU could not hold twice."""
        self._talk.at(f"while values were computed {_in_words(variant, material)}")
        room, loaded = bytes_of(material.truth), self._loaded is not None and self._loaded[1] is material
        self._loaded = None
        if not loaded:
            with self._room.beside():
                self.build(self.mode, variant, material.model)
        if variant.reuse:
            return self._twice(variant, material.inputs, material.truth)
        small = sum(tensor.nbytes for tensor in observe.tensors(material.inputs)) <= _TWICE
        header: dict[str, object] = {"do": "forward", "keep": again or held, "effects": again or small}
        header["handed"] = variant.handed
        if variant.brief:
            header |= {"brief": True, "patient": variant.patient}
        header["bounded"] = variant.bounded
        if not self._cuda:
            return self._talk.ask(self.mode, header, material.inputs, room)
        here = on_host(material.truth)
        # Compiling takes seconds, in which another candidate may be timed; running takes milliseconds.
        if not loaded and conduct.check_run(seen := self._compiled(material, variant.handed), self._policy):
            return seen, None
        with self._room.beside():
            return self._talk.ask(self.mode, {**header, "kept": True}, None, room, here=here)

    def refilled(self, inputs: list[object], truth: numerics.Truth) -> Answer:
        """Call the candidate once more, with new contents in the storage of the inputs that it kept."""
        self._talk.at("while it was called again, on new contents in the same storage")
        return self._again({"refill": True}, inputs, truth)

    def repeated(self, truth: numerics.Truth) -> Answer:
        """Call the candidate once more on exactly what it was called on last."""
        return self._again({}, None, truth)

    def _again(self, header: dict[str, object], inputs: list[object] | None, truth: numerics.Truth) -> Answer:
        """Another call on what it keeps, of which it tells everything."""
        header = {"do": "forward", "keep": True, "effects": True, "kept": True, **header}
        with self._room.beside():
            return self._talk.ask(self.mode, header, inputs, bytes_of(truth), here=on_host(truth))

    def once_more(self) -> dict[str, object]:
        """What is seen of another call on the inputs that it holds, which it then lets go of; their copies take no
        memory."""
        with self._room.beside():
            return self._talk.ask(self.mode, {"do": "forward", "kept": True, "values": False})[0]

    def anew(self, inputs: list[object], truth: numerics.Truth) -> Answer:
        """Call the candidate once more, on inputs that it may have seen, in memory of their own."""
        with self._room.beside():
            return self._talk.ask(self.mode, {"do": "forward"}, inputs, bytes_of(truth), here=on_host(truth))

    def retrain(
        self, weights: Weights, moved: bool = False, only: Collection[str] | None = None, times: int = 1
    ) -> list[str]:
        """Give the candidate's weights other contents; the names of those that it has. See `process.retrained`."""
        tree = {name: list(row) for name, row in weights.items()}
        header: dict[str, object] = {"do": "retrain", "moved": moved, "times": times}
        header["only"] = sorted(only) if only is not None else None
        found = self._talk.ask(self.mode, header, tree)[0].get("found")
        return [name for name in weights if name in found] if isinstance(found, list) else []

    def second(self, header: dict[str, object], tree: dict[str, object], alone: bool = False) -> None:
        """Construct another model beside the candidate's, which is called from here on; `plan` makes what is needed.
        `alone`: where the candidate's module has seen no other one."""
        source = {"source": self._source} if alone else {}
        self._talk.ask(self.mode, {"do": "second", **header, **source}, tree)

    def first_again(self) -> None:
        """Have the candidate's first model called again."""
        self._talk.ask(self.mode, {"do": "second", "back": True})

    def put_back(self, piece: int, truth: numerics.Truth) -> Answer:
        """Call the candidate once more on what it was called on last, a piece of its memory as it was before."""
        return self._again({"put_back": piece}, None, truth)

    def later(self, far: int | None, inputs: list[object], truth: numerics.Truth) -> Answer:
        """Call the candidate once more, with new contents, as one that has counted `far` calls."""
        return self._again({"refill": True, "far": far}, inputs, truth)

    def leapt(self, calls: int, inputs: list[object], truth: numerics.Truth) -> Answer:
        """Call the candidate once more, with new contents, as one whose kernels have counted so many further calls."""
        return self._again({"refill": True, "leap": calls}, inputs, truth)

    def often(self, most: int) -> dict[str, object]:
        """Call the candidate up to so many times on what it was called on last; its kernels do not run."""
        self._talk.at("while it was called many times, without its kernels")
        return self._talk.ask(self.mode, {"do": "often", "most": most})[0]

    def _twice(self, variant: Variant, inputs: list[object], truth: numerics.Truth) -> Answer:
        """The second of two calls, for which `inputs` are written to the storage of the first one's; they are kept."""
        with self._room.beside():
            earlier = self.draws.inputs_like(variant, inputs)
            self._talk.ask(self.mode, {"do": "forward", "keep": True, "values": False, "effects": True}, earlier)
        return self._again({"refill": True}, inputs, truth)


def _in_words(variant: Variant, material: Material) -> str:
    """What a candidate is tried on, for a message."""
    shapes = ", ".join("x".join(map(str, tensor.shape)) or "()" for tensor in observe.tensors(material.inputs))
    return f'on "{variant.label}" ({shapes or "no tensors"})'


def bytes_of(truth: numerics.Truth) -> int:
    """Bytes that an answer may hold."""
    return SPARE_BYTES + 4 * sum(t.nbytes for t in observe.tensors(truth.native))
