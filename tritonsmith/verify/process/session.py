"""One candidate in a runner: loaded, built and called, and what is told of that.

Untrusted, as all of `runner` is. What runs on tensors without data is in `sizeless`, what is timed in `clocked`.
"""

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from torch import nn

from tritonsmith.verify.dynamic import integrity, observe, replay, unrun
from tritonsmith.verify.dynamic.counters import Counters
from tritonsmith.verify.dynamic.fresh import zeroed
from tritonsmith.verify.dynamic.hidden import Hidden
from tritonsmith.verify.dynamic.kept import Kept
from tritonsmith.verify.dynamic.work import Work
from tritonsmith.verify.launches import rehearsal
from tritonsmith.verify.launches.device import on_device, pretend
from tritonsmith.verify.process import building, loading, wire
from tritonsmith.verify.process.keeping import runner_keeps
from tritonsmith.verify.process.within import Limit, within
from tritonsmith.verify.reference import handing

if TYPE_CHECKING:
    from tritonsmith.verify import cuda_graph, timing
    from tritonsmith.verify.dynamic import cuda
    from tritonsmith.verify.process.carrying import Carrier

Answer = tuple[dict[str, object], wire.Tree]
_OFTEN_S = 10.0
"""Seconds of calls whose kernels do not run: one that waits for what they write has no end."""
_BRIEF, _BRIEF_S, _PATIENT_S, _BOUNDED_S = 256, 1.0, 12.0, 10.0
"""Programs, and seconds, that a brief forward may take, and the seconds of one that is waited for, or bounded."""
_TWICE = 1 << 30
"""Bytes of an answer up to which it is copied before anything of the candidate's is let go of."""


def _limited(header: Mapping[str, object]) -> AbstractContextManager[Limit]:
    """The time that a forward has for itself."""
    if header.get("brief"):
        return within(_PATIENT_S if header.get("patient") else _BRIEF_S)
    return within(_BOUNDED_S) if header.get("bounded") else nullcontext(Limit())


class Session:
    """One candidate in one runner, in one mode: `interpret`, `capture` or `cuda`."""

    def __init__(self) -> None:
        self.mode = "interpret"
        self.module: ModuleType | None = None
        self.model: nn.Module | None = None
        self.aside: nn.Module | None = None
        """The other one of two models; see `second`."""
        self.launches = observe.Launches()
        self.held: list[Sequence[object]] = []
        self.outputs: list[object] = []
        self.kept: object = None
        self._answer: wire.Tree = None
        """What the last forward gave, for as long as the judge may look at it."""
        self._memory, self._counters = Kept(), Counters()
        self._lines = 0
        self._values: int | None = None
        """Values that a forward may hand to Python until it is stopped."""
        self._before: integrity.Snapshot | None = None
        self.weights: set[str] = set()
        """Names of the reference's weights."""
        self._plan: tuple[dict[str, object], dict[str, wire.Tree]] | None = None
        """On CUDA, what the model was built from and with, until it has run."""
        self._rehearsed = False
        """Whether the model's kernels have only been compiled, so that what it prepared by them holds anything."""
        self._places: dict[str, torch.Tensor] = {}
        self.watch: cuda.Watch | None = None
        self._guards: cuda.Guards | None = None
        self._carrier: Carrier | None = None
        self.stopwatch: timing.Stopwatch | None = None
        self.recorded: tuple[cuda_graph.Recording, list[object]] | None = None
        """What is timed where that was recorded, and the answers that it gives."""

    # Before and after a candidate.

    def warm(self, _: dict[str, object], __: wire.Tree) -> Answer:
        """Create the CUDA context and load what every candidate needs; a candidate's time has not begun."""
        from tritonsmith.verify.dynamic import cuda
        from tritonsmith.verify.process import carrying, cuda_driver

        self.mode = "cuda"
        cuda_driver.library()  # which a candidate's first launch would look for
        self.watch, self._guards = cuda.install(self.launches), cuda.Guards()
        cuda.touch(self._guards)
        self._carrier = carrying.Carrier(self._guards)
        self._guards.clear()
        return {"ok": True}, None

    def load(self, header: dict[str, object], _: wire.Tree) -> Answer:
        """Import the candidate's source in the given mode."""
        self.mode, self._lines = str(header["mode"]), int(str(header.get("lines", 0)))
        self._values = int(str(header["values"])) if header.get("values") is not None else None
        from tritonsmith.verify import compile as compiler

        pretend(bool(header.get("elsewhere")))
        if self.mode == "interpret":
            from tritonsmith.verify.interpreter import comparisons, loops

            loops.passes.taken()
            comparisons.comparisons.taken()
            self.launches = observe.watch_interpreter()
            compiler.pretend_gpu(str(header["target"]))
        elif self.mode == "capture":
            self.launches = compiler.capture_launches(str(header["target"]))
        if self.watch is not None:
            self.watch.lines = self._lines
        # Who computes values, or serves on, is asked what changed (`check`), and nobody else.
        self._before = integrity.snapshot() if self.mode != "capture" or header.get("serves") else None
        with on_device(self.device):
            self.module = loading.import_source(str(header["source"]))
        return {"ok": True}, None

    def check(self, _: dict[str, object], __: wire.Tree) -> Answer:
        """What the candidate changed of the process it runs in; see `integrity`."""
        return {"changes": integrity.changes(self._before) if self._before is not None else []}, None

    def reset(self, _: dict[str, object], __: wire.Tree) -> Answer:
        """Forget the candidate, so that the next one finds the process as this one did."""
        self.module = self.model = self.aside = self._plan = None
        self.launches.clear()
        self.launches.settled.clear()
        self._memory = Kept()
        if self.watch is not None:
            self.watch.forget()
        loading.forget()
        if self._before is not None:
            integrity.put_back(self._before)
        gc.collect()
        return self.release({}, None)

    # Memory that the judge writes to.

    def place(self, header: dict[str, object], _: wire.Tree) -> Answer:
        """Allocate tensors of the given sizes between guards, and say where they lie."""
        if self._guards is None:
            raise RuntimeError("only a CUDA runner has places")
        rows = header["tensors"]
        for name, row in rows.items() if isinstance(rows, dict) else ():
            dtype = getattr(torch, row["dtype"])
            self._places[name] = self._guards.empty(row["shape"], row["stride"], dtype)
        torch.cuda.synchronize()
        return {"places": {name: self.export(self._places[name]) for name in rows}}, None  # type: ignore[union-attr]

    def placed(self, place: wire.Place) -> torch.Tensor:
        """The tensor that was allocated under a name, which is handed out once; without a name, one without data."""
        if "name" in place:
            return self._places.pop(str(place["name"]))
        shape, stride = place["shape"], place["stride"]
        dtype = getattr(torch, str(place["dtype"]))
        return torch.empty_strided(shape, stride, dtype=dtype, device="meta")  # type: ignore[arg-type]

    @staticmethod
    def export(tensor: torch.Tensor) -> wire.Place:
        """Where a tensor of this process lies, for the judge; raises TypeError for one without data."""
        from tritonsmith.verify.process import ipc

        if not tensor.is_cuda:
            raise TypeError("forward returned a tensor without data")

        return ipc.export(tensor)

    def carried(self, tree: wire.Tree) -> wire.Tree:
        """A message's tree, with its tensors on the GPU if the candidate is there."""
        return self._carrier.carried(tree) if self._carrier is not None else tree

    def release(self, _: dict[str, object], __: wire.Tree) -> Answer:
        """Give memory back to the GPU, if it is much: the judge, and other runners, need it for the next inputs."""
        self.kept = None
        self._memory = Kept()
        self.launches.let_go()
        if not self._rehearsed:
            self._plan = None
        self.held.clear()
        self.recorded = None
        self.outputs.clear()
        self._answer = None
        self._release()
        if self.mode == "cuda":
            kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
            if kept > runner_keeps(torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory):
                torch.cuda.empty_cache()
        return {"ok": True}, None

    def _release(self) -> None:
        if self._guards is not None:
            self._guards.clear()
        self._places.clear()

    # The candidate's code.

    def build(self, header: dict[str, object], tree: wire.Tree) -> Answer:
        """Construct ModelNew under a seed, in the dtype asked for, and load the reference's weights.

        `tree` holds `init` (constructor arguments) and `state` (the reference's state_dict).
        """
        if self.module is None or not isinstance(tree, dict):
            raise RuntimeError("nothing is loaded")
        self.model = self.aside = self._plan = None
        self._memory, self._counters = Kept(), Counters()
        loaded = self._built(header, tree)
        if self.mode == "cuda":
            self._plan = header, tree
        self._rehearsed = False
        self._release()
        return {"ok": True, "loaded": loaded}, None

    def drawn(self, header: dict[str, object], tree: wire.Tree) -> Answer:
        """What a model holds besides tensors that hangs on the seed; see `building`. The one that is built stays."""
        if self.module is None or not isinstance(tree, dict):
            raise RuntimeError("nothing is loaded")
        return {"drawn": building.drawn(self.module, header, tree, self.device)}, None

    def _built(self, header: Mapping[str, object], tree: Mapping[str, wire.Tree]) -> int:
        """Build the model; gives how many of the reference's weights were loaded."""
        if self.module is None:
            raise RuntimeError("nothing is loaded")
        self.model, loaded = building.built(self.module, header, tree, self.device)
        self.weights = set(tree["state"]) if isinstance(tree["state"], dict) else set()
        return loaded

    def forward(self, header: dict[str, object], tree: wire.Tree) -> Answer:
        """Call `forward` once on the inputs; answers with the outputs and what was seen to run.

        `keep` holds on to the inputs afterwards, for `forward` to be called again with `kept` and no tree;
        with `refill` the tree is written into their storage first, and with `put_back` a piece of memory that it keeps
        holds something else than the last call left there; see `kept`.
        With `far` it has counted so many calls already, with `leap` its kernels have. `effects` asks for what calls
        change and keep. A `brief` one that raises, or is stopped for it takes many programs, tells no more than that; a
        `patient` one has longer. A `bounded` one is stopped where it takes long.
        """
        if self.model is None:
            raise RuntimeError("nothing is built")
        if self._rehearsed and self._plan is not None:
            self._built(*self._plan)
        self._rehearsed, self._plan = False, None
        self._remember(header)
        if header.get("refill"):
            replay.refill(self.kept, tree)
            self._memory.before()
        inputs = self._received(header, tree)
        before = replay.Before(inputs, self.model, self.weights) if header.get("effects") else None  # type: ignore[arg-type]
        earlier = self.outputs if header.get("kept") else None
        self.kept = inputs if header.get("keep") else None
        self.launches.clear()
        given = [inputs, *loading.tensors_of(self.model).values()]
        fresh = self._fresh()
        self.launches.alive.extend(observe.tensors(given))
        operators, work = observe.Operators(self.launches, fresh), Work(self.launches, given)
        hidden = Hidden() if self.mode == "capture" else None
        with hidden or nullcontext():
            called = self._called(header, inputs, operators, work)
        if called is None:
            return {"stopped": True}, None
        output, answer = called
        self.launches.look([given, *loading.tensors_of(self.model).values()])
        seen = {
            "operators": operators.counts,
            "launches": self.launches.report(),
            "memory": self.launches.violations + self._broken_guards(),
            **operators.touched(output),
            "work": work.report(output),
            "kernels": list(self.watch.stats.values()) if self.watch else [],
            "hidden": hidden.beside(operators.names) if hidden is not None else [],
        }
        if before is not None:
            seen |= self._changed(before, header, output, earlier)
        self.launches.let_go()
        self.outputs = [output]
        self._answer = answer
        del operators, work, called
        if not header.get("keep"):
            self._release()
        return seen, answer if header.get("values", True) else None

    def _remember(self, header: Mapping[str, object]) -> None:
        """What it keeps holds a piece of older memory again, or counts as of many calls later, where that is asked."""
        if (piece := header.get("put_back")) is not None:
            self._memory.pieces[int(str(piece))]()
        if (far := header.get("far")) is not None:
            calls = self._counters.advance(int(str(far)))
            self._memory.advance(self._memory.counted(), calls)
        if (leap := header.get("leap")) is not None:
            self._memory.leap(int(str(leap)))

    def _fresh(self) -> Callable[[torch.Tensor], torch.Tensor] | None:
        """What stands for new memory in the forward that begins."""
        if self.watch is not None and self._guards is not None:
            from tritonsmith.verify.dynamic import cuda

            self.watch.run()
            self.watch.stats.clear()
            return cuda.guarded(self._guards, self.launches)
        # Where nothing runs that would write it, a size that is read from it would be the poison's.
        return zeroed(self.launches.fresh) if self.mode == "capture" else None

    def _called(
        self, header: Mapping[str, object], inputs: Sequence[object], operators: observe.Operators, work: Work
    ) -> tuple[object, wire.Tree] | None:
        """The output of a call, and what of it goes to the judge; None where it was stopped."""
        patient, self.launches.values = bool(header.get("patient")), self._values
        self.launches.programs = _BRIEF if header.get("brief") and not patient else None
        limit = Limit()
        try:
            with torch.no_grad(), on_device(self.device, called=True), _limited(header) as limit, operators, work:
                # An output may be a container whose items a candidate's code makes: they are taken under observation.
                output = observe.plain(self.model(*inputs))  # type: ignore[misc]
                answer = self._frozen(output)
        except Exception:  # the candidate's, or what stopped it, which Triton and the candidate may wrap
            if not header.get("brief") and not limit.over:
                raise
            self.release({}, None)
            return None
        finally:
            left, self.launches.programs, self.launches.values = self.launches.programs, None, None
        stopped = limit.over or (left is not None and left < 0)  # and the candidate went on nevertheless
        return None if stopped else (output, answer)

    def _changed(
        self, before: replay.Before, header: Mapping[str, object], output: object, earlier: list[object] | None
    ) -> dict[str, object]:
        """What a call changed, and what the candidate keeps of it and counts."""
        seen: dict[str, object] = {"effects": before.effects(output, earlier)}
        if header.get("keep") and self.model is not None and self.module is not None and header.get("far") is None:
            self._counters.look(self.model, self.module)
            seen["counters"] = len(self._counters.rising())
        seen["pieces"] = self._kept_by(before, header) if header.get("keep") else 0
        seen["tickets"], seen["older"] = self._memory.steady, self._memory.older
        return seen

    def often(self, header: dict[str, object], _: wire.Tree) -> Answer:
        """Call `forward` on the inputs that are kept `most` times, no launch of which is run; see `unrun`.

        What kernels count by themselves is then as if they had run. Answers with the number of calls, and with what
        was done differently in the last one.
        """
        if self.model is None or not isinstance(self.kept, (list, tuple)):
            raise RuntimeError("nothing is kept")
        model, inputs = self.model, self.kept
        weights = {name: held for name, held in loading.tensors_of(model).items() if name in self.weights}
        notes = unrun.Notes(unrun.names(inputs, weights))
        untouched = self._memory.counted()
        self.launches.instead = notes.launched
        try:
            with torch.no_grad(), on_device(self.device, called=True), within(_OFTEN_S):
                calls, changed = unrun.often(lambda: model(*inputs), notes, int(str(header["most"])))
        finally:
            self.launches.instead = None
        self._memory.advance(untouched, calls)
        return {"calls": calls, "changed": changed}, None

    def _frozen(self, output: wire.Tree) -> wire.Tree:
        """The answer as it is now; what a GPU could not hold twice stays where it is."""
        if self.mode == "capture" or sum(tensor.nbytes for tensor in observe.tensors(output)) > _TWICE:
            return output
        self.launches.active = True
        try:
            return observe.frozen(output)
        finally:
            self.launches.active = False

    def _kept_by(self, before: replay.Before, header: Mapping[str, object]) -> int:
        """Note the memory that launches were given; how many pieces of it an answer may hang on."""
        if header.get("refill"):
            self._memory.after(self.launches.given.keys())
        elif header.get("kept") and header.get("put_back") is None:
            self._memory.repeated(self.launches.given.keys())
        self._memory.meet(self.launches.given.values(), before.places)
        return len(self._memory.pieces)

    def _broken_guards(self) -> list[dict[str, object]]:
        if self._guards is None:
            return []
        torch.cuda.synchronize()
        broken = self._guards.broken()
        message = f"a kernel wrote outside its tensors: {broken} of the zones around them have changed"
        return [{"rule": "out-of-bounds", "message": message, "line": None}] if broken else []

    def compile(self, header: dict[str, object], tree: wire.Tree) -> Answer:
        """Lower every captured launch to the target's assembly; on CUDA, compile what a forward on `tree` launches.

        That forward is watched as every other one is, but fresh memory is zeros: nothing writes to it, and a size that
        is read from it must be none that no memory holds. What the candidate kept of it is forgotten, and its model is
        built anew for the first forward that runs.
        """
        if self.watch is None:
            from tritonsmith.verify import compile as compiler

            return {"kernels": compiler.lower_all(self.launches, self._lines, bool(header["whole"]))}, None
        if self.model is None or self.module is None:
            raise RuntimeError("nothing is built")
        self.launches.clear()
        self.watch.stats.clear()
        self.watch.compile_only()
        self._rehearsed, undo = True, rehearsal.remember(self.module)
        inputs = self._received(header, tree)
        leaves = [(tensor, tensor.requires_grad) for tensor in observe.tensors(inputs)]
        work = Work(self.launches, [], limit=0)
        operators, hidden = observe.Operators(self.launches, zeroed(self.launches.fresh)), Hidden()
        self.launches.values = self._values
        try:
            with hidden, torch.no_grad(), on_device(self.device, called=True), operators, work:
                self.model(*inputs)
        finally:
            self.launches.values = None
            self.watch.run()
            self.launches.let_go()
            undo()
            for tensor, collects in leaves:  # the forward that runs is asked what it changes of them
                if tensor.is_leaf:
                    tensor.requires_grad_(collects)
        torch.cuda.synchronize()
        seen: dict[str, object] = {
            "operators": operators.counts,
            "launches": self.launches.report(),
            "work": work.report([]),
            "kernels": list(self.watch.stats.values()),
            "hidden": hidden.beside(operators.names),
        }
        self.kept = inputs
        return seen, None

    def _received(self, header: dict[str, object], tree: wire.Tree) -> Sequence[object]:
        """What `forward` is called on, handed over in another way where that is wanted."""
        kept = bool(header.get("kept"))
        inputs = self.kept if kept else observe.to_device(tree, self.device)
        if header.get("handed") and self.model is not None:
            handing.swap_frozen(self.model)
            inputs = inputs if kept else handing.handed_over(inputs)
        return inputs  # type: ignore[return-value]

    @property
    def device(self) -> str:
        """Where tensors live in this mode."""
        return "cuda" if self.mode == "cuda" else "cpu"
